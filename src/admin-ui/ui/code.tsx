import { CopyButton } from './button.tsx';

/** A text of several lines as it is, with a button that copies it. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="code">
      <CopyButton text={text} label={label} />
      {/* It can be scrolled, so the keyboard must reach it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

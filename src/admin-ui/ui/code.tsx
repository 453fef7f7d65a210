import { CopyButton } from './button.tsx';

/** A text of several lines as it is. */
export function CodeBlock({
  text,
  label,
  canCopy = true,
}: {
  readonly text: string;
  readonly label: string;
  readonly canCopy?: boolean;
}) {
  return (
    <div className="code">
      {canCopy && <CopyButton text={text} label={label} />}
      {/* It can be scrolled, so the keyboard must reach it. */}
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

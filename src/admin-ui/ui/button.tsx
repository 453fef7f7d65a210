import { useId, useState, type ButtonHTMLAttributes, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** `item`: a line of a menu. */
  readonly look?: 'main' | 'plain' | 'quiet' | 'danger' | 'item';
  /** While true, the button does nothing and shows that work is in progress. */
  readonly busy?: boolean;
  /** Why the button cannot be used now. It can still be focused, so that everybody reads why. */
  readonly why?: string | null | undefined;
}

export function Button({ look = 'plain', busy, why, children, onClick, ...rest }: ButtonProps) {
  const whyId = useId();
  const isOff = busy === true || typeof why === 'string';
  return (
    <>
      <button
        type="button"
        {...rest}
        className={`button ${look}`}
        aria-disabled={isOff || undefined}
        aria-describedby={why ? whyId : undefined}
        title={why ?? rest.title}
        data-busy={busy || undefined}
        onClick={(event) => {
          if (isOff) event.preventDefault();
          else onClick?.(event);
        }}
      >
        {children}
      </button>
      {why && (
        <span id={whyId} className="why">
          {why}
        </span>
      )}
    </>
  );
}

/** Copies a text. Says so, and says what to do where the browser does not allow it. */
export function CopyButton({
  text,
  label,
  onCopied,
}: {
  readonly text: string;
  readonly label?: string;
  readonly onCopied?: (() => void) | undefined;
}) {
  const t = useTexts();
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = () => {
    // Without a secure context there is no clipboard.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('none'));
    written.then(
      () => {
        setState('copied');
        onCopied?.();
      },
      () => setState('failed'),
    );
  };
  return (
    <span className="copy">
      <Button onClick={copy} aria-label={label ? `${t.common.copy}: ${label}` : undefined}>
        {state === 'copied' ? t.common.copied : t.common.copy}
      </Button>
      <span role="status" className={state === 'failed' ? 'hint' : 'visually-hidden'}>
        {state === 'copied' && t.common.copied}
        {state === 'failed' && t.common.copyFailed}
      </span>
    </span>
  );
}

/** A row of buttons: the main one first, and in a dialog last, at its right end. */
export function Actions({ children }: { readonly children: ReactNode }) {
  return <div className="actions">{children}</div>;
}

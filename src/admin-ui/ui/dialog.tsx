import { useEffect, useId, useRef, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { IS_SANDBOX } from '../lib/mode.ts';
import { Offline } from './offline.tsx';

const FIELDS = `input:not([type='radio']), input:checked, select, textarea`;

/**
 * A dialog over the page. The browser keeps the focus in it and gives it back afterwards. `locked`:
 * it can be closed only by what is in it, because its content would be lost.
 */
export function Dialog({
  title,
  onClose,
  locked = false,
  wide = false,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly locked?: boolean;
  readonly wide?: boolean;
  readonly children: ReactNode;
}) {
  const t = useTexts();
  const titleId = useId();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // Browsers begin with what comes first, which is the button that closes it.
      const begin = dialog.querySelector<HTMLElement>(FIELDS) ?? dialog.querySelector('h2');
      begin?.focus();
    }
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      // Browsers close a dialog at the second Esc, whatever becomes of `cancel`.
      onKeyDown={(event) => {
        if (event.key === 'Escape' && locked) event.preventDefault();
      }}
      onCancel={(event) => {
        event.preventDefault();
        if (!locked) onClose();
      }}
      onClose={(event) => {
        // Closed by the browser, such as by the gesture for "back".
        if (event.target !== ref.current || ref.current.open) return;
        if (locked) ref.current.showModal();
        else onClose();
      }}
    >
      <header>
        <h2 id={titleId} tabIndex={-1}>
          {title}
        </h2>
        {IS_SANDBOX && <span className="mode-mark">{t.sandbox.name}</span>}
        {!locked && (
          <button type="button" className="close" aria-label={t.common.close} onClick={onClose}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M4 4l8 8M12 4l-8 8" />
            </svg>
          </button>
        )}
      </header>
      <Offline />
      {children}
    </dialog>
  );
}

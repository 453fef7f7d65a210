import { useBlocker } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { Actions, Button, CopyButton } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Choice, FormProblem } from './field.tsx';

/**
 * Shows a secret, once. The dialog closes only after the reader has copied it or has said that it
 * is stored. Who copies it says so by that, and can take it back.
 */
export function SecretDialog({
  title,
  hint,
  secret,
  stored,
  whyNot,
  onDone,
  onClose = onDone,
  busy = false,
  error = null,
  children,
}: {
  readonly title: string;
  readonly hint: string;
  readonly secret: string;
  readonly stored: string;
  readonly whyNot: string;
  readonly onDone: () => void;
  /** Closes the dialog without `onDone`, once the secret is stored. */
  readonly onClose?: () => void;
  /** Of what `onDone` does. */
  readonly busy?: boolean;
  readonly error?: unknown;
  readonly children?: ReactNode;
}) {
  const t = useTexts();
  const [isStored, setStored] = useState(false);
  // Back, a link, or a new document would lose the secret.
  useBlocker({ shouldBlockFn: () => !isStored, enableBeforeUnload: () => !isStored });
  return (
    <Dialog title={title} locked={!isStored} onClose={onClose}>
      <p>{hint}</p>
      <Copyable text={secret} label={title} onCopied={() => setStored(true)} />
      {children}
      <Choice kind="checkbox" checked={isStored} onChange={setStored} label={stored} />
      <FormProblem error={error} />
      <Actions>
        <Button look="main" busy={busy} why={isStored ? null : whyNot} onClick={onDone}>
          {t.keys.secretDone}
        </Button>
      </Actions>
    </Dialog>
  );
}

/** A text with a button that copies it. */
export function Copyable({
  text,
  label,
  onCopied,
}: {
  readonly text: string;
  readonly label: string;
  readonly onCopied?: () => void;
}) {
  return (
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} label={label} onCopied={onCopied} />
    </div>
  );
}

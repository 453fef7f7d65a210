import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { Actions, Button, CopyButton } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Choice } from './field.tsx';

/**
 * Shows a secret, once. The dialog closes only after the reader has said that they have stored it.
 */
export function SecretDialog({
  title,
  hint,
  secret,
  stored,
  whyNot,
  onDone,
  children,
}: {
  readonly title: string;
  readonly hint: string;
  readonly secret: string;
  readonly stored: string;
  readonly whyNot: string;
  readonly onDone: () => void;
  readonly children?: ReactNode;
}) {
  const t = useTexts();
  const [isStored, setStored] = useState(false);
  return (
    <Dialog title={title} locked onClose={onDone}>
      <p>{hint}</p>
      <Copyable text={secret} label={title} />
      {children}
      <Choice kind="checkbox" checked={isStored} onChange={setStored} label={stored} />
      <Actions>
        <Button look="main" why={isStored ? null : whyNot} onClick={onDone}>
          {t.keys.secretDone}
        </Button>
      </Actions>
    </Dialog>
  );
}

/** A text with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

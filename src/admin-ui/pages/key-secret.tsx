import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { SERVICE_PATH } from '../lib/shell.ts';
import { Actions, Button, CopyButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Choice } from '../ui/field.tsx';

/**
 * Shows a new key, once. The dialog closes only after the reader has said that they have stored it.
 */
export function KeySecret({
  secret,
  onDone,
}: {
  readonly secret: string;
  readonly onDone: () => void;
}) {
  const t = useTexts();
  const [isStored, setStored] = useState(false);
  const url = `${window.location.origin}${SERVICE_PATH}/api/public/v1/me`;
  const curl = `curl -H 'Authorization: Bearer ${secret}' ${url}`;
  return (
    <Dialog title={t.keys.secretTitle} locked onClose={onDone}>
      <p>{t.keys.secretHint}</p>
      <div className="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label={t.keys.secretTitle} />
      </div>
      <details>
        <summary>{t.keys.secretTry}</summary>
        <div className="secret">
          <code>{curl}</code>
          <CopyButton text={curl} label={t.keys.secretTry} />
        </div>
      </details>
      <Choice kind="checkbox" checked={isStored} onChange={setStored} label={t.keys.secretStored} />
      <Actions>
        <Button look="main" why={isStored ? null : t.keys.secretWhyNot} onClick={onDone}>
          {t.keys.secretDone}
        </Button>
      </Actions>
    </Dialog>
  );
}

import { useTexts } from '../i18n/language.ts';
import { SERVICE_PATH } from '../lib/shell.ts';
import { Copyable, SecretDialog } from '../ui/secret.tsx';

/** Shows a new API key, once. */
export function KeySecret({
  secret,
  onDone,
}: {
  readonly secret: string;
  readonly onDone: () => void;
}) {
  const t = useTexts();
  const url = `${window.location.origin}${SERVICE_PATH}/api/public/v1/me`;
  const curl = `curl -H 'Authorization: Bearer ${secret}' ${url}`;
  return (
    <SecretDialog
      title={t.keys.secretTitle}
      hint={t.keys.secretHint}
      secret={secret}
      stored={t.keys.secretStored}
      whyNot={t.keys.secretWhyNot}
      onDone={onDone}
    >
      <details>
        <summary>{t.keys.secretTry}</summary>
        <Copyable text={curl} label={t.keys.secretTry} />
      </details>
    </SecretDialog>
  );
}

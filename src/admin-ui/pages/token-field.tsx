import { useTexts } from '../i18n/language.ts';
import { Field } from '../ui/field.tsx';
import { rightsOfToken, type Provider } from './token-rights.ts';

/** The token of a CRM. Says where it is found and which rights it needs. */
export function TokenField({
  provider,
  readsNotes,
  value,
  error,
  onChange,
}: {
  readonly provider: Provider;
  readonly readsNotes: boolean;
  readonly value: string;
  readonly error: string | null;
  readonly onChange: (token: string) => void;
}) {
  const t = useTexts();
  const rights = rightsOfToken(provider, readsNotes);
  const hint = (
    <>
      {t.crm.tokenHints[provider]}{' '}
      {rights.map((right, place) => (
        <span key={right}>
          {place > 0 && ', '}
          <code>{right}</code>
        </span>
      ))}
      {rights.length > 0 && '. '}
      {t.crm.tokenTested}
    </>
  );
  return (
    <Field label={t.crm.token} hint={hint} error={error}>
      {(props) => (
        <input
          {...props}
          type="password"
          value={value}
          autoComplete="off"
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

import { useTexts } from '../i18n/language.ts';
import type { RouterInputs } from '../lib/api.ts';
import { Field } from '../ui/field.tsx';

export type Provider = RouterInputs['admin']['crm']['connect']['provider'];
export const PROVIDERS: readonly Provider[] = ['hubspot', 'pipedrive'];

/** The rights that a token needs, as the CRM names them. `notes`: for objections only. */
const RIGHTS: Readonly<Record<Provider, { readonly always: string[]; readonly notes: string[] }>> =
  {
    hubspot: {
      always: ['crm.objects.deals.read', 'crm.objects.owners.read'],
      notes: ['crm.objects.contacts.read'],
    },
    // A token of Pipedrive has the rights of its user.
    pipedrive: { always: [], notes: [] },
  };

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
  const { always, notes } = RIGHTS[provider];
  const rights = readsNotes ? [...always, ...notes] : always;
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

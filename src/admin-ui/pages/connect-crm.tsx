import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, FormProblem, useFieldErrors } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { isTokenMissing, type Connection } from './crm-state.ts';
import { TokenField } from './token-field.tsx';
import { enteredToken, providerChosen, PROVIDERS, type Provider } from './token-rights.ts';

/** Connects a CRM with a token, which the service tries before it stores it. */
export function ConnectCrm({
  connections,
  onClose,
}: {
  /** Those of the team, if they are known. */
  readonly connections: readonly Connection[] | undefined;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [provider, setProvider] = useState<Provider>('hubspot');
  const [token, setToken] = useState('');
  const [marker, setMarker] = useState('');
  const connect = useMutation(
    api.admin.crm.connect.mutationOptions({
      onSuccess: async () => {
        await cache.invalidateQueries(api.admin.crm.pathFilter());
        announce(t.crm.connected);
        onClose();
      },
    }),
  );
  const errorOf = useFieldErrors(connect.error);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (connect.isPending) return;
    connect.mutate({ provider, ...enteredToken(token, marker) });
  };
  return (
    <Dialog title={t.crm.connect} onClose={onClose}>
      <form className="form" onSubmit={send} noValidate>
        <ProviderField
          connections={connections}
          value={provider}
          error={errorOf('provider')}
          onChange={setProvider}
        />
        <TokenField
          provider={provider}
          readsNotes={marker.trim() !== ''}
          value={token}
          error={errorOf('credentials')}
          onChange={setToken}
        />
        <Field
          label={`${t.crm.marker} (${t.common.optional})`}
          hint={t.crm.markerHint}
          error={errorOf('objection_marker')}
        >
          {(props) => (
            <input
              {...props}
              value={marker}
              maxLength={50}
              onChange={(event) => setMarker(event.currentTarget.value)}
            />
          )}
        </Field>
        <FormProblem
          error={connect.error}
          fields={['provider', 'credentials', 'objection_marker']}
        />
        <Actions>
          <Button onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="main" busy={connect.isPending}>
            {t.crm.connectNow}
          </Button>
        </Actions>
      </form>
    </Dialog>
  );
}

/**
 * The CRM. The service cannot tell that the account is that of one of these connections, so this
 * says what would follow.
 */
function ProviderField({
  connections,
  value,
  error,
  onChange,
}: {
  readonly connections: readonly Connection[] | undefined;
  readonly value: Provider;
  readonly error: string | null;
  readonly onChange: (provider: Provider) => void;
}) {
  const t = useTexts();
  // As they were when they became known: the list is read again before the dialog closes.
  const [before, keep] = useState(connections);
  if (before === undefined && connections !== undefined) keep(connections);
  const same = before?.find(({ provider }) => provider === value);
  const press = same && isTokenMissing(same) ? t.crm.enter : t.crm.replace;
  const hint = same && t.crm.connectedAlready(t.crm.providers[value] ?? value, press);
  return (
    <Field label={t.crm.provider} hint={hint} error={error}>
      {(props) => (
        <select
          {...props}
          value={value}
          onChange={({ currentTarget }) => onChange(providerChosen(currentTarget.value))}
        >
          {PROVIDERS.map((one) => (
            <option key={one} value={one}>
              {t.crm.providers[one] ?? one}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

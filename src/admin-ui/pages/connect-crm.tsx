import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, FormProblem, useFieldErrors } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { TokenField } from './token-field.tsx';
import { enteredToken, providerChosen, PROVIDERS, type Provider } from './token-rights.ts';

/** Connects a CRM with a token, which the service tries before it stores it. */
export function ConnectCrm({ onClose }: { readonly onClose: () => void }) {
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
        <Field label={t.crm.provider} error={errorOf('provider')}>
          {(props) => (
            <select
              {...props}
              value={provider}
              onChange={({ currentTarget }) => setProvider(providerChosen(currentTarget.value))}
            >
              {PROVIDERS.map((one) => (
                <option key={one} value={one}>
                  {t.crm.providers[one] ?? one}
                </option>
              ))}
            </select>
          )}
        </Field>
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
          <Button type="submit" look="main" busy={connect.isPending}>
            {t.crm.connectNow}
          </Button>
          <Button onClick={onClose}>{t.common.cancel}</Button>
        </Actions>
      </form>
    </Dialog>
  );
}

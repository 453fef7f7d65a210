import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormProblem, useFieldErrors } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { isTokenMissing } from './crm-state.ts';
import { TokenField } from './token-field.tsx';

type Connection = RouterOutputs['admin']['crm']['list']['data'][number];

/** Replaces the token of a CRM connection, or enters a missing one. The service tries it first. */
export function ReplaceToken({
  connection,
  onClose,
}: {
  readonly connection: Connection;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [token, setToken] = useState('');
  // As it was at first: the list is read again before the dialog closes.
  const [isMissing] = useState(isTokenMissing(connection));
  const { id, provider, objection_marker } = connection;
  const name = t.crm.providers[provider] ?? provider;
  const replace = useMutation(
    api.admin.crm.replaceCredentials.mutationOptions({
      onSuccess: async () => {
        await cache.invalidateQueries(api.admin.crm.pathFilter());
        announce(isMissing ? t.crm.entered : t.crm.replaced);
        onClose();
      },
    }),
  );
  const errorOf = useFieldErrors(replace.error);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (replace.isPending) return;
    replace.mutate({ connection_id: id, provider, credentials: token.trim() });
  };
  return (
    <Dialog title={(isMissing ? t.crm.enterTitle : t.crm.replaceTitle)(name)} onClose={onClose}>
      <form className="form" onSubmit={send} noValidate>
        <p>{isMissing ? t.crm.enterHint : t.crm.replaceHint}</p>
        <TokenField
          provider={provider}
          readsNotes={objection_marker !== null}
          value={token}
          error={errorOf('credentials')}
          onChange={setToken}
        />
        <FormProblem error={replace.error} fields={['credentials']} />
        <Actions>
          <Button onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="main" busy={replace.isPending}>
            {isMissing ? t.crm.enterNow : t.crm.replaceNow}
          </Button>
        </Actions>
      </form>
    </Dialog>
  );
}

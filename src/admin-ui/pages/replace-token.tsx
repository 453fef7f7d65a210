import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormProblem, useFieldErrors } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { TokenField } from './token-field.tsx';

type Connection = RouterOutputs['admin']['crm']['list']['data'][number];

/** Replaces the token of a CRM connection by one that the service tries first. */
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
  const { id, provider, objection_marker } = connection;
  const replace = useMutation(
    api.admin.crm.replaceCredentials.mutationOptions({
      onSuccess: async () => {
        await cache.invalidateQueries(api.admin.crm.pathFilter());
        announce(t.crm.replaced);
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
    <Dialog title={t.crm.replaceTitle(t.crm.providers[provider] ?? provider)} onClose={onClose}>
      <form className="form" onSubmit={send} noValidate>
        <p>{t.crm.replaceHint}</p>
        <TokenField
          provider={provider}
          readsNotes={objection_marker !== null}
          value={token}
          error={errorOf('credentials')}
          onChange={setToken}
        />
        <FormProblem error={replace.error} fields={['credentials']} />
        <Actions>
          <Button type="submit" look="main" busy={replace.isPending}>
            {t.crm.replaceNow}
          </Button>
          <Button onClick={onClose}>{t.common.cancel}</Button>
        </Actions>
      </form>
    </Dialog>
  );
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { searchedText } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { lastError } from '../lib/field-problems.ts';
import { useSecretMutation } from '../lib/once.ts';
import { readFirst } from '../lib/pages.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Choice, FormProblem, Group } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Loaded } from '../ui/states.tsx';
import { useNextExpiry } from './expiry.tsx';
import { KeySecret } from './key-secret.tsx';
import { nameOfKey } from './key-name.ts';
import { countEach, lastUse, needsNew } from './key-list.ts';
import type { ApiKey } from './key-state.ts';

/** How many calls and changes are looked at. */
const LOOKED_AT = 50;

/** Ends a key. If somebody else may know it, shows what it did and makes a new one at once. */
export function EndKey({
  apiKey,
  onClose,
}: {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [hasLeaked, setLeaked] = useState(false);
  const next = useNextExpiry(apiKey);
  const look = () => cache.invalidateQueries(api.admin.apiKeys.pathFilter());
  const revoke = useMutation(
    api.admin.apiKeys.revoke.mutationOptions({
      onSuccess: async () => {
        await look();
        announce(t.keys.revoked(nameOfKey(t, apiKey.name)));
        onClose();
      },
    }),
  );
  const replace = useSecretMutation({ send: client.admin.apiKeys.rotate.mutate, onSuccess: look });
  if (replace.data) return <KeySecret issued={replace.data} onDone={onClose} />;
  const isReplaced = needsNew(apiKey, hasLeaked);
  // One call at a time: the answer of one must not close the dialog with the key of the other.
  const isBusy = revoke.isPending || replace.isPending;
  return (
    <Dialog title={t.keys.revokeTitle(nameOfKey(t, apiKey.name))} onClose={onClose}>
      <LeakChoice hasLeaked={hasLeaked} onChange={setLeaked} />
      <LastUse apiKey={apiKey} />
      {hasLeaked && <LastChanges keyId={apiKey.id} />}
      <p>{isReplaced ? t.keys.leakBreaks : t.keys.revokeFinal}</p>
      {isReplaced && next.choice}
      <FormProblem error={lastError(revoke, replace)} />
      <Actions>
        <Button onClick={onClose}>{t.common.cancel}</Button>
        {isReplaced && (
          <Button
            look="danger"
            busy={isBusy}
            onClick={() => replace.mutate({ key_id: apiKey.id, grace_s: 0, ...next.input })}
          >
            {t.keys.leakReplace}
          </Button>
        )}
        <Button
          look={isReplaced ? 'plain' : 'danger'}
          busy={isBusy}
          onClick={() => revoke.mutate({ key_id: apiKey.id })}
        >
          {t.keys.revokeNow}
        </Button>
      </Actions>
    </Dialog>
  );
}

function LeakChoice({
  hasLeaked,
  onChange,
}: {
  readonly hasLeaked: boolean;
  readonly onChange: (hasLeaked: boolean) => void;
}) {
  const t = useTexts();
  return (
    <Group legend={t.keys.leak}>
      {[false, true].map((answer) => (
        <Choice
          key={String(answer)}
          kind="radio"
          name="leak"
          checked={hasLeaked === answer}
          label={answer ? t.keys.leakYes : t.keys.leakNo}
          onChange={() => onChange(answer)}
        />
      ))}
    </Group>
  );
}

/** What stops working without the key: what it was last used for, and from where. */
function LastUse({ apiKey: { id, last_used_at: used } }: { readonly apiKey: ApiKey }) {
  const t = useTexts();
  const format = useFormat();
  const asked = { key_id: id, limit: LOOKED_AT };
  const log = useQuery({
    queryKey: [...api.admin.requests.list.queryKey(asked), 'first'],
    queryFn: ({ signal }) =>
      readFirst(
        (cursor) => client.admin.requests.list.query({ ...asked, cursor }),
        LOOKED_AT,
        signal,
      ),
  });
  return (
    <>
      <p>{used === null ? t.keys.revokeUnused : t.keys.revokeUsed(format.ago(used))}</p>
      <Loaded query={log} rows={1}>
        {({ data, searched_back_to: reached }) => {
          if (data.length === 0 && reached === null) return null;
          const { calls, networks } = lastUse(data);
          return (
            <p>
              {data.length > 0 && t.keys.revokeCalls(data.length, format.list(calls))}{' '}
              {networks.length > 0 && t.keys.revokeFrom(format.list(networks))}{' '}
              {reached !== null && searchedText(t, format, reached)}{' '}
              <Link to="/requests" search={{ key: id }}>
                {t.requests.ofKey}
              </Link>
            </p>
          );
        }}
      </Loaded>
    </>
  );
}

/** What somebody else may have changed with it. */
function LastChanges({ keyId }: { readonly keyId: string }) {
  const t = useTexts();
  const format = useFormat();
  const asked = { actor_id: keyId, limit: LOOKED_AT };
  const changes = useQuery({
    queryKey: [...api.admin.auditLog.list.queryKey(asked), 'first'],
    queryFn: ({ signal }) =>
      readFirst(
        (cursor) => client.admin.auditLog.list.query({ ...asked, cursor }),
        LOOKED_AT,
        signal,
      ),
  });
  return (
    <Loaded query={changes} rows={1}>
      {({ data, searched_back_to: reached }) => {
        if (data.length === 0 && reached === null) return <p>{t.keys.leakUnchanged}</p>;
        const names = data.map(({ action }) => t.audit.actions[action] ?? action);
        const named = countEach(names).map(
          ({ name, count }) => `${name} (${format.number(count)})`,
        );
        return (
          <p>
            {data.length > 0 && t.keys.leakChanged(format.list(named))}{' '}
            {reached !== null && searchedText(t, format, reached)}{' '}
            <Link to="/audit" search={{ actor: keyId }}>
              {t.keys.leakAll}
            </Link>
          </p>
        );
      }}
    </Loaded>
  );
}

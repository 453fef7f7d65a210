import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { useDeed } from '../lib/deeds.ts';
import { lastError } from '../lib/field-problems.ts';
import { MODE } from '../lib/shell.ts';
import { fullAt } from '../lib/team-limits.ts';
import { useTask } from '../lib/task.ts';
import { SandboxNote } from '../ui/band.tsx';
import { Actions, Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormProblem } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Badge, Empty, Loaded, PageHead } from '../ui/states.tsx';
import { ConnectCrm } from './connect-crm.tsx';
import {
  isBeingRead,
  isTokenMissing,
  looksAgainMs,
  stateOfCrm,
  type Connection,
} from './crm-state.ts';
import { ReplaceToken } from './replace-token.tsx';

/** The team's CRM connections. */
export function CrmPage() {
  const t = useTexts();
  const format = useFormat();
  const connecting = useTask<true>();
  const connections = useQuery({
    ...api.admin.crm.list.queryOptions({}),
    refetchInterval: ({ state }) => looksAgainMs(state.data?.data),
  });
  const full = fullAt('crmConnections', MODE, connections.data?.data.length);
  useDeed('connectCrm', () => connecting.begin(true), full === null);
  const why = full === null ? null : t.limits.connections(format.number(full));
  return (
    <>
      <PageHead title={t.crm.title} intro={t.crm.intro}>
        <Button look="main" why={why} onClick={() => connecting.begin(true)}>
          {t.crm.connect}
        </Button>
      </PageHead>
      <SandboxNote>{t.sandbox.crmNote}</SandboxNote>
      {why !== null && <p className="notice">{why}</p>}
      <Loaded query={connections} rows={2}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t.crm.empty} hint={t.crm.emptyHint} />
          ) : (
            <div className="cards">
              {data.map((connection) => (
                <ConnectionCard key={connection.id} connection={connection} />
              ))}
            </div>
          )
        }
      </Loaded>
      {connecting.task && (
        <ConnectCrm connections={connections.data?.data} onClose={connecting.close} />
      )}
    </>
  );
}

function ConnectionCard({ connection }: { readonly connection: Connection }) {
  const t = useTexts();
  const cache = useQueryClient();
  const { task, begin, close } = useTask<'replace' | 'disconnect'>();
  const { id, provider, status } = connection;
  const done = (text: string) => async () => {
    await cache.invalidateQueries(api.admin.crm.pathFilter());
    announce(text);
  };
  const pause = useMutation(
    api.admin.crm.pause.mutationOptions({ onSuccess: done(t.crm.changed) }),
  );
  const resume = useMutation(
    api.admin.crm.resume.mutationOptions({ onSuccess: done(t.crm.changed) }),
  );
  const sync = useMutation(
    api.admin.crm.syncNow.mutationOptions({ onSuccess: done(t.crm.syncing) }),
  );
  const disconnect = useMutation(
    api.admin.crm.disconnect.mutationOptions({ onSuccess: done(t.crm.disconnected) }),
  );
  const isActive = status === 'active';
  const isMissing = isTokenMissing(connection);
  const input = { connection_id: id };
  const name = t.crm.providers[provider] ?? provider;
  const toggle = isActive ? pause : resume;
  // Its key keeps it the same button when it moves, so that the focus comes back to it.
  const tokenButton = (
    <Button key="token" look={isMissing ? 'main' : 'plain'} onClick={() => begin('replace')}>
      {isMissing ? t.crm.enter : t.crm.replace}
    </Button>
  );
  return (
    <section className="card">
      <h2>{name}</h2>
      <ConnectionState connection={connection} />
      <FormProblem error={lastError(pause, resume, sync)} />
      <Actions>
        {isMissing ? (
          tokenButton
        ) : (
          <Button
            busy={sync.isPending}
            why={isActive ? null : t.crm.states['paused']}
            onClick={() => sync.mutate(input)}
          >
            {t.crm.sync}
          </Button>
        )}
        <Button busy={toggle.isPending} onClick={() => toggle.mutate(input)}>
          {isActive ? t.crm.pause : t.crm.resume}
        </Button>
        {!isMissing && tokenButton}
        <Button onClick={() => begin('disconnect')}>{t.crm.disconnect}</Button>
      </Actions>
      {task === 'replace' && <ReplaceToken connection={connection} onClose={close} />}
      {task === 'disconnect' && (
        <Confirm
          title={t.crm.disconnectTitle(name)}
          hint={t.crm.disconnectHint}
          action={t.crm.disconnect}
          mutation={disconnect}
          onConfirm={() => disconnect.mutate(input)}
          onClose={close}
        />
      )}
    </section>
  );
}

/** Whether it works, and when it was read. */
function ConnectionState({ connection }: { readonly connection: Connection }) {
  const t = useTexts();
  const format = useFormat();
  const { status, last_error, last_synced_at, next_sync_at } = connection;
  const isMissing = isTokenMissing(connection);
  const { word, tone } = stateOfCrm(connection);
  const words = {
    noToken: t.crm.noToken,
    status: t.crm.states[status] ?? status,
    failed: t.crm.failed(connection.failure_streak),
    notYet: t.crm.notYet,
    fine: t.crm.fine,
  };
  return (
    <>
      <p>
        <Badge tone={tone}>{words[word]}</Badge>
      </p>
      {isMissing && <p>{t.crm.noTokenHint}</p>}
      {last_error !== null && <p>{t.crm.errors[last_error] ?? last_error}</p>}
      <p className="soft">
        {t.crm.last}: {last_synced_at === null ? t.common.never : format.moment(last_synced_at)}
        <br />
        {isBeingRead(connection)
          ? t.crm.running
          : next_sync_at !== null && `${t.crm.next}: ${format.moment(next_sync_at)}`}
      </p>
      {connection.objection_marker !== null && (
        <p className="soft">
          {t.crm.marker}: <code>{connection.objection_marker}</code>
        </p>
      )}
    </>
  );
}

// A team with connections to fake CRMs, and the synchronization as a worker runs it.
import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import {
  syncConnection,
  type SyncDependencies,
} from '../../src/features/crm/sync/sync-connection.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from './api.ts';
import { appAs, tokenOf } from './app.ts';
import { MINUTE, NOW } from './crm/deals.ts';
import type { FakeCrm } from './crm/fake.ts';
import { makeSeed, makeTeam, userId } from './seed.ts';
import { putSeedBack } from './seeded-rows.ts';

const TEAM = 'team_a';

const DEALS = `select external_id::int as id, title, amount, outcome, lost_reason
  from crm_deal
  where connection_id = $1
  order by external_id::int`;

const FAILED = `select data
  from event
  where type = 'crm.sync.failed'
  order by created_at, id`;

/** Starts an API before the tests. Each begins with the rows of the seed, at `NOW`. */
export function useCrmSync() {
  const clock = fixedClock(NOW);
  const slept: number[] = [];
  let api: TestApi;

  beforeAll(async () => {
    clock.set(NOW);
    const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
    const team = makeTeam('a', { ...none, privacy: { member_detail_enabled: true } });
    api = await startTestApi({ clock, allowPrivateTargets: true, seed: makeSeed([team]) });
  });
  beforeEach(async () => {
    clock.set(NOW);
    slept.length = 0;
    await putSeedBack(api);
  });

  /** The token is issued by the test's clock, which the API uses too. */
  const signIn = async (): Promise<ReturnType<typeof appAs>> =>
    appAs(
      api,
      await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: TEAM }, clock.now()),
    );

  const connect = async (crm: FakeCrm, marker?: string): Promise<string> =>
    connectCrm(await signIn(), crm, marker);

  const sync = (
    connectionId: string,
    overrides: Partial<SyncDependencies> = {},
    jobId?: string,
  ): ReturnType<typeof syncConnection> => {
    const sleep = async (ms: number): Promise<void> => void slept.push(ms);
    const key = { teamId: TEAM, connectionId };
    return syncAtOnce({ db: api.db, clock, sleep, ...overrides }, key, jobId);
  };

  /** Runs the next regular synchronization, 16 minutes later. */
  const syncLater = (connectionId: string): ReturnType<typeof syncConnection> => {
    clock.advance(16 * MINUTE);
    return sync(connectionId);
  };

  const rows = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await api.db.pool.query<Record<string, unknown>>(text, values)).rows;

  /** Returns the data of the `crm.sync.failed` events, oldest first. */
  const events = async (): Promise<unknown[]> => (await rows(FAILED)).map(({ data }) => data);

  /** Returns what a customer reads at `path` with an API key. */
  const list = async (path: string): Promise<Record<string, unknown>[]> => {
    const { body } = await api.call(api.key(TEAM), 'GET', path);
    return (body as { data: Record<string, unknown>[] }).data;
  };

  return {
    api: () => api,
    clock,
    /** The waits of the synchronization, in milliseconds. */
    slept,
    signIn,
    connect,
    sync,
    syncLater,
    rows,
    stored: (connectionId: string): Promise<unknown[]> => rows(DEALS, [connectionId]),
    connectionRow: async (id: string): Promise<Record<string, unknown>> =>
      (await rows(`select * from crm_connection where id = $1`, [id]))[0] ?? {},
    events,
    list,
  };
}

async function connectCrm(
  app: ReturnType<typeof appAs>,
  crm: FakeCrm,
  marker?: string,
): Promise<string> {
  const { id } = await app.admin.crm.connect.mutate({
    ...crm.connectInput(),
    ...(marker === undefined ? {} : { objection_marker: marker }),
  });
  crm.requests.length = 0;
  return id;
}

/** Synchronizes a connection as a worker does. Unless told otherwise, its waits take no time. */
export function syncAtOnce(
  dependencies: Pick<SyncDependencies, 'db' | 'clock'> & Partial<SyncDependencies>,
  key: Parameters<typeof syncConnection>[1],
  jobId: string = randomUUID(),
): ReturnType<typeof syncConnection> {
  return syncConnection(
    {
      secrets: { current: TEST_APP_SECRET, previous: null },
      // Longer than a CRM takes that answers, on any machine.
      settings: { timeoutMs: 60_000, allowBaseUrl: true },
      random: () => 0.5,
      sleep: async () => undefined,
      ...dependencies,
    },
    key,
    jobId,
  );
}

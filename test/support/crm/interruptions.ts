// Plays the phases of a CRM connection, each with transactions that fail before or after their
// COMMIT. What is resumed must end as what was never interrupted.
import { Logger, runOnce } from 'graphile-worker';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../../src/core/clock.ts';
import type { Database } from '../../../src/db/connections/database.ts';
import { movePendingJobs } from '../../../src/db/jobs/job-intake.ts';
import { PROVIDER_NAMES, type ProviderName } from '../../../src/features/crm/providers/registry.ts';
import { SCHEDULE_SYNCS } from '../../../src/features/crm/sync/jobs.ts';
import { crmTasks } from '../../../src/features/crm/sync/tasks.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../api.ts';
import { appAs, tokenOf } from '../app.ts';
import { startCommitProxy, type CommitProxy, type Cut } from '../commit-proxy.ts';
import { ago, makeDeals, MINUTE, NOW, startWith } from './deals.ts';
import { answer, type FakeCrm, type FakeRequest, type Interceptor } from './fake.ts';
import { openSturdyPool } from '../pool.ts';
import { makeSeed, makeTeam, userId } from '../seed.ts';
import { until } from '../until.ts';
import { openPatiently } from '../wire.ts';

const TEAM = 'team_a';
const MARKER = 'Einwand:';
const clock = fixedClock(NOW);
let api: TestApi;
let proxy: CommitProxy;
/** The database of the worker, through the proxy. */
let db: Database;
/** Where its jobs are. Kept, because a new connection costs more than the jobs of a minute. */
let pgPool: Pool;

const signIn = async () =>
  appAs(
    api,
    await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: TEAM }, clock.now()),
  );

/** What happens in the CRM and in the app, and how many minutes after what was before. */
interface Phase {
  readonly name: string;
  readonly minutes: number;
  /** It has so many at least. */
  readonly transactions: number;
  readonly begin: (crm: FakeCrm, connectionId: string) => Promise<void> | void;
}

const PHASES: readonly Phase[] = [
  {
    name: 'the first import, in two runs',
    minutes: 0,
    transactions: 3,
    begin: (crm) => {
      disturb(crm, [
        {
          at: () => crm.pages().length === 2,
          act: () => {
            clock.advance(MINUTE + 1);
            return false;
          },
        },
      ]);
    },
  },
  {
    name: 'changes, after a failure and with a request during the run',
    minutes: 16,
    transactions: 3,
    begin: (crm, connectionId) => {
      crm.put({ id: 1, title: 'Renamed and open again', modified: ago(-3) });
      crm.put({ id: 4, status: 'lost', lostReason: 'Kein Bedarf', modified: ago(-3) });
      crm.put({ id: 20, title: 'New', ownerId: 71, modified: ago(-4) });
      for (const gone of [2, 3]) crm.put({ id: gone, modified: ago(-5), deleted: true });
      putNote(crm, 6, 4, `${MARKER} the price, and more`, -3);
      putNote(crm, 8, 4, 'No objection any more', -4);
      putNote(crm, 9, 20, `${MARKER} No budget this year`, -5);
      crm.owners.set(71, 'admin@a.test');
      disturb(crm, [
        {
          at: (request) => crm.pages().at(-1) === request,
          act: (_request, response) => {
            answer(response, 503, {});
            return true;
          },
        },
        {
          at: ({ path }) => path.includes('notes'),
          act: async () => {
            await (await signIn()).admin.crm.syncNow.mutate({ connection_id: connectionId });
            crm.put({ id: 5, title: 'Changed behind the run', modified: ago(-6) });
            return false;
          },
        },
      ]);
    },
  },
  {
    name: 'the round of the next day, which removes what it has not read',
    minutes: 25 * 60,
    transactions: 3,
    begin: (crm) => {
      crm.put({ id: 5, modified: ago(-6), purged: true });
      crm.put({ id: 20, title: 'Renamed', modified: ago(-40) });
      crm.notes.delete(6);
    },
  },
  {
    name: 'the removal of the disconnected connection',
    minutes: 1,
    transactions: 2,
    begin: async (_crm, connectionId) => {
      await (await signIn()).admin.crm.disconnect.mutate({ connection_id: connectionId });
    },
  },
];

interface Disturbance {
  readonly at: (request: FakeRequest) => boolean;
  readonly act: Interceptor;
}

/** Disturbs one request after the other, each once. */
function disturb(crm: FakeCrm, disturbances: readonly Disturbance[]): void {
  const left = [...disturbances];
  crm.intercept = (request, response) => {
    const [next] = left;
    if (!next?.at(request)) return false;
    left.shift();
    return next.act(request, response);
  };
}

function putNote(crm: FakeCrm, id: number, dealId: number, html: string, minutes: number): void {
  crm.notes.set(id, { id, dealId, html, modified: ago(minutes) });
}

async function startFilled(name: ProviderName): Promise<FakeCrm> {
  const crm = await startWith(
    name,
    makeDeals(5, (index) =>
      index === 0 ? { status: 'lost', lostReason: 'Too expensive' } : { ownerId: 70 },
    ),
  );
  crm.owners.set(70, 'member@a.test');
  for (const id of [6, 7, 8])
    putNote(crm, id, id - 4, `${MARKER} They lack feature ${id}`, 90 - id);
  putNote(crm, 10, 4, `${MARKER} Zu spät`, 60);
  return crm;
}

/** In the order in which rows can be written. */
const TABLES = [
  'crm_connection',
  'crm_deal',
  'crm_objection',
  'event',
  'audit_log',
  'pending_job',
] as const;
type Row = Readonly<Record<string, unknown>>;
type Stored = Readonly<Record<(typeof TABLES)[number], readonly Row[]>>;

async function readStored(): Promise<Stored> {
  const tables = TABLES.map(
    (table) => `'${table}', (select coalesce(json_agg(t), '[]') from ${table} t)`,
  );
  const { rows } = await api.db.pool.query<{ stored: Stored }>(
    `select json_build_object(${tables.join(', ')}) as stored`,
  );
  const [row] = rows;
  if (!row) throw new Error('nothing was read');
  return row.stored;
}

/** Where a phase begins. */
interface Start {
  readonly at: Date;
  readonly stored: Stored;
  readonly deals: FakeCrm['deals'];
  readonly notes: FakeCrm['notes'];
  readonly owners: FakeCrm['owners'];
}

async function keep({ deals, notes, owners }: FakeCrm): Promise<Start> {
  return {
    at: clock.now(),
    stored: await readStored(),
    ...structuredClone({ deals, notes, owners }),
  };
}

async function restore(crm: FakeCrm, start: Start): Promise<void> {
  clock.set(start.at);
  await api.db.pool.query('delete from graphile_worker._private_jobs');
  for (const table of TABLES.toReversed()) await api.db.pool.query(`delete from ${table}`);
  for (const table of TABLES)
    await api.db.pool.query(
      `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(start.stored[table])],
    );
  for (const part of ['deals', 'notes', 'owners'] as const) {
    const into = crm[part] as Map<number, unknown>;
    into.clear();
    for (const [id, value] of structuredClone(start[part])) into.set(id, value);
  }
  crm.intercept = null;
  crm.requests.length = 0;
}

/** A worker's minute: what waits, and what is due, until no job is left. */
async function work(): Promise<void> {
  const { pool } = api.db;
  await movePendingJobs(api.db);
  // The waits between the attempts of a job are over.
  await pool.query(`update graphile_worker._private_jobs set run_at = now()`);
  await pool.query(`select graphile_worker.add_job($1)`, [SCHEDULE_SYNCS]);
  const secrets = { current: TEST_APP_SECRET, previous: null };
  const taskList = crmTasks({ db, clock, secrets, allowBaseUrl: true });
  const logger = new Logger(() => () => undefined);
  await runOnce({ pgPool, taskList, noHandleSignals: true, logger });
  // It does not wait for the last thing that it writes.
  await until(() => pgPool.idleCount === pgPool.totalCount);
}

/** Whether there is nothing to do until the next regular round. */
async function isQuiet(): Promise<boolean> {
  const { rows } = await api.db.pool.query<{ count: number }>(
    `select (select count(*) from pending_job)::int
       + (select count(*) from graphile_worker._private_jobs where attempts < max_attempts)::int
       + (
         select count(*)
         from crm_connection
         where sync_token is not null or next_sync_at < $1
       )::int as count`,
    [new Date(clock.now().getTime() + 5 * MINUTE)],
  );
  return rows[0]?.count === 0;
}

interface Ended {
  /** Everything but times, tokens, ids of new rows, and failures. */
  readonly state: unknown;
  readonly failures: number;
  /** The requests to the CRM for its lists. */
  readonly requests: number;
  readonly cut: readonly string[] | null;
}

/** Plays a phase until nothing is left to do. */
async function play(
  { crm, connectionId, phase, start }: Scene,
  cut: { readonly nth: number; readonly cut: Cut } | null,
): Promise<Ended> {
  await restore(crm, start);
  clock.advance(phase.minutes * MINUTE);
  await phase.begin(crm, connectionId);
  proxy.cutAt(cut?.nth ?? 0, cut?.cut ?? 'before');
  for (let minute = 0; minute < 9; minute += 1) {
    await work();
    if (await isQuiet()) break;
    clock.advance(MINUTE);
  }
  expect(await isQuiet()).toBe(true);
  const stored = await readStored();
  const lists = crm.requests.filter(({ path }) => !/owners|users/.test(path));
  return {
    state: stateOf(stored, start.stored),
    failures: stored.event.filter(({ type }) => type === 'crm.sync.failed').length,
    requests: lists.length,
    cut: proxy.wasCut(),
  };
}

const VOLATILE = /_at$|^sync_token$|^sync_lease_until$|^request_id$|^traceparent$/;

function stateOf(stored: Stored, before: Stored): unknown {
  const isKnown = new Set(TABLES.flatMap((table) => before[table].map(({ id }) => id)));
  const ids = new Map(stored.crm_deal.map(({ id, external_id }) => [id, external_id]));
  const valueOf = (name: string, value: unknown): unknown => {
    if (name === 'id') return isKnown.has(value) ? value : 'new';
    if (name === 'deal_id') return ids.get(value);
    if (name === 'fullAt' || VOLATILE.test(name)) return value === null ? null : 'set';
    return value;
  };
  return Object.fromEntries(
    TABLES.map((table) => {
      const rows = stored[table].filter((row) => !isFailure(row));
      return [table, rows.map((row) => JSON.parse(JSON.stringify(row, valueOf))).toSorted(byText)];
    }),
  );
}

function isFailure({ type, action }: Row): boolean {
  return type === 'crm.sync.failed' || action === 'crm_connection.sync_failed';
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

interface Scene {
  readonly crm: FakeCrm;
  readonly connectionId: string;
  readonly phase: Phase;
  readonly start: Start;
}

/** Which transactions of a phase are cut: one in `step`, beginning with `first`. */
export interface Sample {
  readonly cut: Cut;
  readonly first: number;
  readonly step: number;
}

/** Tests each phase with each provider. */
export function testInterruptions(
  samplesOf: Readonly<Record<ProviderName, readonly Sample[]>>,
): void {
  beforeAll(async () => {
    const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
    const seed = makeSeed([makeTeam('a', none)]);
    api = await startTestApi({ clock, allowPrivateTargets: true, seed });
    proxy = await startCommitProxy(api.databaseUrl);
    db = openPatiently(proxy.url);
    pgPool = openSturdyPool(api.databaseUrl, 4);
    return async () => {
      await pgPool.end();
      await db.close();
      await proxy.stop();
    };
  });

  describe.each(PROVIDER_NAMES)('%s', (name) => {
    const scenes = new Map<Phase, { readonly scene: Scene; readonly ended: Ended }>();

    beforeAll(async () => {
      clock.set(NOW);
      const crm = await startFilled(name);
      const app = await signIn();
      const { id: connectionId } = await app.admin.crm.connect.mutate({
        ...crm.connectInput(),
        objection_marker: MARKER,
      });
      for (const phase of PHASES) {
        const scene = { crm, connectionId, phase, start: await keep(crm) };
        scenes.set(phase, { scene, ended: await play(scene, null) });
      }
    });

    test.each(PHASES)('$name', async (phase) => {
      const known = scenes.get(phase);
      if (!known) throw new Error(`${phase.name} was not played`);
      const { scene, ended } = known;
      for (const { cut, first, step } of samplesOf[name]) {
        let nth = first;
        for (; ; nth += step) {
          const resumed = await play(scene, { nth, cut });
          if (resumed.cut === null) break;
          // A failure is not recorded if the database is lost at that moment.
          const isLost = cut === 'before' && /failure_streak \+ 1/.test(resumed.cut.join());
          const which = `cut ${cut} COMMIT ${nth}: ${resumed.cut.join('; ')}`;
          expect({
            which,
            state: resumed.state,
            failures: resumed.failures,
            // It goes on where it was: a page of two requests is read once more at most.
            readsAgain: Math.max(0, resumed.requests - ended.requests - 2),
          }).toEqual({
            which,
            state: ended.state,
            failures: isLost ? ended.failures - 1 : ended.failures,
            readsAgain: 0,
          });
        }
        expect(nth).toBeGreaterThan(phase.transactions);
      }
    });
  });
}

/**
 * A world is an API with a database of its own that holds one twin or both. Tests make a call in
 * both worlds and compare what it returns and writes. After each call the database is restored.
 */
import type { Pool, PoolClient } from 'pg';
import { fixedClock } from '../../src/core/clock.ts';
import { sandboxIdOf } from '../../src/core/sandbox.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { atEnd } from '../support/at-end.ts';
import { openSturdyPool } from '../support/pool.ts';
import { asTestKey, makeSandbox } from '../support/sandbox.ts';
import { copyRows, restoreRows } from '../support/seeded-rows.ts';
import { listCopiedTables } from '../support/shards.ts';
import { marksOf } from '../support/table-marks.ts';
import { addTwinRows, teamIdOf, twinOf, twinSeed, TWINS_NOW, type Side } from '../support/twins.ts';
import { readWrittenColumns } from '../support/written-columns.ts';

/** See the head of this file. */
export interface World {
  readonly api: TestApi;
  /** Resolves with what a call that only reads returns to `side`. */
  read(side: Side, call: TwinCall): Promise<unknown>;
  /** Makes a call that may write, as `side`. Restores the database afterwards. */
  observe(side: Side, call: TwinCall, options?: ObserveOptions): Promise<Outcome>;
  /** Ends an operation: resolves with the tables that differ from the beginning. */
  listChanges(): Promise<readonly string[]>;
}

/** One call of the API as a member of the team `side`. Resolves with the response. */
export type TwinCall = (api: TestApi, side: Side) => Promise<unknown>;

/** How `observe` makes the call. */
export interface ObserveOptions {
  /** The twin makes the same call first, so that its rows, jobs and kept responses exist too. */
  readonly twinFirst?: boolean;
}

/** What a call returned and wrote; `written` has the team's rows by table. */
export interface Outcome {
  readonly answer: unknown;
  readonly written: Readonly<Record<string, unknown>>;
  /** Tables in which rows of the twin changed. There must be none. */
  readonly twinRowsChanged: readonly string[];
}

/** The Idempotency-Key whose response the twin keeps and whose advisory lock it holds. */
export const SHARED_IDEMPOTENCY_KEY = 'the same in both teams';

/** The team of side B in a world with a sandbox: that of team A. */
const SANDBOX = sandboxIdOf(teamIdOf('a'));

/**
 * Opens a world with these teams, whose CRM connections use the CRM at `crmUrl`. With `hasSandbox`,
 * side B is the sandbox of team A.
 */
export async function openWorld(
  sides: readonly Side[],
  crmUrl: string,
  { hasSandbox = false }: { readonly hasSandbox?: boolean } = {},
): Promise<World> {
  const started = await startTestApi({
    seed: twinSeed(sides),
    clock: fixedClock(TWINS_NOW),
    allowPrivateTargets: true,
  });
  await addTwinRows(started.db, crmUrl, sides);
  if (hasSandbox && sides.includes('b'))
    await makeSandbox(started.db.pool, teamIdOf('b'), SANDBOX, TWINS_NOW);
  const api = hasSandbox ? withTestKeys(started) : started;
  const teamOf = (side: Side): string => (hasSandbox && side === 'b' ? SANDBOX : teamIdOf(side));
  const tables = { ...(await readTables(api)), teamOf };
  const columns = await readWrittenColumns(api.db.pool);
  await copyRows(api.db.pool, tables.all);
  await makeLock(api, tables);
  // Each connection plans its statements anew after each vacuum, and after each change of
  // `session_replication_role`. So one watches, one locks, and others restore.
  const watching = openSturdyPool(api.databaseUrl, 1);
  const locking = openSturdyPool(api.databaseUrl, 1);
  atEnd(() => Promise.all([watching.end(), locking.end()]));
  // What `restore` leaves of rows, which each reader of the table would pass.
  const littered = new Set<string>();
  const digest = makeDigest(watching, tables);
  const atFirst = await digest();
  return {
    api,
    read: async (side, call) => masked(api, await call(api, side)),
    observe: async (side, call, { twinFirst = false } = {}) => {
      const twin = twinOf(side);
      if (twinFirst) await call(api, twin);
      const before = twinFirst ? await digest() : atFirst;
      const locked = sides.includes(twin) ? await lockTeamRows(locking, teamOf(twin)) : null;
      let answer: unknown;
      try {
        answer = await call(api, side);
      } finally {
        await unlock(locked);
      }
      const after = await digest();
      const changed = changesBetween(atFirst, after);
      const rows = await readRows({ api, watching }, tables, { changed, side });
      const written = changed.map((name) => (name === 'jobs' ? JOB_TABLE : name));
      if (changed.length > 0) await restoreRows(api.db.pool, columns, written);
      for (const name of written) littered.add(name);
      return {
        answer: masked(api, answer),
        written: rows,
        twinRowsChanged: changesBetween(before, after, twin),
      };
    },
    listChanges: async () => {
      if (littered.size > 0) await watching.query(`vacuum ${[...littered].join(', ')}`);
      littered.clear();
      return changesBetween(atFirst, await digest());
    },
  };
}

/** The API, which gives the keys of side B as test keys. */
function withTestKeys(api: TestApi): TestApi {
  const key: TestApi['key'] = (team, ...rest) =>
    team === teamIdOf('b') ? asTestKey(api.key(team, ...rest)) : api.key(team, ...rest);
  return { ...api, key };
}

interface Tables {
  readonly teamOf: (side: Side) => string;
  readonly all: readonly string[];
  /** The tables with a `team_id`. */
  readonly tenant: readonly string[];
  /** Those whose rows of one team can be locked. */
  readonly lockable: readonly string[];
}

async function readTables({ db }: TestApi): Promise<Omit<Tables, 'teamOf'>> {
  const { rows } = await db.pool.query<{ name: string; is_tenant: boolean }>(
    `select t.table_name as name,
       exists (
         select from information_schema.columns c
         where c.table_schema = 'public' and c.table_name = t.table_name
           and c.column_name = 'team_id'
       ) as is_tenant
     from information_schema.tables t
     where t.table_schema = 'public' and t.table_type = 'BASE TABLE'
       and t.table_name not in ('_prisma_migrations', 'rate_counter', 'team_counter')
     order by 1`,
  );
  const copied = await listCopiedTables(db);
  const tenant = rows.filter(({ is_tenant }) => is_tenant).map(({ name }) => name);
  return {
    all: rows.map(({ name }) => name),
    tenant,
    lockable: tenant.filter((name) => !copied.includes(name)),
  };
}

/** Returns the tables with a `team_id`, for a test of the fixture. */
export async function listTenantTables(api: TestApi): Promise<readonly string[]> {
  return (await readTables(api)).tenant;
}

const JOB_TABLE = 'graphile_worker._private_jobs';
// Jobs that a job adds; the jobs of a change are in `pending_job`.
const JOBS = `(select k.identifier as task, j.payload, j.key, j.run_at
  from ${JOB_TABLE} j join graphile_worker._private_tasks k on k.id = j.task_id)`;

/** A digest of the rows of each table: of all, and of one team's. */
type Digests = Readonly<Record<string, Readonly<Record<Side | 'all', string>>>>;

/**
 * Returns what resolves with digests of the rows. Only tables with other rows than at the last time
 * are read as a whole: a row that was written has another transaction.
 */
function makeDigest(watching: Pool, { all, tenant, teamOf }: Tables): () => Promise<Digests> {
  const ownerOf = (name: string): string =>
    tenant.includes(name) ? 't.team_id' : name === 'team' ? 't.id' : 'null::text';
  const parts = [
    ...all.map((name) => ({ name, table: name, from: name, owner: ownerOf(name) })),
    { name: 'jobs', table: JOB_TABLE, from: JOBS, owner: `t.payload->>'teamId'` },
  ];
  const selects = parts.map(
    ({ name, from, owner }) =>
      `select '${name}' as name, coalesce(sum(hash), 0)::text as all,
         coalesce(sum(hash) filter (where owner = '${teamOf('a')}'), 0)::text as a,
         coalesce(sum(hash) filter (where owner = '${teamOf('b')}'), 0)::text as b
       from (
         select hashtextextended(t::text, 0)::numeric as hash, ${owner} as owner
         from ${from} t
       ) hashed`,
  );
  const tables = parts.map(({ table }) => table);
  let known: ReadonlyMap<string, string> = new Map();
  let digests: Digests = {};
  return async () => {
    const marks = await marksOf(watching, tables);
    const isNew = new Set(tables.filter((table) => known.get(table) !== marks.get(table)));
    if (isNew.size === 0) return digests;
    const read = await watching.query<{ name: string; all: string; a: string; b: string }>(
      selects.filter((_, index) => isNew.has(tables[index] ?? '')).join(' union all '),
    );
    digests = { ...digests, ...Object.fromEntries(read.rows.map((row) => [row.name, row])) };
    known = marks;
    return digests;
  };
}

function changesBetween(before: Digests, after: Digests, of: Side | 'all' = 'all'): string[] {
  return Object.keys(after).filter((name) => before[name]?.[of] !== after[name]?.[of]);
}

/**
 * Reads the team's rows of the changed tables as text. Rows without a team belong to both teams.
 */
async function readRows(
  { api, watching }: { readonly api: TestApi; readonly watching: Pool },
  tables: Tables,
  { changed, side }: { changed: readonly string[]; side: Side },
): Promise<Record<string, unknown>> {
  const team = `'${tables.teamOf(side)}'`;
  const read = async (name: string): Promise<[string, unknown]> => {
    const own = tables.tenant.includes(name)
      ? `where t.team_id = ${team}`
      : name === 'team'
        ? `where t.id = ${team}`
        : '';
    const from =
      name === 'jobs' ? `${JOBS} t where t.payload->>'teamId' = ${team}` : `${name} t ${own}`;
    const { rows } = await watching.query<{ row: Record<string, unknown> }>(
      `select to_json(t) as row from ${from}`,
    );
    return [
      name,
      rows.map(({ row }) => JSON.stringify(masked(api, withoutRandom(row)))).toSorted(),
    ];
  };
  return Object.fromEntries(await Promise.all(changed.map(read)));
}

/** Columns with random or encrypted bytes, what is derived from them, or the database's time. */
const RANDOM_COLUMNS = [
  'stored_at',
  'updated_at',
  'prefix',
  'secret_hash',
  'secret_encrypted',
  'earlier_secrets_encrypted',
  'credentials_encrypted',
  'fingerprint',
  'body',
  'open_body',
  'run_at',
];

function withoutRandom(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !RANDOM_COLUMNS.includes(name)));
}

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\b([a-z]+)_[0-9a-hjkmnp-tv-z]{26}\b/g, '<new $1>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\bsvck_(?:live|test)_\w+/g, '<key>'],
  [/"prefix":"\w+"/g, '"prefix":"<prefix>"'],
  [/\bwhsec_[\w-]+/g, '<secret>'],
];

/** Masks what is random in the value, or names the process. */
function masked({ url }: TestApi, value: unknown): unknown {
  const text = MASKS.reduce(
    (masking, [form, mask]) => masking.replaceAll(form, mask),
    JSON.stringify(value ?? null),
  );
  return JSON.parse(text.replaceAll(url, '<url>'));
}

/** Makes what `lockTeamRows` calls: a function, whose statements Postgres keeps planned. */
async function makeLock({ db }: TestApi, { lockable }: Tables): Promise<void> {
  const locks = lockable.map(
    (name) => `perform from ${name} where team_id = team_to_lock for update;`,
  );
  await db.pool.query(
    `create function backup.lock_rows(team_to_lock text) returns void language plpgsql as $$
     begin
       perform from begin_idempotent_call(team_to_lock, '${SHARED_IDEMPOTENCY_KEY}', now());
       perform from team where id = team_to_lock for update;
       ${locks.join('\n')}
     end $$`,
  );
}

/**
 * Locks all rows of a team and its Idempotency-Key. A call of the other team that waited for one of
 * these locks would fail by its timeout.
 */
async function lockTeamRows(locking: Pool, teamId: string): Promise<PoolClient> {
  const client = await locking.connect();
  await client.query(`begin; select backup.lock_rows('${teamId}')`);
  return client;
}

async function unlock(client: PoolClient | null): Promise<void> {
  await client?.query('rollback');
  client?.release();
}

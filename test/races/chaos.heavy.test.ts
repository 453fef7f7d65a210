// Nothing is lost and nothing is invented under chaos. Clients write through two API processes and
// two workers deliver to a real receiver. Meanwhile processes are killed at random and Postgres
// stops twice, once by SIGKILL; on Citus the nodes with the rows do, too. Random choices follow
// from CHAOS_SEED, which is printed. The moment at which a process is killed also depends on the
// machine, so a seed repeats the plan but not the run. CHAOS_SECONDS is the duration.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { envelopeText } from '../../src/delivery/envelope.ts';
import { createRandom, nextInt, type Random } from '../../src/seed/random.ts';
import { loadTestSeed } from '../support/api.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { runClient, type Customer, type Ledger, type Write } from './chaos/clients.ts';
import { startChaosDatabase, type ChaosDatabase, type ChaosServer } from './chaos/database.ts';
import { startFleet, type Fleet } from './chaos/fleet.ts';
import { startReceiver, type Receiver } from './chaos/receiver.ts';

const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 60);
const SEED = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);
const DRAIN_MS = 60_000;
const CLIENTS = 10;
const TEAMS = 12;
/** The time between two kills. */
const KILL_EVERY_MS = { min: 500, max: 3_500 };
const ALL_EVENTS = [
  'assignment.created',
  'assignment.completed',
  'member.joined',
  'member.removed',
] as const;
const MEMBER_EVENTS = ['member.joined', 'member.removed'] as const;

/** What Postgres, the network and our own processes report while the database is down. */
const DATABASE_AWAY = new RegExp(
  [
    /\bunavailable\b|ECONN|EPIPE|57P0|terminat|shutting down|starting up/,
    /not yet accepting|not queryable|job runner ended by itself|Failed to reset locked/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

const tally = { api: 0, worker: 0, postgres: 0, nodes: 0 };
const ledger: Ledger = { writes: [], faults: [], calls: 0, unknown: 0, replayed: 0 };
let postgres: ChaosDatabase;
let receiver: Receiver;
let fleet: Fleet;
let database: Client;

beforeAll(
  async () => {
    postgres = await startChaosDatabase();
    receiver = await startReceiver(randomOf(1));
    const customers = await loadCustomers();
    fleet = startFleet(postgres.url, {
      DATABASE_POOL_MAX: '10',
      MAIL_DIR: join(postgres.folder, 'mail'),
      WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
      // Retries are soon and many, so that no delivery gives up.
      WEBHOOK_RETRY_DELAYS_S: Array.from({ length: 30 }, (_, n) => (n < 2 ? 0 : 1)).join(','),
    });
    await fleet.whole();
    const startedAt = performance.now();
    await runChaos(customers);
    await drain();
    report(performance.now() - startedAt);
  },
  SECONDS * 1000 + DRAIN_MS + 120_000,
);

afterAll(async () => {
  await fleet?.stop();
  await database?.end();
  await receiver?.stop();
  await postgres?.stop();
}, 60_000);

/** Each part has its own sequence, so that it does not depend on the other parts. */
function randomOf(part: number): Random {
  return createRandom(SEED, part, 0);
}

/** Each team has a webhook endpoint for all events; every third one has another for some events. */
async function loadCustomers(): Promise<Customer[]> {
  const names = Array.from({ length: TEAMS }, (_, n) => `c${n}`);
  const endpoint = (id: string, events: readonly string[]) => ({
    id,
    url: receiver.addressOf(id),
    events: [...events] as never,
  });
  const teams = names.map((name, n) =>
    makeTeam(name, {
      webhook_endpoints: [
        endpoint(`whe_${name}_all`, ALL_EVENTS),
        ...(n % 3 === 0 ? [endpoint(`whe_${name}_members`, MEMBER_EVENTS)] : []),
      ],
    }),
  );
  const seeded = await loadTestSeed({ url: postgres.url }, makeSeed(teams));
  return names.map((name) => {
    const { api_keys = {}, webhook_endpoints = {} } = seeded.teams[`team_${name}`] ?? {};
    for (const [id, secret] of Object.entries(webhook_endpoints)) receiver.secrets.set(id, secret);
    return {
      teamId: `team_${name}`,
      key: api_keys['full'] ?? '',
      memberId: memberId(name, 'member'),
    };
  });
}

/** Clients write while processes are killed, and servers are stopped and killed. */
async function runChaos(customers: readonly Customer[]): Promise<void> {
  const endsAt = performance.now() + SECONDS * 1000;
  const isOver = (): boolean => performance.now() > endsAt;
  const clients = Array.from({ length: CLIENTS }, (_, n) =>
    runClient({ fleet, ledger, random: randomOf(100 + n) }, customers, `w${n}`, isOver),
  );
  const restarts = [restartPostgres(isOver), restartNodes(isOver)];
  await Promise.all([...clients, killProcesses(isOver), ...restarts]);
}

async function killProcesses(isOver: () => boolean): Promise<void> {
  const random = randomOf(2);
  for (;;) {
    await delay(nextInt(random, KILL_EVERY_MS.min, KILL_EVERY_MS.max));
    if (isOver()) return;
    const killed = fleet.kill(random);
    if (killed) tally[killed] += 1;
  }
}

async function restartPostgres(isOver: () => boolean): Promise<void> {
  const random = randomOf(3);
  for (const way of bothWays(random)) {
    await delay(SECONDS * 1000 * (0.15 + random() * 0.25));
    if (isOver()) return;
    await restart(postgres.server, way, random);
    tally.postgres += 1;
  }
}

/** One node is stopped and another one killed, also while Postgres is away. */
async function restartNodes(isOver: () => boolean): Promise<void> {
  const random = randomOf(4);
  const ways = bothWays(random);
  for (const [index, node] of postgres.nodes.entries()) {
    await delay(SECONDS * 1000 * (0.1 + random() * 0.2));
    if (isOver()) return;
    await restart(node, ways[index % 2] ?? 'kill', random);
    tally.nodes += 1;
  }
}

type Way = 'stop' | 'kill';

function bothWays(random: Random): readonly Way[] {
  return random() < 0.5 ? ['stop', 'kill'] : ['kill', 'stop'];
}

async function restart(server: ChaosServer, way: Way, random: Random): Promise<void> {
  await server[way]();
  await delay(random() * 2_000);
  await server.start();
}

/**
 * Waits until every event is delivered and every job is done. This takes seconds; work that was
 * lost would take minutes or never be done.
 */
async function drain(): Promise<void> {
  receiver.recover();
  await fleet.whole();
  database = new Client({ connectionString: postgres.url });
  await database.connect();
  const waiting = `
    select (select count(*)::int from event where fanned_out_at is null) as events,
      (select count(*)::int from webhook_delivery where ${IS_WAITING}) as deliveries,
      (select count(*)::int from pending_job) as new_jobs,
      (select count(*)::int from graphile_worker.jobs where task_identifier like 'send%') as jobs`;
  const deadline = performance.now() + DRAIN_MS;
  for (;;) {
    const { rows } = await database.query<Record<string, number>>(waiting);
    if (Object.values(rows[0] ?? {}).every((count) => count === 0)) return;
    if (performance.now() > deadline)
      throw new Error(
        `seed ${SEED}, still waiting: ${JSON.stringify(rows[0])}\n${await describeWaiting()}`,
      );
    await delay(100);
  }
}

const IS_WAITING = '(next_try_at is not null or claimed_by is not null or urgent)';

async function describeWaiting(): Promise<string> {
  const rows = await rowsOf(`
    select to_jsonb(d) - 'response_excerpt' as what from webhook_delivery d where ${IS_WAITING}
    union all
    select to_jsonb(j) from pending_job j
    union all
    select to_jsonb(j) from graphile_worker.jobs j where task_identifier like 'send%'
    limit 10`);
  const said = fleet
    .output()
    .split('\n')
    .filter((line) => /"level":[45]0/.test(line) && !line.includes('"requestId"'));
  return [...rows.map((row) => JSON.stringify(row)), ...said.slice(-50)].join('\n');
}

function report(ms: number): void {
  const all = [...receiver.received.values()];
  const deliveries = all.reduce((sum, { times }) => sum + times, 0);
  const needless = all.reduce((sum, { acknowledged }) => sum + Math.max(0, acknowledged - 1), 0);
  const outcomes = count(ledger.writes.map((write) => write.outcome));
  const countOf = (outcome: Write['outcome']): string => `${outcomes.get(outcome) ?? 0} ${outcome}`;
  const { ok, slow, error, reset } = receiver.answers;
  console.log(
    [
      `chaos: seed ${SEED}, ${(ms / 1000).toFixed(1)} s`,
      `${ledger.calls} calls, ${ledger.unknown} without an answer`,
      `creations: ${countOf('done')}, ${countOf('refused')}, ${countOf('unknown')}`,
      `${ledger.replayed} replays`,
      `killed: ${tally.api} API processes, ${tally.worker} workers`,
      `Postgres stopped ${tally.postgres} times, other nodes ${tally.nodes} times`,
      `${all.length} deliveries in ${deliveries} attempts`,
      `responses: ${ok} at once, ${slow} late, ${error} with 500, ${reset} none`,
      `${needless} delivered again after a 2xx`,
    ].join('; '),
  );
}

async function rowsOf<Row extends object>(sql: string): Promise<Row[]> {
  return (await database.query<Row>(sql)).rows;
}

/** Counts how often each value occurs. */
function count(values: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

const keyOf = (teamId: string, id: string): string => `${teamId} ${id}`;

describe('after the chaos', () => {
  test('there was enough of it to prove something', () => {
    expect(tally.postgres).toBe(2);
    expect(tally.nodes).toBe(postgres.nodes.length);
    expect(tally.api + tally.worker).toBeGreaterThan(SECONDS / 10);
    expect(ledger.unknown).toBeGreaterThan(0);
    expect(ledger.writes.filter((write) => write.outcome === 'done').length).toBeGreaterThan(
      SECONDS,
    );
  });

  test('no client got an undocumented response, or two different ones', () => {
    expect(ledger.faults).toEqual([]);
  });

  test('every delivery was verified, and repeated ones had the same bytes', () => {
    expect(receiver.faults).toEqual([]);
  });

  test('every committed event reached every subscriber, and no other event did', async () => {
    const events = await rowsOf<{ key: string; body: string }>(`
      select w.id || ' ' || e.id as key,
        json_build_object(
          'id', e.id,
          'type', e.type,
          'createdAt',
          to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'apiVersion', w.api_version,
          'teamId', e.team_id,
          'data', e.data::text
        )::text as body
      from event e
      join webhook_endpoint w on w.team_id = e.team_id and e.type = any (w.events)`);
    const expected = new Map(
      events.map(({ key, body }) => [
        key,
        envelopeText(JSON.parse(body) as Parameters<typeof envelopeText>[0]),
      ]),
    );
    expect(expected.size).toBeGreaterThan(0);
    expect([...expected.keys()].filter((key) => !receiver.received.has(key))).toEqual([]);
    expect([...receiver.received.keys()].filter((key) => !expected.has(key))).toEqual([]);
    const changed = [...receiver.received].filter(([key, { body }]) => expected.get(key) !== body);
    expect(changed).toEqual([]);
  });

  test('every delivery is recorded as acknowledged', async () => {
    const deliveries = await rowsOf<{ key: string; status: string; response_code: number }>(
      `select endpoint_id || ' ' || event_id as key, status, response_code from webhook_delivery`,
    );
    expect(
      deliveries.filter(({ status, response_code: code }) => status !== 'ok' || code !== 200),
    ).toEqual([]);
    expect(
      deliveries.filter(({ key }) => (receiver.received.get(key)?.acknowledged ?? 0) === 0),
    ).toEqual([]);
    expect(deliveries).toHaveLength(receiver.received.size);
    expect(await rowsOf(`select id from webhook_endpoint where status <> 'active'`)).toEqual([]);
  });

  test('acknowledged creations exist once, refused ones never, unknown at most once', async () => {
    const { created } = await found();
    const wrong = ledger.writes.filter((write) => {
      const times = created.get(keyOf(write.teamId, write.unique))?.length ?? 0;
      return write.outcome === 'done' ? times !== 1 : times > (write.outcome === 'refused' ? 0 : 1);
    });
    expect(wrong).toEqual([]);
    const known = new Set(ledger.writes.map((write) => keyOf(write.teamId, write.unique)));
    expect([...created.keys()].filter((key) => !known.has(key))).toEqual([]);
  });

  test('acknowledged resources have the returned id and the last requested state', async () => {
    const { rows } = await found();
    const wrong = ledger.writes.filter((write) => {
      if (write.outcome !== 'done') return false;
      const row = rows.get(keyOf(write.teamId, write.id ?? ''));
      return (
        stateOf(write) !== (row ? row.state : 'removed') ||
        (row !== undefined && row.unique_text !== null && row.unique_text !== write.unique)
      );
    });
    expect(wrong).toEqual([]);
  });

  test('each Idempotency-Key acted once and is kept with its result', async () => {
    const records = await rowsOf<{ team_id: string; key: string; id: string }>(
      `select team_id, key, convert_from(body, 'UTF8')::json->>'id' as id
       from idempotency_record
       where status = 201`,
    );
    const kept = new Map(records.map((record) => [keyOf(record.team_id, record.key), record.id]));
    const keyed = ledger.writes.filter((write) => write.key !== null && write.outcome === 'done');
    expect(keyed.length).toBeGreaterThan(0);
    expect(
      keyed.filter((write) => kept.get(keyOf(write.teamId, write.key ?? '')) !== write.id),
    ).toEqual([]);
    expect(kept.size).toBe(keyed.length);
  });

  test('each write has one audit entry and its events, and there are no others', async () => {
    const { created, rows } = await found();
    const audit = await rowsOf<{ key: string; action: string }>(
      `select team_id || ' ' || target_id as key, action from audit_log`,
    );
    const events = await rowsOf<{ key: string; type: string }>(
      `select team_id || ' ' || coalesce(data->>'assignment_id', data->>'member_id') as key, type
       from event`,
    );
    const audited = (action: string) =>
      count(audit.filter((entry) => entry.action === action).map((entry) => entry.key));
    const raised = (type: string) =>
      count(events.filter((event) => event.type === type).map((event) => event.key));
    const once = (keys: Iterable<string>) => new Map([...keys].map((key) => [key, 1]));
    const kinds = { member: new Set<string>(), assignment: new Set<string>() };
    const gone = { member: new Set<string>(), assignment: new Set<string>() };
    const done = new Set<string>();
    for (const write of ledger.writes) {
      for (const id of created.get(keyOf(write.teamId, write.unique)) ?? []) {
        const key = keyOf(write.teamId, id);
        kinds[write.kind].add(key);
        if (write.removed) gone[write.kind].add(key);
        if (write.completed || rows.get(key)?.state === 'done') done.add(key);
      }
    }
    for (const [found, expected] of [
      [audited('member.invited'), kinds.member],
      [raised('member.joined'), kinds.member],
      [audited('assignment.created'), kinds.assignment],
      [raised('assignment.created'), kinds.assignment],
      [audited('member.removed'), gone.member],
      [raised('member.removed'), gone.member],
      [audited('assignment.deleted'), gone.assignment],
      [raised('assignment.completed'), done],
    ] as const)
      expect(differences(found, once(expected))).toEqual([]);
    // A change that was requested again because its outcome was unknown may have two entries, but
    // it must have at least one.
    expect([...audited('assignment.updated').keys()].toSorted()).toEqual([...done].toSorted());
    const promoted = ledger.writes
      .filter((write) => write.promoted)
      .map((write) => keyOf(write.teamId, write.id ?? ''));
    expect(differences(audited('member.role_changed'), once(promoted))).toEqual([]);
    const actions = new Set(audit.map((entry) => entry.action));
    expect(
      [...actions].filter(
        (action) =>
          !/^(member\.(invited|removed|role_changed)|assignment\.(created|updated|deleted))$/.test(
            action,
          ),
      ),
    ).toEqual([]);
  });

  test('every invited member got the mail', async () => {
    const folder = join(postgres.folder, 'mail');
    const mails = await Promise.all(
      (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
    );
    const mailed = new Set(mails.flatMap((mail) => /^To: (\S+)/m.exec(mail)?.[1] ?? []));
    const invited = await rowsOf<{ email: string }>(
      `select email from member where status = 'invited'`,
    );
    expect(invited.filter(({ email }) => !mailed.has(email))).toEqual([]);
  });

  test('killed processes left no locked job and no session', async () => {
    const locked = await rowsOf(
      `select id, task_identifier, locked_by, locked_at
       from graphile_worker.jobs
       where locked_at < now() - interval '30 seconds'`,
    );
    expect(locked).toEqual([]);
    // Those that live are idle for a moment before their COMMIT.
    const left = await rowsOf(
      `select *
       from pg_stat_activity
       where state like 'idle in transaction%' and state_change < now() - interval '5 seconds'`,
    );
    expect(left).toEqual([]);
  });

  test('no process ended by itself', () => {
    expect(fleet.died).toEqual([]);
  });

  test('no process logged an error except that the database was down', () => {
    const faults = new Set(fleet.output().split('\n').flatMap(faultIn));
    expect([...faults].filter((fault) => !DATABASE_AWAY.test(fault))).toEqual([]);
  });

  test('every process ends on SIGTERM', async () => {
    const exits = await fleet.stop();
    expect(exits).toEqual(Array.from({ length: 4 }, () => ({ code: 0, signal: null })));
  });
});

interface FoundRow {
  readonly team_id: string;
  readonly id: string;
  /** null for an invitation that ended: its address goes with it. */
  readonly unique_text: string | null;
  readonly state: string;
}

/**
 * Returns what the clients created: `rows` by id, and in `created` the ids by their unique text.
 * Deleted assignments are found by their event, and ended invitations by the id that the client
 * was told.
 */
async function found(): Promise<{ rows: Map<string, FoundRow>; created: Map<string, string[]> }> {
  const list = await rowsOf<FoundRow>(
    `select team_id, id, email as unique_text,
       case when status = 'ended' then 'removed' else role end as state
     from member
     where email is null or email like '%@chaos.test'
     union all
     select team_id, id, title, status from assignment`,
  );
  const born = await rowsOf<FoundRow>(
    `select team_id, data->>'assignment_id' as id, data->>'title' as unique_text, '' as state
     from event
     where type = 'assignment.created'`,
  );
  const created = new Map<string, string[]>();
  const told = new Map(ledger.writes.map((write) => [keyOf(write.teamId, write.id ?? ''), write]));
  for (const { team_id: teamId, id, unique_text: stored } of [...list, ...born]) {
    const text = stored ?? told.get(keyOf(teamId, id))?.unique ?? `nobody was told of ${id}`;
    const ids = created.get(keyOf(teamId, text)) ?? [];
    if (!ids.includes(id)) created.set(keyOf(teamId, text), [...ids, id]);
  }
  return { rows: new Map(list.map((row) => [keyOf(row.team_id, row.id), row])), created };
}

function stateOf({ kind, removed, promoted, completed }: Write): string {
  if (removed) return 'removed';
  if (kind === 'member') return promoted ? 'admin' : 'member';
  return completed ? 'done' : 'open';
}

/**
 * Returns the message of a log line at level error (50) or above. Lines that are not JSON come from
 * graphile-worker, which calls `console.trace` when a connection breaks.
 */
function faultIn(line: string): string[] {
  if (!line.startsWith('{"level"')) return [];
  const { level, msg, err } = JSON.parse(line) as {
    level: number;
    msg: string;
    err?: { code?: string; message: string };
  };
  return level >= 50 ? [`${msg} ${err?.code ?? ''} ${err?.message ?? ''}`.trim()] : [];
}

function differences(
  found: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): string[] {
  const keys = new Set([...found.keys(), ...expected.keys()]);
  return [...keys].flatMap((key) => {
    const [is, shouldBe] = [found.get(key) ?? 0, expected.get(key) ?? 0];
    return is === shouldBe ? [] : [`${key}: ${is} instead of ${shouldBe}`];
  });
}

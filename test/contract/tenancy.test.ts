// Every statement of the service keeps to one team (see checks/tenancy.ts), or is listed here with
// the reason why it may touch all teams.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { SLOTS } from '../../src/features/requests/rules.ts';
import { RETENTIONS } from '../../src/features/retention/rules.ts';
import { namesItsColumns } from '../checks/columns.ts';
import { readUnlocked } from '../checks/sql/lost-updates.ts';
import { namesOfStatements, otherWays, type parseSource } from '../checks/sql/sources.ts';
import { keptColumns } from '../checks/sql/upserts.ts';
import {
  checkTenancy,
  keepsToOneTeam,
  loadParser,
  readFunctionBody,
  type Tenancy,
} from '../checks/tenancy.ts';
import { createTestDatabase } from '../support/database.ts';
import { shardTextOf } from '../support/shard-texts.ts';
import { loadStatements, readSources, ROOT } from '../support/statement-sources.ts';
import { serviceStatements } from '../support/statements.ts';

interface Exception {
  readonly names: readonly string[];
  readonly why: string;
  /** Why its tables may even be of different teams. */
  readonly apart?: string;
}

const OVER_ALL_TEAMS: readonly Exception[] = [
  {
    names: ['authenticate_api_keys()'],
    why: 'requests of many teams are authenticated at once, each by its own key',
  },
  {
    names: [
      'webhooks.findOldestEvent',
      'webhooks.takeEvents',
      'webhooks.insertDeliveries',
      'webhooks.holdEvents',
    ],
    why: 'the fan-out takes a batch of events, whosever they are',
  },
  {
    names: ['places.hasUnplaced', 'places.findTeams', 'places.take', 'places.give'],
    why: 'a worker gives places to a batch of events, whosever they are',
  },
  { names: ['webhooks.markFannedOut'], why: 'the fan-out marks its batch by team and id' },
  {
    names: [
      'webhooks.findRequested',
      'webhooks.findPending',
      'webhooks.findRetrying',
      'webhooks.findNewlyDue',
      'webhooks.findActivated',
      'webhooks.oldestDue',
      'metrics.retries',
      'webhooks.findTeamsOfEvents',
      'webhooks.findTeamsOfWaitingEvents',
    ],
    why: 'a worker looks for what waits, whosever it is',
  },
  {
    names: ['webhooks.findWork'],
    why: 'a worker looks for shards of a distributed database with something to do',
    apart: 'each answer is whether there is anything',
  },
  {
    names: ['webhooks.claimRequested', 'webhooks.claimPending', 'webhooks.claimRetrying'],
    why: 'a worker claims deliveries of many teams in one round trip',
  },
  {
    names: [
      'webhooks.release',
      'webhooks.releaseClaims',
      'webhooks.forgetEvents',
      'webhooks.findTeamsOfClaims',
    ],
    why: 'a worker lets go what it or a dead worker has claimed, whosever it is',
  },
  {
    names: ['webhooks.findDead'],
    why: 'a worker looks for what dead workers had claimed, whosever it is',
    apart:
      'the workers are looked up in all claims; what is written is found by the number of a worker',
  },
  {
    names: ['webhooks.record', 'webhooks.findLocked', 'webhooks.recordEndpoints'],
    why: 'results of many teams are written in batches, by team and id',
  },
  {
    names: ['webhooks.findSilent'],
    why: 'each minute, for all endpoints that have failed for long',
  },
  {
    names: ['metrics.pendingJobs'],
    why: 'jobs of all teams that wait, for the operator',
  },
  {
    names: ['metrics.backlog'],
    why: 'figures about the whole service for its operator',
    apart: 'each figure is a count or an age of its own',
  },
  {
    names: ['jobs.move', 'jobs.findPending', 'jobs.take'],
    why: 'a worker hands over new jobs, whosever they are',
  },
  {
    names: ['requests.add'],
    why: 'a process writes what it has collected of the calls of all teams',
  },
  {
    names: [
      'requests.findOld',
      ...Array.from({ length: SLOTS }, (_, slot) => `requests.empty.${slot}`),
    ],
    why: 'a day goes at once, whosever its calls are',
  },
  { names: ['requests.removeOld'], why: 'old calls of a page of teams go' },
  { names: ['teams.page'], why: 'work for all teams takes them page by page' },
  { names: ['usage.add'], why: 'a process adds what it has counted for the keys of all teams' },
  { names: ['erasure.list'], why: 'looks for teams that are being erased' },
  {
    names: ['members.listExpired'],
    why: 'each hour, for all invitations that nobody has accepted',
  },
  { names: ['alerts.listDue'], why: 'looks for subscriptions that are due, whosever they are' },
  {
    names: ['crm.findDueSyncs.all'],
    why: 'looks for connections that are due, whosever they are',
  },
  {
    names: [
      'idempotency',
      'deliveries',
      'events',
      'usage',
      'resends',
      'invitation_resends',
      'spent_tokens',
      'audit',
      'sandbox_mails',
      'sandbox_usage',
      'sandbox_audit',
      'teamCounters',
      ...RETENTIONS.map(({ name }) => `teams.${name}`),
      'teams.counted',
    ].map((kind) => `retention.${kind}`),
    why: 'what is old goes, whosever it is',
  },
  {
    names: ['read', 'write'].flatMap((step) =>
      [
        'webhook_endpoint.secret_encrypted',
        'webhook_endpoint.earlier_secrets_encrypted',
        'idempotency_record.body',
        'idempotency_record.fingerprint',
        'crm_connection.credentials_encrypted',
      ].map((column) => `rotation.${step}.${column}`),
    ),
    why: 'the operator rotates APP_SECRET for all teams',
  },
  {
    names: ['announcements.list', 'announcements.count'],
    why: 'the operator writes to the admins of all teams',
  },
  {
    names: ['events.lockKept', 'events.releaseKept'],
    why: 'by team and id, for deleted deliveries of whichever teams',
  },
  {
    names: [
      'trace.findRequests',
      'trace.findAudit',
      'trace.findEvents',
      'trace.findDeliveries',
      'trace.findEndpoints',
      'trace.findKeys',
      'trace.findConnections',
      'trace.findTeamOfPrefix',
    ],
    why: 'the operator looks an id up, whosever it is, in pages of teams',
  },
  {
    names: ['authenticate_api_key()'],
    why: 'looks up a key by its prefix to find out whose it is',
  },
];

const THE_ENDPOINT_IS_HELD =
  'it writes rows of webhook endpoints that its transaction holds, and whoever locks rows of an ' +
  'endpoint for long locks the endpoint before';
const ONLY_KEPT_EVENTS =
  'only who deletes the last deliveries of old events locks these, for two statements';
const BY_THE_OPERATOR = "the operator's command may wait";

/**
 * The statements over all teams that do not skip what others have locked, and why they wait for no
 * long transaction of one team. If they did, all teams would.
 */
const WAITING: Readonly<Record<string, string>> = {
  'webhooks.insertDeliveries': THE_ENDPOINT_IS_HELD,
  'webhooks.holdEvents': 'its rows are new, and have no foreign key',
  'events.lockKept': ONLY_KEPT_EVENTS,
  'events.releaseKept': ONLY_KEPT_EVENTS,
  'webhooks.markFannedOut': 'its transaction has locked the events when it took them',
  'places.give': 'its transaction has locked the events when it took them',
  'webhooks.record': THE_ENDPOINT_IS_HELD,
  'webhooks.recordEndpoints': THE_ENDPOINT_IS_HELD,
  'requests.add': 'its rows are new, and have no foreign key',
  'rotation.write.webhook_endpoint.secret_encrypted': BY_THE_OPERATOR,
  'rotation.write.webhook_endpoint.earlier_secrets_encrypted': BY_THE_OPERATOR,
  'rotation.write.idempotency_record.body': BY_THE_OPERATOR,
  'rotation.write.idempotency_record.fingerprint': BY_THE_OPERATOR,
  'rotation.write.crm_connection.credentials_encrypted': BY_THE_OPERATOR,
};

const BY_THE_SEED = "texts of declared statements, in the seed's transaction";

/** The files that may send SQL without `statement`. */
const OTHER_SQL: Readonly<Record<string, readonly [calls: number, why: string]>> = {
  'src/db/connections/pool.ts': [2, 'limits the time of statements'],
  'src/db/connections/poolers.ts': [1, 'asks which process serves the connection'],
  'src/db/wire/primary-client.ts': [1, 'asks whether the node is in recovery'],
  'src/db/wire/query-group.ts': [1, 'sends declared statements'],
  'src/db/connections/listener.ts': [1, 'listens to the channels of wake-ups'],
  'src/doctor/session.ts': [5, 'asks for the operator, and cannot write'],
  'src/embedded-postgres/embedded-postgres.ts': [1, 'asks a server which folder it serves'],
  'src/db/citus/distribution.ts': [18, 'distributes the tables, on Citus'],
  'src/db/operator/migrate.ts': [18, 'migrations, their ledger and their limits'],
  'src/db/operator/concurrent-index.ts': [3, 'an index of a migration, beside its writers'],
  'src/db/citus/parts.ts': [2, 'declared statements, in the text for a shard'],
  'src/db/parts.ts': [1, 'declared statements'],
  'src/db/statement.ts': [3, 'declared statements'],
  'src/db/connections/session-lock.ts': [
    3,
    'settings, an advisory lock and a sign of life of a session of its own',
  ],
  'src/delivery/citus/shard-store.ts': [3, 'declared statements, in the text for a shard'],
  'src/features/analytics/rollups-store.ts': [1, BY_THE_SEED],
  'src/runtime/database-identity.ts': [1, 'names the database'],
  'src/seed/demo-past-store.ts': [4, 'its COMMIT, and what the demo team has'],
  'src/seed/insert.ts': [3, 'rows of a seed file that has passed its checks, and statistics'],
  'src/seed/known.ts': [2, 'which ids of a seed file exist, teams among them'],
  'src/seed/load.ts': [5, 'its COMMIT, the teams of a seed file, VACUUM and ANALYZE'],
  'src/seed/remove-store.ts': [4, BY_THE_SEED],
  'src/seed/seed-client.ts': [1, 'the beginning of its transaction'],
  'src/seed/team-rows.ts': [6, 'the rows of the teams of a seed file'],
  'src/start.ts': [1, 'whether a database is empty or has the demo team'],
  'src/trpc/endpoint.ts': [1, 'no SQL: a tRPC procedure also has a `query`'],
};

/** What a distributed database knows about itself, as far as statements ask for it. */
const TABLES_OF_CITUS: Readonly<Record<string, readonly string[]>> = {
  pg_dist_shard: ['logicalrelid', 'shardid', 'shardstorage', 'shardminvalue', 'shardmaxvalue'],
  pg_dist_placement: ['placementid', 'shardid', 'shardstate', 'shardlength', 'groupid'],
  pg_dist_local_group: ['groupid'],
  pg_dist_node: ['nodeid', 'groupid', 'nodename', 'nodeport', 'noderole'],
};

const exceptions = new Map(
  OVER_ALL_TEAMS.flatMap((one) => one.names.map((name) => [name, one] as const)),
);
let sources: ReturnType<typeof parseSource>[];
let tables: Map<string, readonly string[]>;
/** What each statement, and each query of a database function, touches. */
let verdicts: { name: string; tenancy: Tenancy }[];

beforeAll(async () => {
  await loadParser();
  sources = await readSources();
  await loadStatements(sources);
  const functions = await readDatabase();
  verdicts = [
    ...serviceStatements().map(({ name, text }) => ({
      name,
      tenancy: checkTenancy(text, tables),
    })),
    ...functions.flatMap(({ name, definition }) => {
      const { queries, parameters } = readFunctionBody(definition);
      return queries.map((query) => ({
        name: `${name}()`,
        tenancy: checkTenancy(query, tables, parameters),
      }));
    }),
  ];
});

describe('a statement', () => {
  it('binds every tenant table that it touches to one team, or is listed', () => {
    const failing = verdicts.filter(
      ({ name, tenancy }) => !keepsToOneTeam(tenancy) && !exceptions.has(name),
    );
    expect(failing).toEqual([]);
  });

  it('for all teams joins only rows of the same team', () => {
    const failing = verdicts.filter(
      ({ name, tenancy }) => tenancy.groups.length > 1 && !exceptions.get(name)?.apart,
    );
    expect(failing).toEqual([]);
  });

  it('for many teams of a shard names them at every table', () => {
    const bound = serviceStatements().flatMap((what) => {
      const shardText = shardTextOf(what);
      return shardText ? [{ name: what.name, text: shardText.text }] : [];
    });
    expect(bound).toHaveLength(34);
    const failing = bound.filter(({ text }) => {
      const ofOne = text.replaceAll(/(?: collate "C")? = any \((\$\d+)::text\[\]\)/g, ' = $1');
      return !keepsToOneTeam(checkTenancy(ofOne, tables));
    });
    expect(failing.map(({ name }) => name)).toEqual([]);
  });

  it('is only listed if it must be', () => {
    const unbound = new Set(
      verdicts.filter(({ tenancy }) => !keepsToOneTeam(tenancy)).map(({ name }) => name),
    );
    const apart = new Set(
      verdicts.filter(({ tenancy }) => tenancy.groups.length > 1).map(({ name }) => name),
    );
    expect([...exceptions.keys()].filter((name) => !unbound.has(name))).toEqual([]);
    expect([...exceptions].filter(([name, one]) => one.apart && !apart.has(name))).toEqual([]);
  });

  it('without a team is refused for every tenant table', () => {
    const passing = ['team', ...TENANT_TABLE_NAMES].filter((table) =>
      keepsToOneTeam(checkTenancy(`delete from ${table}`, tables)),
    );
    expect(passing).toEqual([]);
  });
});

describe('the result of a statement', () => {
  it('has columns that the statement names, not those that a table or function has today', () => {
    const texts = serviceStatements().flatMap((what) => {
      const shardText = shardTextOf(what);
      const own = shardText ? [{ name: `${what.name}.shard`, text: shardText.text }] : [];
      return [what, ...own];
    });
    const failing = texts.filter(({ text }) => !namesItsColumns(text));
    expect(failing.map(({ name }) => name)).toEqual([]);
  });

  it.each([
    ['select * from team', false],
    ['select t.* from team t', false],
    ['select (f($1)).*', false],
    ['select id, f.* from team, f(id)', false],
    ['table team', false],
    ['select id from team union all select * from team', false],
    ['with t as (select id from team) select * from t', false],
    ['select * from (select id from team) t', false],
    ['insert into team (id) values ($1) returning *', false],
    ['update team t set name = $1 returning t.*', false],
    ['delete from team returning *', false],
    ['select id, (select count(*) from team) as n from (select * from team) t', true],
    ['with t as (delete from team returning *) select id from t', true],
    ['update team set name = $1 returning id, name', true],
    ['select exists (select * from team) as any', true],
  ])('%s: %s', (sql, isNamed) => {
    expect(namesItsColumns(sql)).toBe(isNamed);
  });
});

describe('a statement over all teams', () => {
  it('skips what others have locked, or is listed', () => {
    const locking = /\bfor (?:no key )?update\b|\bfor (?:key )?share\b/gi;
    const writing = /\binsert into\b|\bupdate \w+|\bdelete from\b/i;
    const mayWait = (text: string): boolean => {
      const locks = text.match(locking)?.length ?? 0;
      const skips = text.match(/skip locked/gi)?.length ?? 0;
      return skips < locks || (locks === 0 && writing.test(text));
    };
    const found = serviceStatements().filter(
      ({ name, text }) => exceptions.has(name) && mayWait(text),
    );
    expect(found.map(({ name }) => name).toSorted()).toEqual(Object.keys(WAITING).toSorted());
  });
});

/** Statements that read what they update without a lock, with the table, and why. */
const UNLOCKED: Readonly<Record<string, string>> = {
  'events.releaseKept event': 'the statement before has locked the events',
  'places.give event': 'the statement before has taken an advisory lock of their teams',
  'usage.add api_key': 'the first look only asks whether the key is there',
  'webhooks.releaseClaims webhook_delivery': 'the first look only finds places, the second locks',
};

describe('a statement that updates', () => {
  it('locks what it reads of the same table, or is listed', () => {
    const found = serviceStatements().flatMap((what) =>
      [what.text, shardTextOf(what)?.text ?? what.text]
        .flatMap(readUnlocked)
        .map((table) => `${what.name} ${table}`),
    );
    expect([...new Set(found)].toSorted()).toEqual(Object.keys(UNLOCKED).toSorted());
  });

  it.each([
    ['update a set b = c from (select c from a where d) n', ['a']],
    ['update a set b = c from (select c from a where d for no key update) n', []],
    ['update a set b = 1 from (select x.c from a x join d on true for update of d) n', ['a']],
    ['update a set b = 1 from (select x.c from a x join d on true for update of x) n', []],
    ['with n as (select max(b) from a) update a set b = n.max from n', ['a']],
    ['update a set b = b + 1 where c = 1', []],
    ['update a set b = (select max(b) from d) where c = 1', []],
  ])('%s: %j', (text, found) => {
    expect(readUnlocked(text)).toEqual(found);
  });
});

/** What a row keeps that an INSERT has found, by the beginning of the statement's name, and why. */
const KEPT: readonly { readonly name: string; readonly columns: RegExp; readonly why: string }[] = [
  { name: 'evaluations.save', columns: /^user_id$/, why: 'a training is always of one person' },
  { name: 'crm.upsertDeals', columns: /^(?:id|created_at)$/, why: 'the deal is known since then' },
  {
    name: 'crm.upsertObjections',
    columns: /^(?:id|connection_id|created_at)$/,
    why: 'the objection is known since then, and its deal has one connection',
  },
  {
    name: 'alerts.set',
    columns: /^next_check_at$/,
    why: 'a change of kinds brings no mail sooner',
  },
  { name: 'analytics.addToWeek.', columns: /^day\d_(?:sum|count)$/, why: 'each adds to one day' },
];

describe('a statement that inserts or updates', () => {
  it('leaves nothing of a row that it finds, or is listed', () => {
    const found = serviceStatements().flatMap(({ name, text }) =>
      keptColumns(text)
        .filter(
          (column) => !KEPT.some((one) => name.startsWith(one.name) && one.columns.test(column)),
        )
        .map((column) => `${name} ${column}`),
    );
    expect(found).toEqual([]);
  });

  it.each([
    ['insert into a (b, c, d) values (1) on conflict (b) do update set c = excluded.c', ['d']],
    ['insert into a (b, c) values (1) on conflict (b) do update set c = excluded.c', []],
    ['insert into a (b, c) values (1) on conflict (b) do nothing', []],
    [
      'with n as (insert into a (b, c) values (1) on conflict (b) do update set d = 1) select',
      ['c'],
    ],
  ])('%s: %j', (text, kept) => {
    expect(keptColumns(text)).toEqual(kept);
  });
});

/** Statements that notify. NOTIFY takes a lock over the whole database until the commit. */
const NOTIFYING: Readonly<Record<string, string>> = {
  'wakeUps.notify': 'tells workers about many commits, outside every transaction',
  'jobs.move': 'a worker hands over many jobs at once',
  'jobs.add': 'a worker hands over many jobs at once',
  'crm.addSyncs': 'a worker schedules synchronizations, outside every transaction',
  'webhooks.resend.addJob': 'a worker adds the job of its next batch',
};

describe('a change', () => {
  it('never notifies in its transaction, so that commits do not wait for each other', async () => {
    const notifies = /notify|add_jobs?\b/i;
    const found = serviceStatements().filter(({ text }) => notifies.test(text));
    expect(found.map(({ name }) => name).toSorted()).toEqual(Object.keys(NOTIFYING).toSorted());
    const functions = await readDatabase();
    expect(functions.filter(({ definition }) => notifies.test(definition))).toEqual([]);
  });
});

describe('the source', () => {
  it('declares every statement when its module loads, so that none is missing here', () => {
    const names = serviceStatements().map(({ name }) => name);
    const written = sources.flatMap(namesOfStatements);
    expect(written.filter((start) => !names.some((name) => name.startsWith(start)))).toEqual([]);
  });

  it('declares none in an entry, because loading an entry would start it', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: object;
    };
    const programs = Object.values(scripts).flatMap(
      (script: string) => /src\/(start|api|worker)\.ts/.exec(script)?.[0] ?? [],
    );
    expect(programs).toHaveLength(3);
    const declaring = sources.filter((source) => namesOfStatements(source).length > 0);
    expect(declaring.filter(({ fileName }) => programs.includes(fileName))).toEqual([]);
  });

  it('sends undeclared SQL only in the listed files', () => {
    // What runs in browsers reaches no database: its `query` calls the service.
    const found = sources
      .filter(({ fileName }) => !fileName.startsWith('src/admin-ui/'))
      .map((source) => [source.fileName, otherWays(source).length] as const);
    const listed = Object.entries(OTHER_SQL).map(([file, [calls]]) => [file, calls]);
    expect(Object.fromEntries(found.filter(([, calls]) => calls > 0))).toEqual(
      Object.fromEntries(listed),
    );
  });
});

/** Reads all tables, and the views of other schemas, and returns our functions. */
async function readDatabase(): Promise<{ name: string; definition: string }[]> {
  const database = await createTestDatabase();
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; columns: string[] }>(
      `select case when c.relnamespace in ('public'::regnamespace, 'pg_catalog'::regnamespace)
           then c.relname else c.relnamespace::regnamespace || '.' || c.relname end as name,
         array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relkind in ('r', 'p') or c.relkind = 'v' and c.relnamespace <> 'public'::regnamespace
       group by c.oid`,
    );
    // A trigger sees the rows that a statement has changed as a table with the same columns.
    const transitions = await client.query<{ name: string; relation: string }>(
      `select tgoldtable as name, tgrelid::regclass::text as relation
       from pg_trigger
       where tgoldtable is not null`,
    );
    tables = new Map(rows.map(({ name, columns }) => [name, columns]));
    // The table of Citus from which distribute_by_team learns where it is.
    tables.set('pg_dist_partition', ['logicalrelid']);
    for (const { name, relation } of transitions.rows) tables.set(name, tables.get(relation) ?? []);
    for (const [name, columns] of Object.entries(TABLES_OF_CITUS)) tables.set(name, columns);
    const functions = await client.query<{ name: string; definition: string }>(
      `select proname as name, pg_get_functiondef(oid) as definition from pg_proc
       where pronamespace = 'public'::regnamespace`,
    );
    return functions.rows;
  } finally {
    await client.end();
    await database.drop();
  }
}

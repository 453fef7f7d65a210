// Every declared statement on Citus: how it is planned. What a request runs is planned for one
// shard; the statements that reach all shards are listed.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createDistributed,
  runSql,
  startCitus,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { READS_SHARD, shardTextOf } from '../support/shard-texts.ts';
import { serviceStatements } from '../support/statements.ts';

const skipped = whyNoCitus();
if (skipped !== null) console.warn(`Citus is not tested: ${skipped}`);
const root = join(import.meta.dirname, '../..');

/** Where a statement's tables are read and written. */
type Kind = 'one shard' | 'all shards' | 'coordinator' | 'refused';

/** A value of each type of a parameter; every text is the team. */
const VALUES: Readonly<Record<string, string>> = {
  text: `'team_a'`,
  'text[]': `array['team_a']`,
  integer: '1',
  'integer[]': 'array[1]',
  bigint: '1',
  'bigint[]': 'array[1]',
  'double precision': '1',
  boolean: 'true',
  'boolean[]': 'array[true]',
  json: `'[]'`,
  jsonb: `'[]'`,
  bytea: `'\\x00'`,
  'bytea[]': `array['\\x00'::bytea]`,
  date: `'2026-01-01'`,
  'date[]': `array['2026-01-01'::date]`,
  'inet[]': `array['10.0.0.1'::inet]`,
  'timestamp with time zone': `'2026-01-01Z'`,
  'timestamp with time zone[]': `array['2026-01-01Z'::timestamptz]`,
};

const RETENTIONS = [
  'idempotency',
  'deliveries',
  'events',
  'usage',
  'resends',
  'invitation_resends',
  'spent_tokens',
  'sandbox_mails',
  'audit',
  'sandbox_usage',
  'sandbox_audit',
];
const ENCRYPTED = [
  'webhook_endpoint.secret_encrypted',
  'webhook_endpoint.earlier_secrets_encrypted',
  'idempotency_record.body',
  'idempotency_record.fingerprint',
  'crm_connection.credentials_encrypted',
];

/** What Citus refuses: the texts for plain Postgres where other statements do the same by shard. */
const REFUSED = ['jobs.move', 'retention.counters'];

/** Reads of all teams, in the background or for the operator. */
const ALL_SHARDS = [
  'alerts.listDue',
  'announcements.count',
  'announcements.list',
  'crm.findDueSyncs.all',
  'erasure.list',
  'members.listExpired',
  'metrics.backlog',
  'metrics.pendingJobs',
  'jobs.findPending',
  'requests.findOld',
  'retention.countersInShards',
  'webhooks.findSilent',
  'webhooks.findOldestEvent',
  'retention.teams.counted',
  'trace.countOlderEvents',
  'teams.page',
  ...RETENTIONS.map((kind) => `retention.teams.${kind}`),
  ...ENCRYPTED.map((column) => `rotation.read.${column}`),
];

/** The tables that the reset of a sandbox fills. */
const SCENARIO = [
  'assignment',
  'crm_connection',
  'crm_deal',
  'crm_objection',
  'evaluation',
  'member',
  'member_block',
  'person',
  'team_block',
  'team_catalog_entry',
  'training',
  'training_case',
];

/**
 * What the coordinator runs: functions, whose statements are routed each; its own tables; values
 * that it gathers and then inserts into the shard of the team.
 */
const COORDINATOR = [
  'appSecret.read',
  'appSecret.replace',
  'appSecret.writeFirst',
  'catalog.saveEntries',
  'catalog.saveRules',
  'catalog.saveTeamEntries',
  'clock.read',
  'crm.addSyncs',
  'crm.upsertDeals',
  'crm.upsertObjections',
  'erasure.removeJobs',
  'http.authenticate',
  'http.authenticateCaller',
  'http.authenticateBatch',
  'idempotency.begin',
  'jobs.add',
  'jobs.bringCronBack',
  'jobs.findDead',
  'jobs.findOwn',
  'jobs.unlock',
  'metrics.jobs',
  'migrations.countApplied',
  'obstacles.readOnly',
  'obstacles.spill',
  'obstacles.useLittleMemory',
  'pool.limit',
  'poolers.findOwnName',
  'requests.add',
  ...Array.from({ length: 10 }, (_, slot) => `requests.empty.${slot}`),
  'requests.waitBriefly',
  // The job runner's table is not distributed.
  'retention.givenUpJobs',
  'rollups.insertPeople',
  'rollups.insertWeeks',
  // A reset is no operation of a live team. Its rows come from a value of the request.
  ...SCENARIO.map((table) => `sandbox.insert.${table}`),
  'sandbox.analyze.evaluation',
  'sandbox.analyze.training',
  'search.inOrder',
  'search.merged',
  'shards.isCitus',
  'shards.isCoordinator',
  'shards.isDistributed',
  'shards.list',
  'shards.ofTeams',
  'team.block',
  'team.blockForMember',
  'team.releaseEntries',
  'teamNodes.find',
  'trace.begin',
  'trace.listJobs',
  'trace.listWorkersOfNodes',
  'transactions.begin',
  'transactions.commit',
  'wakeUps.notify',
  'webhooks.analyzeDeliveries',
  'webhooks.analyzeEvents',
  'webhooks.analyzeInHand',
  'webhooks.findGrownTables',
  'webhooks.holdEvents',
  'webhooks.insertDeliveries',
  'webhooks.noWaitForDisk',
  'webhooks.resend.addJob',
  'sandbox.waitAsUsual',
  'sandbox.waitForReset',
  'webhooks.waitForNobody',
];

describe.skipIf(skipped !== null)(`statements on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let client: Client;
  const kinds = new Map<string, Kind>();
  const refusals: string[] = [];

  beforeAll(async () => {
    cluster = await startCitus();
    const url = await createDistributed(cluster, 'planned');
    await runSql(url, `insert into team (id, name, created_at) values ('team_a', 'A', now())`);
    await importStatements();
    client = new Client({ connectionString: url });
    await client.connect();
    for (const what of serviceStatements()) {
      const { text } = shardTextOf(what) ?? what;
      if (!READS_SHARD.has(what.name)) kinds.set(what.name, await kindOf(what.name, text));
    }
  });
  afterAll(async () => {
    await client?.end();
    await cluster?.stop();
  });

  async function kindOf(name: string, text: string): Promise<Kind> {
    let list = '';
    try {
      // Settings, notifications and TRUNCATE have no plan.
      if (!/^\s*(with|select|insert|update|delete)\b/i.test(text)) return 'coordinator';
      const values = await prepare(text);
      list = values.length > 0 ? `(${values.join(', ')})` : '';
      const plan = await client.query<{ 'QUERY PLAN': string }>(
        `explain (costs off) execute planned${list}`,
      );
      const kind = readPlan(plan.rows.map((row) => row['QUERY PLAN']).join('\n'));
      // What comes from all shards may go through a result of its own, which EXPLAIN does not read.
      if (kind === 'all shards') await tryIt(list);
      return kind;
    } catch (error) {
      if (/could not create distributed plan/.test(String(error)) && (await runs(list)))
        return 'coordinator';
      refusals.push(`${name}: ${(error as Error).message}`);
      return 'refused';
    } finally {
      await client.query('deallocate all');
    }
  }

  /** EXPLAIN cannot show an insertion of what the coordinator has gathered, so it is tried. */
  async function runs(list: string): Promise<boolean> {
    return tryIt(list).then(
      () => true,
      // A constraint is no refusal of Citus.
      (error: { code?: string }) => String(error.code).startsWith('23'),
    );
  }

  async function tryIt(list: string): Promise<void> {
    await client.query('begin');
    try {
      await client.query(`execute planned${list}`);
    } finally {
      await client.query('rollback');
    }
  }

  /** Prepares the statement and returns values of its parameters, as SQL. */
  async function prepare(text: string): Promise<string[]> {
    await client.query(`prepare planned as ${text}`);
    const { rows } = await client.query<{ types: string[] }>(
      `select parameter_types::text[] as types from pg_prepared_statements where name = 'planned'`,
    );
    const ofKeys = /\(\$2::text\[\]\)\[\d\]::(\w+)/g.exec(text)?.[1];
    const types = rows[0]?.types ?? [];
    return types.map((type) => {
      if (type === 'text[]' && ofKeys === 'date') return `array['2026-01-01', 'x']`;
      if (type === 'text[]' && ofKeys === 'int') return `array['1', 'x']`;
      return VALUES[type] ?? 'null';
    });
  }

  const named = (kind: Kind): string[] =>
    [...kinds]
      .filter(([, one]) => one === kind)
      .map(([name]) => name)
      .toSorted();

  test('are refused only where a shard has another text, or the work is for the operator', () => {
    const known = new Set(REFUSED);
    expect(refusals.filter((refusal) => !known.has(refusal.split(': ')[0] ?? ''))).toEqual([]);
    expect(named('refused')).toEqual([...REFUSED].toSorted());
  });

  test('reach all shards only where they work for all teams', () => {
    expect(named('all shards')).toEqual([...ALL_SHARDS].toSorted());
  });

  test('of requests are planned for one shard, or gathered from values of the request', () => {
    expect(named('coordinator')).toEqual([...COORDINATOR].toSorted());
    expect(named('one shard').length).toBeGreaterThan(300);
  });
});

function readPlan(plan: string): Kind {
  const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count));
  if (tasks.length === 0) return 'coordinator';
  return tasks.every((count) => count <= 1) ? 'one shard' : 'all shards';
}

/** Loads all modules that declare statements. */
async function importStatements(): Promise<void> {
  const names = await readdir(join(root, 'src'), { recursive: true });
  for (const name of names.filter((file) =>
    /^(db|delivery|features|http|seed|trace)\/.*\.ts$/.test(file),
  )) {
    if (name.startsWith('db/generated')) continue;
    const text = await readFile(join(root, 'src', name), 'utf8');
    if (/\bstatement[<(]|\bstatementsByFilters[<(]/.test(text))
      await import(join(root, 'src', name));
  }
}

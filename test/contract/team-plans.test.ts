// A session keeps one plan of a statement for all teams. Where most teams are small, to read all
// rows of the team seems cheaper than to look a few of them up; of a large team that is everything.
// So no kept plan reads rows by their team alone, unless something else bounds them.
import type { Client } from 'pg';
import { expect, test } from 'vitest';
import { TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import type { PlanNode } from '../support/plans.ts';
import { loadStatements, readSources } from '../support/statement-sources.ts';
import { serviceStatements } from '../support/statements.ts';
import { addTwinRows, twinSeed } from '../support/twins.ts';
import { openTestDatabase } from '../support/wire.ts';

/** Tables that have few rows of a team: the limits of their features, or few hands, see to it. */
const SMALL = [
  'api_key',
  'catalog_release',
  'crm_connection',
  'sandbox',
  'sandbox_mail',
  'team_block',
  'team_catalog_entry',
  'webhook_endpoint',
];

const LIMITED = 'a sandbox has few rows';
const ONCE = 'a process asks once, so no plan is kept';
const IN_ORDER = 'it reads the range in its order, up to a limit';
const SORTS_MEMBERS =
  'it sorts the members if the newest rows are of people who left; not bounded for a large team';

/** What reads other rows by their team, and why it may. */
const READERS: Readonly<Record<string, string>> = {
  'analytics.readTeam': 'it counts them',
  'db.removeResponsesOfReset': LIMITED,
  'erasure.hasRows': 'they are removed by then',
  'http.listDevelopmentPeople': 'development only',
  'jobs.take': 'for shards, whose nodes plan each call',
  'members.findTarget': 'the admins, until one is found',
  'members.invitationFacts': 'it counts the seats that are used',
  'members.listByAddresses': LIMITED,
  'team.countHoldings': ONCE,
  'trace.countInHand': ONCE,
  'trace.listEndpoints': ONCE,
  'trainings.list': SORTS_MEMBERS,
  'trainings.listEvaluated': SORTS_MEMBERS,
  'trainings.listEvaluatedWithEvaluations': SORTS_MEMBERS,
  'trainings.listWithEvaluations': SORTS_MEMBERS,
  'webhooks.claimPending': IN_ORDER,
  'webhooks.claimRequested': IN_ORDER,
  'webhooks.resend.facts': 'one resend of an endpoint runs',
};

/** Columns that many rows of a team share. */
const SHARED = ['team_id', 'connection_id', 'endpoint_id', 'status', 'role'];
/** Nodes that read all of what is below them, whatever is above. */
const GREEDY = ['Aggregate', 'Bitmap Heap Scan', 'Hash', 'Materialize', 'Sort'];

interface Node extends PlanNode {
  readonly 'Index Cond'?: string;
}

/** Yields the tables that a plan reads by what many rows of a team share. */
function* tablesRead(node: Node, above: readonly Node[] = []): Generator<string> {
  const cond = node['Index Cond'] ?? '';
  const columns = [...cond.matchAll(/(\w+) (?:=|<|>|<=|>=|IS) /g)].map(([, name = '']) => name);
  const isNarrow = /ROW\(|lower\(/.test(cond) || columns.some((name) => !SHARED.includes(name));
  const isGreedy = 'Filter' in node || above.some((each) => GREEDY.includes(each['Node Type']));
  // The scan of an index for a bitmap names its table in the node above.
  const table = node['Relation Name'] ?? above.at(-1)?.['Relation Name'] ?? '';
  if (columns.includes('team_id') && !isNarrow && isGreedy)
    yield table.replace(/^day_\d$/, 'request_log');
  const below = node['Node Type'] === 'Limit' ? [] : [...above, node];
  for (const child of (node.Plans ?? []) as Node[]) yield* tablesRead(child, below);
}

const COPIES = 500;
const ROWS = 8;

/** Adds small teams. Without their keys, and with plans as for tables that are large. */
async function addSmallTeams(client: Pick<Client, 'query'>): Promise<void> {
  await client.query('set local session_replication_role = replica');
  await client.query('set local enable_seqscan = off');
  for (const table of TENANT_TABLE_NAMES) {
    const { rows } = await client.query<{ columns: string }>(
      `select string_agg(quote_ident(attname), ', ' order by attnum) as columns
       from pg_attribute
       where attrelid = $1::regclass
         and attnum > 0
         and not attisdropped
         and attgenerated = ''
         and attidentity = ''`,
      [table],
    );
    const columns = rows[0]?.columns ?? '';
    await client.query(
      `insert into ${table} (${columns})
       select ${columns.replace(/\bteam_id\b/, `'small_' || n`)}
       from (select * from ${table} where team_id = 'team_b' order by ctid limit ${ROWS}) of_one,
         generate_series(1, ${COPIES}) n`,
    );
    await client.query(`analyze ${table}`);
  }
}

/** Others are not planned, or are for Citus alone. */
const isPlanned = (text: string): boolean =>
  /^\s*(?:select|with|insert|update|delete)\b/i.test(text) &&
  !/pg_dist_|get_shard|run_command_on|citus/.test(text);

test('a plan for all teams reads no rows by their team alone', async () => {
  await loadStatements(await readSources());
  const statements = serviceStatements().filter(
    ({ name, text, isSearch }) =>
      !isSearch && isPlanned(text) && !/^(sandbox|seed|rollups)\./.test(name),
  );
  expect(statements.length).toBeGreaterThan(300);
  // Of its own: what other tests have left in a table changes what its plans cost.
  const database = await createTestDatabase();
  await loadTestSeed(database, twinSeed());
  const db = openTestDatabase({ url: database.url, poolMax: 4, statementTimeoutMs: 120_000 });
  await addTwinRows(db, 'http://127.0.0.1:9');
  const client = await db.pool.connect();
  const readers: string[] = [];
  try {
    await client.query('begin');
    await addSmallTeams(client);
    for (const { name, text } of statements) {
      const { rows } = await client.query(`explain (generic_plan, format json) ${text}`);
      const tables = [...tablesRead(rows[0]['QUERY PLAN'][0].Plan as Node)];
      if (tables.some((table) => !SMALL.includes(table))) readers.push(name);
    }
  } finally {
    client.release(true);
    await db.close();
    await database.drop();
  }
  expect(readers).toContain('analytics.readTeam');
  expect(readers.filter((name) => !(name in READERS))).toEqual([]);
});

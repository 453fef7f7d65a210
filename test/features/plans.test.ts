// How Postgres runs the lists of a big team. A list must read one index in its order and stop after
// a page. No test of the responses would notice that it scans or sorts everything; only customers
// would.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database, type Db, type Statement } from '../../src/db/client.ts';
import { listDeals, listObjections } from '../../src/features/crm/store.ts';
import {
  listEvaluatedTrainings,
  listTrainings,
  type TrainingFilters,
} from '../../src/features/trainings/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const TEAM = 'team_big';
const MIDDLE = { at: '2026-05-01T12:00:00.000Z', id: 'trn_x' };

/** A node of EXPLAIN (FORMAT JSON). */
interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

type Mode = 'generic' | 'custom';

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  const generate = {
    members: 600,
    trainings: 20_000,
    assignments: 200,
    crm_deals: 20_000,
    from: '2026-01-01',
    to: '2026-10-31',
  };
  await loadTestSeed(database, makeSeed([makeTeam('big', { generate })]));
  db = openDatabase({ url: database.url, poolMax: 1, onError: () => undefined });
  await db.pool.query('vacuum analyze');
});

afterAll(async () => {
  await db.close();
  await database.drop();
});

/** Returns the statement that a store function sends, and its values. */
async function capture(
  list: (recorder: Db) => Promise<unknown>,
): Promise<{ statement: Statement<unknown>; values: readonly unknown[] }> {
  let sent: { statement: Statement<unknown>; values: readonly unknown[] } | null = null;
  const query = (statement: Statement<unknown>, values: readonly unknown[]) => {
    sent = { statement, values };
    return Promise.resolve([]);
  };
  await list({ query } as unknown as Db);
  return sent ?? Promise.reject(new Error('the list sent no statement'));
}

/**
 * Returns the nodes of the plan with which the statement ran. `generic` means the plan that a
 * prepared statement keeps; it is made without the values.
 */
async function explain(list: (recorder: Db) => Promise<unknown>, mode: Mode): Promise<PlanNode[]> {
  const { statement, values } = await capture(list);
  const literals = values.map((value) =>
    value === null ? 'null' : `'${JSON.stringify(value).replaceAll('"', '')}'`,
  );
  await db.pool.query(`set plan_cache_mode = force_${mode}_plan`);
  await db.pool.query(`prepare explained as ${statement.text}`);
  const { rows } = await db.pool.query(
    `explain (analyze, format json) execute explained (${literals.join(', ')})`,
  );
  await db.pool.query('deallocate explained');
  return flatten(rows[0]['QUERY PLAN'][0].Plan as PlanNode);
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

const FORBIDDEN = ['Sort', 'Incremental Sort', 'Bitmap Heap Scan', 'Hash', 'Materialize', 'Gather'];

/** The rows of a page, and the few that it may skip. */
const MOST_ROWS = 60;

/**
 * Returns what is wrong with a plan that should read a page from this index, and apart from that
 * only single rows that belong to the page.
 */
function faultsOf(nodes: readonly PlanNode[], index: string): string[] {
  const faults = FORBIDDEN.filter((type) => nodes.some((node) => node['Node Type'] === type));
  if (!nodes.some((node) => node['Index Name'] === index)) faults.push(`does not use ${index}`);
  for (const node of nodes) {
    const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
    const read = rows * (node['Actual Loops'] ?? 1);
    if (read > MOST_ROWS) faults.push(`${node['Node Type']} reads ${read} rows`);
  }
  return faults;
}

const USER = 'usr_gen_0000002';

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  test.each<[string, TrainingFilters, string]>([
    ['no filter', {}, 'training_list_idx'],
    ['user_id', { user_id: USER }, 'training_user_idx'],
    ['status', { status: 'scored' }, 'training_status_idx'],
    ['user_id and status', { user_id: USER, status: 'scored' }, 'training_user_idx'],
    ['assignment_id', { assignment_id: 'asg_gen_0000001' }, 'training_assignment_idx'],
    [
      'user_id and assignment_id',
      { user_id: USER, assignment_id: 'asg_gen_0000001' },
      'training_assignment_idx',
    ],
    [
      'status and assignment_id',
      { status: 'scored', assignment_id: 'asg_gen_0000001' },
      'training_assignment_idx',
    ],
    [
      'all three',
      { user_id: USER, status: 'scored', assignment_id: 'asg_gen_0000001' },
      'training_assignment_idx',
    ],
  ])(
    'GET /trainings with %s reads one index and stops after the page, on every page',
    async (_, filters, index) => {
      for (const after of [null, MIDDLE]) {
        for (const since of [null, '2026-03-01T00:00:00.000Z']) {
          const slice = { limit: 51, after, since };
          const nodes = await explain(
            (recorder) => listTrainings(recorder, TEAM, slice, filters),
            mode,
          );
          expect(faultsOf(nodes, index)).toEqual([]);
        }
      }
    },
  );

  test('GET /evaluations reads its index and looks up the trainings of the page', async () => {
    for (const after of [null, MIDDLE]) {
      const slice = { limit: 51, after, since: null };
      const nodes = await explain(
        (recorder) => listEvaluatedTrainings(recorder, TEAM, slice),
        mode,
      );
      expect(faultsOf(nodes, 'evaluation_list_idx')).toEqual([]);
    }
  });

  test('the lists of the CRM read one index and stop after the page', async () => {
    for (const after of [null, MIDDLE]) {
      const deals = await explain(
        (recorder) => listDeals(recorder, TEAM, { limit: 51, after }),
        mode,
      );
      const objections = await explain(
        (recorder) => listObjections(recorder, TEAM, { limit: 51, after }),
        mode,
      );
      expect(faultsOf(deals, 'crm_deal_list_idx')).toEqual([]);
      expect(faultsOf(objections, 'crm_objection_list_idx')).toEqual([]);
    }
  });
});

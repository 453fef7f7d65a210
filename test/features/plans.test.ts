// How Postgres runs the lists of a big team. A list must read one index in its order and stop after
// a page. No test of the responses would notice that it scans or sorts everything; only customers
// would.
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listDeals, listObjections } from '../../src/features/crm/store.ts';
import {
  listEvaluatedTrainings,
  listTrainings,
  type TrainingFilters,
} from '../../src/features/trainings/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsOf, type Mode, type PlanNode } from '../support/plans.ts';
import { openWhereTeamIs } from '../support/shards.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const TEAM = 'team_big';
const MIDDLE = { at: '2026-05-01T12:00:00.000Z', id: 'trn_x' };

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  const generate = {
    members: 600,
    trainings: 8_000,
    assignments: 200,
    crm_deals: 8_000,
    from: '2026-01-01',
    to: '2026-10-31',
  };
  await loadTestSeed(database, makeSeed([makeTeam('big', { generate })]));
  client = await openWhereTeamIs(database.url, TEAM);
  await client.query('vacuum analyze');
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

// A page may be sorted, but no more: see MOST_ROWS.
const FORBIDDEN = ['Incremental Sort', 'Bitmap Heap Scan', 'Hash', 'Materialize', 'Gather'];

/** The rows of a page, and the few that it may skip. */
const MOST_ROWS = 60;

/**
 * Returns what is wrong with a plan that should read a page from this index, and apart from that
 * only single rows that belong to the page.
 */
function faultsOf(nodes: readonly PlanNode[], index: string): string[] {
  const used = nodes.filter((node) => (node['Actual Loops'] ?? 0) > 0);
  const faults = FORBIDDEN.filter((type) => used.some((node) => node['Node Type'] === type));
  if (!nodes.some((node) => node['Index Name'] === index)) faults.push(`does not use ${index}`);
  for (const node of nodes) {
    const read = rowsOf(node);
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
    ['user_id and status', { user_id: USER, status: 'scored' }, 'training_user_status_idx'],
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
        for (const since of [undefined, '2026-03-01T00:00:00.000Z']) {
          const slice = { limit: 51, after, since };
          const nodes = await explain(
            client,
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
      const slice = { limit: 51, after };
      const nodes = await explain(
        client,
        (recorder) => listEvaluatedTrainings(recorder, TEAM, slice),
        mode,
      );
      expect(faultsOf(nodes, 'evaluation_list_idx')).toEqual([]);
    }
  });

  test('the lists of the CRM read one index and stop after the page', async () => {
    for (const after of [null, MIDDLE]) {
      const deals = await explain(
        client,
        (recorder) => listDeals(recorder, TEAM, { limit: 51, after }),
        mode,
      );
      const objections = await explain(
        client,
        (recorder) => listObjections(recorder, TEAM, { limit: 51, after }),
        mode,
      );
      expect(faultsOf(deals, 'crm_deal_list_idx')).toEqual([]);
      expect(faultsOf(objections, 'crm_objection_list_idx')).toEqual([]);
    }
  });
});

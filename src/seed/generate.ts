import type { ClientBase } from 'pg';
import { createCast, memberRows, personRows } from './generate-people.ts';
import { generatedId, planOf } from './generate-plan.ts';
import { caseRows, dealRows } from './generate-sales.ts';
import { assignmentRows, trainingRows, type Scene } from './generate-trainings.ts';
import { insertRows } from './insert.ts';
import type { SeedFile } from './prepare.ts';
import type { RowContext } from './rows.ts';
import type { SeedRows } from './seed-rows.ts';

type Table = keyof SeedRows;

/** Children are kept in memory until this many parents are written. */
const CHUNK_ROWS = 10_000;

/**
 * Writes the rows that the team's `generate` asks for and returns their number. The listed rows
 * must be written already. The same `random_seed`, catalog and listed members give the same rows on
 * any machine and any day. Memory does not grow with the number of rows, because rows are made as
 * they are sent. Needs a transaction.
 */
export async function generateRows(
  client: ClientBase,
  context: RowContext,
  catalog: SeedFile['catalog'],
): Promise<number> {
  const { team } = context;
  const plan = planOf(team);
  if (!plan) return 0;
  const cast = createCast(team, plan, catalog);
  const scene: Scene = { teamId: team.id, language: team.language ?? 'de', plan, cast };
  let rows = await insertRows(client, 'person', personRows(team, plan));
  rows += await insertRows(client, 'member', memberRows(team, plan));
  rows += await insertRows(client, 'assignment', assignmentRows(scene));
  rows += await insertInChunks(client, 'training', 'evaluation', trainingFamilies(scene));
  rows += await insertRows(client, 'training_case', caseRows(scene));
  rows += await insertDeals(client, context, scene);
  return rows;
}

async function insertDeals(
  client: ClientBase,
  { team }: RowContext,
  scene: Scene,
): Promise<number> {
  if (scene.plan.deals === 0) return 0;
  const listed =
    team.crm_connections.find((connection) => (connection.status ?? 'active') === 'active') ??
    team.crm_connections[0];
  const connectionId = listed?.id ?? generatedId('crm', 0);
  if (!listed) {
    await insertRows(client, 'crm_connection', [
      {
        team_id: team.id,
        id: connectionId,
        provider: 'hubspot',
        status: 'active',
        created_at: new Date(scene.plan.fromMs).toISOString(),
      },
    ]);
  }
  return insertInChunks(client, 'crm_deal', 'crm_objection', dealFamilies(scene, connectionId));
}

/** A row and the rows that refer to it. */
interface Family<Parent extends Table, Child extends Table> {
  readonly parent: SeedRows[Parent];
  readonly children: readonly SeedRows[Child][];
}

function* trainingFamilies(scene: Scene): Generator<Family<'training', 'evaluation'>> {
  for (const { training, evaluation } of trainingRows(scene)) {
    yield { parent: training, children: evaluation ? [evaluation] : [] };
  }
}

function* dealFamilies(
  scene: Scene,
  connectionId: string,
): Generator<Family<'crm_deal', 'crm_objection'>> {
  for (const { deal, objections } of dealRows(scene, connectionId))
    yield { parent: deal, children: objections };
}

/**
 * Writes parents before their children, because children refer to them by foreign keys. Works in
 * chunks, because neither the parents nor the children may be held in memory as a whole.
 */
async function insertInChunks<Parent extends Table, Child extends Table>(
  client: ClientBase,
  parentTable: Parent,
  childTable: Child,
  families: Iterable<Family<Parent, Child>>,
): Promise<number> {
  let children: SeedRows[Child][] = [];
  let rows = 0;
  const source = families[Symbol.iterator]();
  function* takeParents(): Generator<SeedRows[Parent]> {
    for (let taken = 0; taken < CHUNK_ROWS; taken += 1) {
      const next = source.next();
      if (next.done) return;
      for (const child of next.value.children) children.push(child);
      yield next.value.parent;
    }
  }
  for (;;) {
    const parents = await insertRows(client, parentTable, takeParents());
    rows += parents + (await insertRows(client, childTable, children));
    children = [];
    if (parents < CHUNK_ROWS) return rows;
  }
}

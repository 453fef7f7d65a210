import { statement, type Db, type Statement } from '../../db/client.ts';
import { keyOf, TENANT_TABLE_NAMES, type TenantTable } from '../../db/tenant-tables.ts';

/** The key of the last row of a batch: where the next one begins. */
export type Position = readonly string[];

/** A step of an erasure: it removes or changes the rows of one table, in batches. */
export interface Step {
  readonly name: string;
  readonly start: Position;
  readonly runBatch: Statement<{ position: Position }>;
  readonly findRow: Statement<object>;
}

/**
 * SQL: the team $1 is marked. Without it, a run that was paused would go on with the rows of a new
 * team with the same id.
 */
const IS_ERASING = `exists (
       select
       from team
       where id = $1 and erasing_since is not null
     )`;

/**
 * With one plan for all teams each batch might read all rows of the team: of most teams that is
 * cheaper than to fetch the rows that were picked.
 */
const PLANNED = { isSearch: true } as const;

// A training and the assignment that it completes point at each other.
function unlinkStep(): Step {
  const rows = `from assignment
     where team_id = $1 and completed_training_id is not null
       and ${IS_ERASING}`;
  return {
    name: 'completions',
    start: [''],
    runBatch: statement(
      'erasure.unlinkCompletions',
      `with picked as materialized (
         select ctid, id
         ${rows} and id > ($2::text[])[1]
         order by id
         limit $3
         for update skip locked
       ), changed as (
         update assignment
         set completed_training_id = null, updated_at = statement_timestamp()
         where team_id = $1 and ctid = any (array(select ctid from picked))
       )
       select array[id] as position
       from picked
       order by id desc
       limit 1`,
      PLANNED,
    ),
    findRow: statement('erasure.findCompletion', `select ${rows} limit 1`, PLANNED),
  };
}

function removalStep(table: TenantTable): Step {
  const { columns, position, asPosition, start } = keyOf(table);
  return {
    name: table,
    start,
    runBatch: statement(
      `erasure.remove.${table}`,
      `with picked as materialized (
         select ctid, ${columns}
         from ${table}
         where team_id = $1 and (${columns}) > (${position})
           and ${IS_ERASING}
         order by ${columns}
         limit $3
         for update skip locked
       ), removed as (
         delete from ${table}
         where team_id = $1 and ctid = any (array(select ctid from picked))
       )
       select ${asPosition} as position
       from picked
       order by ${columns
         .split(', ')
         .map((column) => `${column} desc`)
         .join(', ')}
       limit 1`,
      PLANNED,
    ),
    findRow: statement(
      `erasure.find.${table}`,
      `select
       from ${table}
       where team_id = $1
         and ${IS_ERASING}
       limit 1`,
      PLANNED,
    ),
  };
}

/**
 * The steps, in their order. Each begins behind its last batch: the index still has the entries of
 * rows that were removed, and to skip them in each batch would be quadratic. Locked rows are
 * skipped, so an erasure waits for nobody; they are met when the step begins again.
 */
export const STEPS: readonly Step[] = [unlinkStep(), ...TENANT_TABLE_NAMES.map(removalStep)];

/** Runs a batch behind `after`. Returns the position of its last row; null if it met none. */
export async function runBatch(
  db: Db,
  teamId: string,
  step: Step,
  { after, limit }: { readonly after: Position; readonly limit: number },
): Promise<Position | null> {
  const [last] = await db.query(step.runBatch, [teamId, after, limit]);
  return last?.position ?? null;
}

/** Whether a step has met all rows, or the team is no longer to be erased. */
export async function isDone(db: Db, teamId: string, step: Step): Promise<boolean> {
  return (await db.query(step.findRow, [teamId])).length === 0;
}

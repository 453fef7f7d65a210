import { PAGE_LIMIT_MAX, type PagePosition } from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';

export interface TrainingRow {
  readonly id: string;
  readonly user_id: string;
  readonly status: string;
  readonly source: string;
  readonly assignment_id: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly duration_s: number | null;
  readonly external_ref: Record<string, unknown> | null;
  readonly situation_id: string | null;
  readonly personality_id: string | null;
  readonly industry_id: string | null;
  readonly role_id: string | null;
}

const DETAILS = `t.user_id, t.status, t.source, t.assignment_id, t.created_at, t.finished_at, t.duration_s, t.external_ref,
  t.situation_id, t.personality_id, t.industry_id, t.role_id`;

// Whether a person is an active member, as a probe of the unique index. A scalar subquery, because EXISTS or a join would be flattened into a
// join of the team's whole tables; a bare boolean, because the planner takes that for half of the rows, and a comparison for hardly any.
function isActive(userId: string): string {
  return `(select m.status = 'active' from member m where m.team_id = $1 and m.user_id = ${userId} and m.status <> 'ended')`;
}

/** Equalities that a list can ask for. */
export interface TrainingFilters {
  readonly user_id?: string | undefined;
  readonly status?: string | undefined;
  readonly assignment_id?: string | undefined;
}

const FILTERS = [
  'user_id',
  'status',
  'assignment_id',
] as const satisfies readonly (keyof TrainingFilters)[];

const TRAININGS = ['t.created_at', 't.id'] as const;
const EVALUATIONS = ['e.saved_at', 'e.training_id'] as const;

// The constant limit tells the planner that a page is all that will be read. Of a parameter it assumes a tenth of the team's rows, for
// which a sort, or compiling the plan, would look worth it.
const listOf = statementsByFilters(FILTERS, (named) => {
  const equalities = named.map((name, place) => ` and t.${name} = $${place + 6}`).join('');
  // Of one person it is asked once, not for each of their trainings.
  const isOfActiveMember = isActive(named[0] === 'user_id' ? '$6' : 't.user_id');
  return statement<TrainingRow>(
    ['trainings.list', ...named].join('.'),
    `select * from (
       select t.id, ${DETAILS} from training t
       where t.team_id = $1
         and ${isAfter(TRAININGS, ['$3', '$4'])}
         and t.created_at >= coalesce($5::timestamptz, '-infinity')${equalities}
         and ${isOfActiveMember}
       ${newestFirst(TRAININGS, PAGE_LIMIT_MAX + 1)}
     ) page
     ${newestFirst(BY_CREATION, '$2')}`,
  );
});

export interface Slice {
  readonly limit: number;
  readonly after: PagePosition | null;
  /** ISO, inclusive; null: from the beginning. */
  readonly since: string | null;
}

/** Trainings of active members, newest first, after `after`. `limit` is at most one more than a page holds. */
export function listTrainings(
  db: Db,
  teamId: string,
  slice: Slice,
  filters: TrainingFilters,
): Promise<TrainingRow[]> {
  const { limit, after, since } = slice;
  const { list, values } = listOf(filters);
  return db.query(list, [teamId, limit, ...positionValues(after), since, ...values]);
}

const FIND = statement<TrainingRow>(
  'trainings.find',
  `select t.id, ${DETAILS} from training t where t.team_id = $1 and t.id = $2 and ${isActive('t.user_id')}`,
);

/** The training of an active member, or null. */
export async function findTraining(
  db: Db,
  teamId: string,
  trainingId: string,
): Promise<TrainingRow | null> {
  const [row] = await db.query(FIND, [teamId, trainingId]);
  return row ?? null;
}

export interface EvaluatedTrainingRow extends TrainingRow {
  readonly saved_at: string;
}

// The index of evaluations gives the order; "offset 0" keeps the training's lookup a lookup for each of the rows that are read.
const LIST_EVALUATED = statement<EvaluatedTrainingRow>(
  'trainings.listEvaluated',
  `select * from (
     select e.saved_at, e.training_id as id, t.* from evaluation e cross join lateral (
       select ${DETAILS} from training t where t.team_id = $1 and t.id = e.training_id and ${isActive('t.user_id')} offset 0
     ) t
     where e.team_id = $1
       and ${isAfter(EVALUATIONS, ['$3', '$4'])}
       and e.saved_at >= coalesce($5::timestamptz, '-infinity')
     ${newestFirst(EVALUATIONS, PAGE_LIMIT_MAX + 1)}
   ) page
   ${newestFirst(['saved_at', 'id'], '$2')}`,
);

/** Trainings of active members with an evaluation, the one saved last first, after `after`. `since` is that of the evaluation. */
export function listEvaluatedTrainings(
  db: Db,
  teamId: string,
  slice: Slice,
): Promise<EvaluatedTrainingRow[]> {
  const { limit, after, since } = slice;
  return db.query(LIST_EVALUATED, [teamId, limit, ...positionValues(after), since]);
}

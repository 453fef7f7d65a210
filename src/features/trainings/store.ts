import { PAGE_LIMIT_MAX, type PageSlice } from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';

/** A training. */
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

const DETAILS = `t.user_id, t.status, t.source, t.assignment_id, t.created_at, t.finished_at,
  t.duration_s, t.external_ref, t.situation_id, t.personality_id, t.industry_id, t.role_id`;

// Whether a person is an active member, looked up in the unique index. This is a scalar subquery,
// because the planner would flatten EXISTS or a join into a join of the team's whole tables. It is
// a bare boolean, because the planner expects that to hold for half of the rows, and a comparison
// for hardly any.
function isActive(userId: string): string {
  return `(
        select m.status = 'active'
        from member m
        where m.team_id = $1 and m.user_id = ${userId} and m.status <> 'ended'
      )`;
}

/** The filters of a list. All are equalities. */
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
const EVALUATIONS = ['e.stored_at', 'e.training_id'] as const;

// The constant limit tells the planner that only one page will be read. For a parameter, it would
// assume a tenth of the team's rows, and a sort or JIT compilation would seem worth it.
const listOf = statementsByFilters(FILTERS, (named) => {
  const equalities = named.map((name, place) => ` and t.${name} = $${place + 6}`).join('');
  // For one person, the lookup is made once and not for each of their trainings.
  const isOfActiveMember = isActive(named[0] === 'user_id' ? '$6' : 't.user_id');
  return statement<TrainingRow>(
    ['trainings.list', ...named].join('.'),
    `select *
     from (
       select t.id, ${DETAILS}
       from training t
       where t.team_id = $1
         and ${isAfter(TRAININGS, ['$3', '$4'])}
         and t.created_at >= coalesce($5::timestamptz, '-infinity')${equalities}
         and ${isOfActiveMember}
       ${newestFirst(TRAININGS, PAGE_LIMIT_MAX + 1)}
     ) page
     ${newestFirst(BY_CREATION, '$2')}`,
  );
});

/** The part of a list that one page shows. */
export interface Slice extends PageSlice {
  /** ISO, inclusive; null means from the beginning. */
  readonly since: string | null;
}

/**
 * Lists trainings of active members, newest first, from the position `after` on. `limit` may be at
 * most one more than a page holds.
 */
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
  `select t.id, ${DETAILS}
   from training t
   where t.team_id = $1
     and t.id = $2
     and ${isActive('t.user_id')}`,
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

/** A training and the time when its evaluation was stored here. */
export interface EvaluatedTrainingRow extends TrainingRow {
  readonly stored_at: string;
}

// The index of evaluations gives the order. `offset 0` makes the planner look up the training of
// each row that is read, instead of joining whole tables.
const LIST_EVALUATED = statement<EvaluatedTrainingRow>(
  'trainings.listEvaluated',
  `select *
   from (
     select e.stored_at, e.training_id as id, t.*
     from evaluation e
     cross join lateral (
       select ${DETAILS}
       from training t
       where t.team_id = $1
         and t.id = e.training_id
         and ${isActive('t.user_id')}
       offset 0
     ) t
     where e.team_id = $1
       and ${isAfter(EVALUATIONS, ['$3', '$4'])}
       and e.stored_at >= coalesce($5::timestamptz, '-infinity')
     ${newestFirst(EVALUATIONS, PAGE_LIMIT_MAX + 1)}
   ) page
   ${newestFirst(['stored_at', 'id'], '$2')}`,
);

/**
 * Lists trainings of active members with an evaluation, the one stored last first, from the
 * position `after` on. `since` applies to the time of storage.
 */
export function listEvaluatedTrainings(
  db: Db,
  teamId: string,
  slice: Slice,
): Promise<EvaluatedTrainingRow[]> {
  const { limit, after, since } = slice;
  return db.query(LIST_EVALUATED, [teamId, limit, ...positionValues(after), since]);
}

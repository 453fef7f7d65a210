import {
  PAGE_LIMIT_MAX,
  type MeasuredRow,
  type PageSlice,
  type SearchResult,
} from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst } from '../../db/keyset.ts';
import { thatFit, type PageText } from '../../db/page-size.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';
import { search, type FoundRow, type TimeRange } from '../../db/search.ts';
import { withEvaluations, type EvaluationRow } from './evaluation-store.ts';

const DETAILS = columnsOf('Training', 'team_id', 'id', 'json_bytes');
/** The columns of a `TrainingRow`. */
export const COLUMNS = ['id', ...DETAILS] as const;

/** A training. */
export interface TrainingRow extends RowOf<'Training', (typeof COLUMNS)[number]> {
  readonly external_ref: Record<string, unknown> | null;
}

/** A training of a list, with its evaluation if the list was asked for it. */
export interface ScoredRow extends TrainingRow {
  readonly evaluation?: EvaluationRow | null;
}

// Null: the training has no reference.
const BYTES = 'coalesce(t.json_bytes, 0) as bytes';

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
export type TrainingFilters = {
  readonly [name in (typeof FILTERS)[number]]?: string | undefined;
};
const FILTERS = ['user_id', 'status', 'assignment_id'] as const;

const EVALUATIONS = ['stored_at', 'training_id'] as const;

/**
 * How many rows a list reads in its own order. If too few of them are of active members, it asks
 * for the trainings of each active member instead, so people who left cost nothing.
 */
const NEAR = 1000;

/**
 * From how many members on it does not ask for each. Then it reads `FAR` rows in its own order, and
 * says how far it has read if they do not fill the page.
 */
const PEOPLE_MAX = 5000;
const FAR = 10_000;

/** What `pageText` reads: trainings, or the evaluations of trainings. */
interface Source {
  readonly table: 'training' | 'evaluation';
  readonly order: readonly [at: string, id: string];
  /** SQL that narrows the rows, or nothing. */
  readonly where: string;
}

/**
 * SQL: the positions of one page over all active members, as `page`, and as `last` how far it has
 * read if it gave up. The constant limits tell the planner that only a page will be read. For a
 * parameter, it would assume a tenth of the team's rows, and a sort or JIT compilation would seem
 * worth it.
 *
 * `near` is the page if it is full or the list ends there. Otherwise the members whose latest rows
 * come first lead to the page: whatever is on it belongs to one of them. If there are too many
 * members for that, `far` is the page.
 */
function pageText({ table, order, where }: Source): string {
  const [at, id] = order;
  const inRange = `team_id = $1
             and ${isAfter(order, ['$3', '$4'])}
             and ${at} >= coalesce($5::timestamptz, '-infinity')${where}`;
  const most = PAGE_LIMIT_MAX + 1;
  const ofActive = (reads: number): string => `select r.${at} as at, r.${id} as id
       from (
         select ${at}, ${id}, user_id
         from ${table}
         where ${inRange}
         ${newestFirst(order, reads)}
       ) r
       where ${isActive('r.user_id')}
       ${newestFirst([`r.${at}`, `r.${id}`], most)}`;
  return `with near as materialized (
     select *
     from (
       ${ofActive(NEAR)}
     ) found
     limit $2
   ), incomplete as materialized (
     select case
       when (select count(*) from near) < $2 then exists (
         select
         from ${table}
         where ${inRange}
         ${newestFirst(order)}
         offset ${NEAR}
         limit 1
       )
       else false
     end as yes
   ), people as materialized (
     select user_id, status
     from member
     where team_id = $1 and status <> 'ended' and (select yes from incomplete)
     ${newestFirst(BY_CREATION, PEOPLE_MAX + 1)}
   ), crowd as materialized (
     select count(*) > ${PEOPLE_MAX} as yes
     from people
   ), page as materialized (
     select at, id
     from near
     where not (select yes from incomplete)
     union all
     (
       select found.at, found.id
       from (
         select m.user_id
         from people m
         cross join lateral (
           select ${at} as at, ${id} as id
           from ${table}
           where ${inRange}
             and user_id = m.user_id
           ${newestFirst(order, 1)}
         ) latest
         where m.status = 'active'
           and not (select yes from crowd)
         ${newestFirst(['latest.at', 'latest.id'], most)}
       ) newest
       cross join lateral (
         select ${at} as at, ${id} as id
         from ${table}
         where ${inRange}
           and user_id = newest.user_id
         ${newestFirst(order, most)}
       ) found
       ${newestFirst(['found.at', 'found.id'], most)}
     )
     union all
     (
       select at, id
       from (
         ${ofActive(FAR)}
       ) far
       where (select yes from crowd)
     )
   ), last as materialized (
     select ${at} as reached_at, ${id} as reached_id
     from ${table}
     where ${inRange}
       and (select yes from crowd)
       and (select count(*) from page) < $2
     ${newestFirst(order)}
     offset ${FAR - 1}
     limit 1
   )`;
}

/** SQL: the rows of a page, each with how far `pageText` has read. */
function found(page: PageText): string {
  const [at, id] = page.order;
  return `select ${page.columns}, fits, reached_at, reached_id
   from (values (1)) one
   left join last on true
   left join (
     ${thatFit(page)}
   ) found on true
   ${newestFirst([`found.${at}`, `found.${id}`])}`;
}

const listOf = statementsByFilters(FILTERS, (named) =>
  statement<FoundRow<TrainingRow & MeasuredRow>>(
    ['trainings.list', ...named].join('.'),
    listText(named, alone),
    { inOrder: mayBeRare(named) },
  ),
);

const listWithEvaluationsOf = statementsByFilters(FILTERS, (named) =>
  statement<FoundRow<ScoredRow & MeasuredRow>>(
    ['trainings.listWithEvaluations', ...named].join('.'),
    listText(named, withEvaluations),
    { inOrder: mayBeRare(named) },
  ),
);

/** What a page reads beside its trainings. */
type Include = (page: PageText) => PageText;

function alone(page: PageText): PageText {
  return page;
}

/** A status may be rare. */
function mayBeRare(named: readonly string[]): boolean {
  return named.includes('status');
}

function listText(named: readonly string[], include: Include): string {
  const valueOf = (name: string): string => `$${named.indexOf(name) + 6}`;
  const conditionsOf = (names: readonly string[]): string =>
    names.map((name) => `\n             and ${name} = ${valueOf(name)}`).join('');
  if (named.includes('assignment_id')) {
    const owner = ownerText(valueOf('assignment_id'));
    // `|| ''` keeps Postgres from the index by person, who may have very many other trainings.
    const isOfUser = named.includes('user_id')
      ? `\n             and ${owner} = ${valueOf('user_id')}
             and t.user_id || '' = ${valueOf('user_id')}`
      : '';
    const isShown = `\n             and ${isActive('t.user_id')}`;
    const filters = named.filter((name) => name !== 'user_id');
    return thatFit(include(ofOnePerson(owner, `${conditionsOf(filters)}${isOfUser}${isShown}`)));
  }
  if (named.includes('user_id'))
    return thatFit(include(ofOnePerson(valueOf('user_id'), conditionsOf(named))));
  return `${pageText({ table: 'training', order: BY_CREATION, where: conditionsOf(named) })}
   ${found(include(atPositions('created_at')))}`;
}

/**
 * SQL: the person whose trainings those of the assignment are (platform-rules.ts). It is looked up
 * once, so that the trainings of somebody who has left are not read. The rows of a seed file may be
 * of several people, so each row's person is checked, too.
 */
function ownerText(assignment: string): string {
  return `(
               select user_id
               from training
               where team_id = $1 and assignment_id = ${assignment}
               ${newestFirst(BY_CREATION, 1)}
             )`;
}

/** The trainings at the positions of `page`, with the time of the position as `name`. */
function atPositions(name: 'created_at' | 'stored_at'): PageText {
  const time = name === 'created_at' ? '' : `p.at as ${name}, `;
  return {
    columns: `${name === 'created_at' ? '' : `${name}, `}${listed(COLUMNS)}`,
    rows: `select ${time}p.id, ${listed(DETAILS, 't.')}, ${BYTES}
       from (
         select *
         from page
         ${newestFirst(['at', 'id'], '$2')}
       ) p
       cross join lateral (
         select *
         from training
         where team_id = $1 and id = p.id
         limit 1
       ) t`,
    order: [name, 'id'],
  };
}

/** The page of one person: all of it shows, or nothing. */
function ofOnePerson(userId: string, conditions: string): PageText {
  return {
    // It never gives up.
    columns: `${listed(COLUMNS)}, null::timestamptz as reached_at, null::text as reached_id`,
    rows: `select *
       from (
         select ${listed(COLUMNS, 't.')}, ${BYTES}
         from training t
         where t.team_id = $1
             and ${isAfter(['t.created_at', 't.id'], ['$3', '$4'])}
             and t.created_at >= coalesce($5::timestamptz, '-infinity')${conditions}
             and ${isActive(userId)}
         ${newestFirst(['t.created_at', 't.id'], PAGE_LIMIT_MAX + 1)}
       ) near
       ${newestFirst(BY_CREATION, '$2')}`,
    order: BY_CREATION,
  };
}

/** The part of a list that one page shows. */
export interface Slice extends PageSlice, TimeRange {
  /** Whether each training comes with its evaluation; null without one. */
  readonly withEvaluations?: boolean;
}

/**
 * Lists trainings of active members, newest first, from the position `after` on. `limit` may be at
 * most one more than a page holds. It can find fewer than the limit although more follow: then it
 * says how far it has read.
 */
export async function listTrainings(
  db: Db,
  teamId: string,
  slice: Slice,
  filters: TrainingFilters,
): Promise<SearchResult<ScoredRow & MeasuredRow>> {
  const { since, until, withEvaluations } = slice;
  const filtered = withEvaluations ? listWithEvaluationsOf(filters) : listOf(filters);
  return search<ScoredRow & MeasuredRow>(db, teamId, slice, { ...filtered, since, until });
}

/** The training of an active member, or null. */
export const findTraining = statement<TrainingRow>(
  'trainings.find',
  `select ${listed(COLUMNS, 't.')}
   from training t
   where t.team_id = $1
     and t.id = $2
     and ${isActive('t.user_id')}`,
).finds<[db: Db, teamId: string, trainingId: string]>();

/** A training and the time when its evaluation was stored here. */
export interface EvaluatedTrainingRow extends ScoredRow {
  readonly stored_at: string;
}

const evaluatedText = (include: Include): string =>
  `${pageText({ table: 'evaluation', order: EVALUATIONS, where: '' })}
   ${found(include(atPositions('stored_at')))}`;

const LIST_EVALUATED = statement<FoundRow<EvaluatedTrainingRow & MeasuredRow>>(
  'trainings.listEvaluated',
  evaluatedText(alone),
);

const LIST_WITH_EVALUATIONS = statement<FoundRow<EvaluatedTrainingRow & MeasuredRow>>(
  'trainings.listEvaluatedWithEvaluations',
  evaluatedText(withEvaluations),
);

/**
 * Lists trainings of active members with an evaluation, the one stored last first, from the
 * position `after` on. `since` applies to the time of storage. As with `listTrainings`, more can
 * follow.
 */
export async function listEvaluatedTrainings(
  db: Db,
  teamId: string,
  slice: Omit<Slice, 'until'>,
): Promise<SearchResult<EvaluatedTrainingRow & MeasuredRow>> {
  const list = slice.withEvaluations ? LIST_WITH_EVALUATIONS : LIST_EVALUATED;
  const { since } = slice;
  return search<EvaluatedTrainingRow & MeasuredRow>(db, teamId, slice, { list, values: [], since });
}

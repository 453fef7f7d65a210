import { DIMENSIONS } from '../../core/dimensions.ts';
import { statement, type Tx } from '../../db/client.ts';
import type { Pair, RollupChange } from './platform-rules.ts';

const PERSON_SUMS = [
  'sessions',
  'scored',
  'total_sum',
  'total_count',
  ...DIMENSIONS.flatMap((name) => [`${name}_sum`, `${name}_count`]),
];

const ADD_TO_PERSON = statement(
  'analytics.addToPerson',
  `insert into analytics_person as a (team_id, user_id, ${PERSON_SUMS.join(', ')})
   values ($1, $2, ${PERSON_SUMS.map((_, index) => `$${index + 3}`).join(', ')})
   on conflict (team_id, user_id) do update
   set ${addedTo(PERSON_SUMS)}`,
);

/** Adds to the person's sums. */
export function addToPerson(tx: Tx, teamId: string, userId: string, change: RollupChange): void {
  const pairs = [change.total, ...change.dimensions].flatMap(({ sum, count }) => [sum, count]);
  tx.send(ADD_TO_PERSON, [teamId, userId, change.sessions, change.scored, ...pairs]);
}

const DAYS = [1, 2, 3, 4, 5, 6, 7];

// One statement per day of the week, because a column cannot be a parameter.
const ADD_TO_WEEK = DAYS.map((day) => {
  const columns = DAYS.flatMap((each) => [`day${each}_sum`, `day${each}_count`]);
  const values = DAYS.flatMap((each) => (each === day ? ['$4', '$5'] : ['0', '0']));
  const changed = ['total', `day${day}`].flatMap((name) => [`${name}_sum`, `${name}_count`]);
  return statement(
    `analytics.addToWeek.${day}`,
    `insert into analytics_person_week as a (
       team_id, week, user_id, total_sum, total_count, ${columns.join(', ')}
     )
     values ($1, $2, $3, $4, $5, ${values.join(', ')})
     on conflict (team_id, week, user_id) do update
     set ${addedTo(changed)}`,
  );
});

const REMOVE_EMPTY_WEEK = statement(
  'analytics.removeEmptyWeek',
  `delete from analytics_person_week
   where team_id = $1 and week = $2 and user_id = $3 and total_count = 0`,
);

/** A person, and a day as the Monday of its week and its number in the week. */
export interface PersonDay {
  readonly userId: string;
  /** `YYYY-MM-DD` */
  readonly monday: string;
  /** 1 (Monday) to 7 */
  readonly day: number;
}

/** Adds to the sums of the person's week. Removes the row if no score is left in it. */
export function addToWeek(
  tx: Tx,
  teamId: string,
  { userId, monday, day }: PersonDay,
  { sum, count }: Pair,
): void {
  const add = ADD_TO_WEEK[day - 1];
  if (!add) throw new Error(`a week has no day ${day}`);
  tx.send(add, [teamId, monday, userId, sum, count]);
  if (count < 0) tx.send(REMOVE_EMPTY_WEEK, [teamId, monday, userId]);
}

function addedTo(columns: readonly string[]): string {
  return columns.map((name) => `${name} = a.${name} + excluded.${name}`).join(', ');
}

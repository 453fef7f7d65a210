import { statement, type Tx } from './client.ts';

// A kept response has committed with what it describes, so this statement sees it. A statement that
// also changed the member would have an older snapshot. One plan for all teams would read all
// responses of the team: of most teams that is the cheapest, of a large one 20,000 for three.
const FORGET = statement(
  'db.forgetKeptDetails',
  `update idempotency_record
   set body = open_body, encrypted = false, open_body = null, key_id = null, subject_id = null,
     other_subject_ids = null
   where team_id = $1 and (subject_id = any ($2) or other_subject_ids && $2)`,
  { isSearch: true },
);

/**
 * Removes the private fields of these members and webhook endpoints from the kept responses. The
 * responses stay, so that a repeated call still acts once. Send it after the statement that removes
 * the address or the endpoint.
 */
export function forgetKeptDetails(tx: Tx, teamId: string, subjectIds: readonly string[]): void {
  tx.send(FORGET, [teamId, subjectIds]);
}

const REMOVED_AT_ONCE = 10_000;

const REMOVE_MARKED = statement<{ readonly count: number }>(
  'db.removeResponsesOfReset',
  `with removed as (
     delete from idempotency_record
     where team_id = $1 and key = any (array(
       select key
       from idempotency_record
       where team_id = $1 and removed_by_reset
       limit ${REMOVED_AT_ONCE}
     ))
     returning key
   )
   select count(*)::int
   from removed`,
);

/** Removes the kept responses of what a reset removes, in steps that a statement has time for. */
export async function removeResponsesOfReset(tx: Tx, sandboxId: string): Promise<void> {
  let count = REMOVED_AT_ONCE;
  while (count === REMOVED_AT_ONCE)
    count = (await tx.queryFirst(REMOVE_MARKED, [sandboxId]))?.count ?? 0;
}

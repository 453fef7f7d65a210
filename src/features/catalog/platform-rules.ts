/**
 * Decisions about the catalog that the host application saves:
 *  * An entry is saved as a whole: a field that is left out becomes empty. If an id appears twice
 *    in a save, the last entry counts. Entries that a save does not name stay.
 *  * A catalog rule is the combination that it forbids, so saving it again changes nothing.
 *  * Global entries and catalog rules do not belong to a team, so saving them is in no audit log.
 *    Saving a team's own entries is in the audit log of that team.
 */

/**
 * Keeps the last entry of each id, and sorts by id. Two saves of the same entries then lock the
 * rows in the same order and do not deadlock.
 */
export function inOneOrder<E extends { readonly id: string }>(entries: readonly E[]): E[] {
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()].toSorted((a, b) =>
    a.id < b.id ? -1 : 1,
  );
}

/**
 * Decisions about the catalog as the host application keeps it:
 *  * An entry is saved whole: what a save leaves out is empty from then on. Of one id that comes twice in a save the last stands. Entries that a save does not
 *    name stay.
 *  * A rule is the combination that it forbids, so that saving it again changes nothing.
 *  * Global entries and rules are no team's, and the audit log is the teams': they are in none. A team's own entries are in that team's.
 */

/** Each id once, in one order in every save, so that two saves of the same entries wait for each other and never in a circle. */
export function inOneOrder<E extends { readonly id: string }>(entries: readonly E[]): E[] {
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()].toSorted((a, b) =>
    a.id < b.id ? -1 : 1,
  );
}

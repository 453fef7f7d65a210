/** What a page names by its id: keys and members. */
interface Known {
  readonly id: string;
}

/** As many as the service names at once. */
const NAMES_MAX = 200;

/** What several lists hold, each once. */
export function eachOnce<One extends Known>(...lists: readonly (readonly One[])[]): One[] {
  return [...new Map(lists.flat().map((one) => [one.id, one])).values()];
}

/** The ids whose names are to be asked for, each once, as many as can be named at once. */
export function idsToName(ids: readonly string[], known: readonly Known[] = []): string[] {
  const others = new Set(ids);
  for (const { id } of known) others.delete(id);
  return [...others].slice(0, NAMES_MAX);
}

/** Which keys a page knows, of the lists that it reads: see `key-queries.ts`. */
interface Known {
  readonly id: string;
}

/** As many as the service names at once. */
const NAMES_MAX = 200;

/** The keys of several lists, each once. */
export function eachOnce<Key extends Known>(...lists: readonly (readonly Key[])[]): Key[] {
  return [...new Map(lists.flat().map((key) => [key.id, key])).values()];
}

/** The keys to ask for by their ids, as many as can be named at once. */
export function idsToName(ids: readonly string[], known: readonly Known[]): string[] {
  const others = new Set(ids);
  for (const { id } of known) others.delete(id);
  return [...others].slice(0, NAMES_MAX);
}

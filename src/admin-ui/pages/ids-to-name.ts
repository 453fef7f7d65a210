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

/** The ids whose names are to be asked for, each once. */
export function idsToName(ids: readonly string[], known: readonly Known[] = []): string[] {
  const others = new Set(ids);
  for (const { id } of known) others.delete(id);
  return [...others];
}

/** Asks for the names of all of the ids. */
export async function nameInParts<One>(
  ids: readonly string[],
  read: (part: string[]) => Promise<{ readonly data: readonly One[] }>,
): Promise<{ readonly data: readonly One[] }> {
  const parts = Array.from({ length: Math.ceil(ids.length / NAMES_MAX) }, (_, n) =>
    read(ids.slice(n * NAMES_MAX, (n + 1) * NAMES_MAX)),
  );
  return { data: (await Promise.all(parts)).flatMap(({ data }) => data) };
}

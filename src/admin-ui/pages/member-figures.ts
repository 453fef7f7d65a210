/** How many things there are of each status, the most frequent status first. */
export function countByStatus(
  things: readonly { readonly status: string }[],
): readonly (readonly [status: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { status } of things) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

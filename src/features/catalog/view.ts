import type { z } from 'zod';
import type { catalog } from './schema.ts';

type Catalog = z.output<typeof catalog>;
type Entry = Catalog['situation'][number];

/** One list for each kind. Keeps the order within a kind. */
export function toCatalog(entries: readonly (Entry & { readonly kind: keyof Catalog })[]): Catalog {
  const lists: Catalog = {
    situation: [],
    personality: [],
    industry: [],
    role: [],
    methodology: [],
  };
  for (const { kind, id, name, icon } of entries) lists[kind].push({ id, name, icon });
  return lists;
}

import type { z } from 'zod';
import type { saveEntriesInput } from './platform-schema.ts';

type SavedEntry = z.output<typeof saveEntriesInput>['entries'][number];

/** Converts an entry of a call to what the tables store. */
export function toEntryFacts({ kind, id, name, icon }: SavedEntry) {
  return { kind, id, name_de: name.de ?? null, name_en: name.en ?? null, icon: icon ?? null };
}

import type { Language } from '../../core/language.ts';
import type { Db } from '../../db/client.ts';
import { labelEntries, type LabelledEntry } from './rules.ts';
import * as store from './store.ts';

/** The entries of every kind that the team may use, with their names, sorted by name. */
export async function listEntries(
  db: Db,
  teamId: string,
  language: Language,
): Promise<LabelledEntry[]> {
  return labelEntries(await store.listVisibleEntries(db, teamId), language);
}

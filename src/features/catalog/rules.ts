/**
 * Decisions about the catalog that the specification leaves open:
 *  * Visible are the team's own entries and the global entries that are released to it: all of
 *    them, or a list. Entries that the team's policy blocks are not visible. The policies of single
 *    members do not count here; an assignment checks them (`vorgabe_gesperrt`).
 *  * A team's own entry hides a global one with the same id, whatever their kinds.
 *  * The name of an entry is in the request's language, or else in the other one, or else null.
 *  * Within a kind, entries are sorted by name as readers of that language expect it: Ä beside A,
 *    upper and lower case alike. Equal names are sorted by id. Entries without a name come last.
 */
import type { CatalogKind } from '../../core/catalog-kinds.ts';
import { LANGUAGES, type Language } from '../../core/language.ts';

/** An entry with its name in the language of a request; null: it has no name. */
export interface LabelledEntry {
  readonly kind: CatalogKind;
  readonly id: string;
  readonly name: string | null;
  readonly icon: string | null;
}

/** An entry as the tables store it, with its name in each language; null: none. */
export interface EntryFacts extends Omit<LabelledEntry, 'name'> {
  readonly name_de: string | null;
  readonly name_en: string | null;
}

const COLLATORS: Readonly<Record<Language, Intl.Collator>> = {
  de: new Intl.Collator('de'),
  en: new Intl.Collator('en'),
};

/** Gives each entry its name in that language, and sorts the entries. Kinds stay mixed. */
export function labelEntries(entries: readonly EntryFacts[], language: Language): LabelledEntry[] {
  const collator = COLLATORS[language];
  return entries
    .map((entry) => ({
      kind: entry.kind,
      id: entry.id,
      name: nameOf(entry, language),
      icon: entry.icon,
    }))
    .toSorted((a, b) => compareNames(collator, a.name, b.name) || (a.id < b.id ? -1 : 1));
}

function nameOf(entry: EntryFacts, language: Language): string | null {
  const languages = [language, ...LANGUAGES];
  return languages.map((each) => entry[`name_${each}`]).find((name) => name !== null) ?? null;
}

function compareNames(collator: Intl.Collator, a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return collator.compare(a, b);
}

/**
 * Decisions about the catalog that the specification leaves open:
 *  * Visible are the team's own entries and the global ones that are released to it (all of them, or a list), without those that the team's policy
 *    blocks. Members' own policies do not count here: an assignment checks them (`vorgabe_gesperrt`).
 *  * A team's own entry hides a global one with the same id, of whatever kind.
 *  * An entry is labelled in the request's language, else in the other one, else not at all.
 *  * Within a kind the order is by name as a reader of that language expects it (Ä beside A, upper and lower case alike), then by id; without a name last.
 */
import { LANGUAGES, type Language } from '../../core/language.ts';

type Kind = 'situation' | 'personality' | 'industry' | 'role' | 'methodology';

export interface LabelledEntry {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string | null;
  readonly icon: string | null;
}

/** What the tables know of an entry. */
export interface EntryFacts extends Omit<LabelledEntry, 'name'> {
  readonly name_de: string | null;
  readonly name_en: string | null;
}

const COLLATORS: Readonly<Record<Language, Intl.Collator>> = {
  de: new Intl.Collator('de'),
  en: new Intl.Collator('en'),
};

/** The entries with their names, in the order in which they are shown. */
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

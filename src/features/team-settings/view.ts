import type { z } from 'zod';
import { LANGUAGES, type Language } from '../../core/language.ts';
import type { CatalogRow } from './catalog-store.ts';
import type { admin, catalogPage, release } from './schema.ts';
import type { AdminRow } from './store.ts';

/** An admin as the app shows them. */
export function toAdmin(row: AdminRow): z.input<typeof admin> {
  const { id, email, status, rights } = row;
  return { member_id: id, email, status, rights: [...rights] };
}

/** An entry with its name in `language` or, without one, in any other language. */
export function toCatalogEntry(
  language: Language,
  row: CatalogRow,
): z.input<typeof catalogPage>['data'][number] {
  const { name_de: _de, name_en: _en, ...shown } = row;
  const names = [language, ...LANGUAGES].map((each) => row[`name_${each}`]);
  return { ...shown, name: names.find((name) => name !== null) ?? null };
}

/** The release as the app shows it. */
export function toRelease(released: 'all' | readonly string[]): z.input<typeof release> {
  return { released: released === 'all' ? released : [...released] };
}

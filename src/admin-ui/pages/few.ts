import type { Texts } from '../i18n/en.ts';
import type { Format } from '../i18n/formats.ts';

/** How many names stand in one text. */
const NAMED_MAX = 5;

/** The first names as a list, and how many others there are. */
export function few(names: readonly string[], t: Pick<Texts, 'overview'>, format: Format): string {
  const rest = names.length - NAMED_MAX;
  return format.list([
    ...names.slice(0, NAMED_MAX),
    ...(rest > 0 ? [t.overview.others(rest)] : []),
  ]);
}

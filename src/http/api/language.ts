import { LANGUAGES, type Language } from '../../core/language.ts';

/**
 * The language of titles and labels: the first one of the service in the order of the weights. A
 * range names the language of its first part, as in `en-GB`, `en_US` and `en_US.UTF-8`. Returns
 * `byDefault` if no range names one of ours; `*` is any that was not refused with `q=0`.
 */
export function negotiateLanguage(
  acceptLanguage: string | undefined,
  byDefault: Language = 'de',
): Language {
  if (acceptLanguage === undefined) return byDefault;
  const ranges = readRanges(acceptLanguage);
  const refused = new Set(ranges.filter(({ q }) => q === 0).map(({ range }) => range));
  const any = [byDefault, ...LANGUAGES].find((language) => !refused.has(language));
  for (const { q, range } of ranges.toSorted((a, b) => b.q - a.q)) {
    if (q === 0) break;
    const language = range === '*' ? any : LANGUAGES.find((one) => one === primaryOf(range));
    if (language) return language;
  }
  return byDefault;
}

function primaryOf(range: string): string | undefined {
  return /^[a-z]+(?=[-_.@]|$)/.exec(range)?.[0];
}

/** Some programs write `q=0,8` where numbers have a comma. No range begins with a digit. */
const DECIMAL_COMMA = /(?<=q\s*=\s*[01]),(?=\d)/gi;

function readRanges(acceptLanguage: string) {
  return acceptLanguage
    .replaceAll(DECIMAL_COMMA, '.')
    .split(',')
    .map((part) => {
      const [range = '', ...parameters] = part
        .toLowerCase()
        .split(';')
        .map((text) => text.trim());
      const weight = parameters.map((text) => /^q\s*=\s*(.*)$/.exec(text)?.[1]).find(Boolean);
      return { range, q: toWeight(weight ?? '') };
    });
}

/** What is no number from 0 to 1 counts as the nearest one, or as no weight: 1. */
function toWeight(text: string): number {
  const q = text === '' ? 1 : Number(text);
  return Number.isNaN(q) ? 1 : Math.min(1, Math.max(0, q));
}

/** Texts for an operator's terminal. */

/** "3 min": a span of time, rounded to what a reader needs. */
export function spanOf(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7_200) return `${Math.round(s / 60)} min`;
  return s < 172_800 ? `${Math.round(s / 3_600)} h` : `${Math.round(s / 86_400)} days`;
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** "413 B", "12.4 GB". A kilobyte has 1000 bytes. */
export function sizeOf(bytes: number): string {
  const power = Math.min(SIZES.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[power]}`;
}

/** Characters that act on a terminal or turn the text around them, as in Unicode's UAX 9. */
const ACTS = String.raw`\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`;
export const ACTING = new RegExp(`[${ACTS}]`, 'u');
const ACTING_ANYWHERE = new RegExp(`[${ACTS}]`, 'gu');

/**
 * One line, in which nothing acts on a terminal. Rows of the host application may hold anything: a
 * line break in them would make a line that looks like one of ours.
 */
export function printable(line: string): string {
  return line.replaceAll(ACTING_ANYWHERE, (character) => `\\u{${codeOf(character)}}`);
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON of one or more lines that a terminal may show. */
export function printableJson(json: string): string {
  const escape = (character: string): string => `\\u${codeOf(character).padStart(4, '0')}`;
  return json.replaceAll(ACTING_ANYWHERE, (one) => (one === '\n' ? one : escape(one)));
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

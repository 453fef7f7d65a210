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

/**
 * One line, without what a terminal would obey. Names and ids of the host application may hold
 * anything: a line break in them would make a line that looks like one of ours.
 */
export function printable(line: string): string {
  return line.replaceAll(/\p{Cc}/gu, '?');
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON that a terminal may show. `JSON.stringify` escapes no control characters beyond U+001F. */
export function printableJson(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

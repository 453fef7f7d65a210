/**
 * Takes values out of a text that may quote them in any spelling: as they are, in JSON, in a URL or
 * a form, in HTML, or in two of these (JSON within JSON), and in letters of either case: databases
 * write a UUID in their own. The text is decoded, not the values spelled: a spelling may mix forms
 * and cases. All values are looked for in the text as it came, so what stands for one cannot hide a
 * part of another.
 */

/** Stands for a value. */
const WITHHELD = '…';

/** A text that may quote values, for instance a receiver's answer. */
export interface Quote {
  readonly text: string;
  /** Whether its end is missing. */
  readonly isCut: boolean;
}

/** What was read of a text. */
interface Reading {
  readonly text: string;
  /**
   * Where each character stands in the text as it came; at last, where it ends. null: just there.
   * Most answers have no escape, and need no such list.
   */
  readonly at: readonly number[] | null;
}

type Range = readonly [from: number, to: number];

/**
 * Returns the text without the values. One that the end of a cut text cuts off goes, too. A number
 * inside a longer one stays.
 */
export function withoutValues(
  values: readonly (string | number)[],
  { text, isCut }: Quote,
): string {
  if (values.length === 0) return text;
  const ranges = readingsOf(text)
    .map((reading) => ({ ...reading, text: inSmallLetters(reading.text) }))
    .flatMap((reading) => values.flatMap((value) => rangesOf(value, reading, isCut)))
    .toSorted(([a], [b]) => a - b);
  let left = '';
  let end = 0;
  for (const [from, to] of ranges) {
    if (from >= end) left += text.slice(end, from) + WITHHELD;
    end = Math.max(end, to);
  }
  return left + text.slice(end);
}

/** As long as the text, so that a place in one is the same place in the other. */
function inSmallLetters(text: string): string {
  return text.replaceAll(/\p{Lu}/gu, (letter) => {
    const small = letter.toLowerCase();
    return small.length === letter.length ? small : letter;
  });
}

function rangesOf(value: string | number, { text, at }: Reading, isCut: boolean): Range[] {
  const wanted = inSmallLetters(String(value));
  if (wanted === '') return [];
  const isDigit = (index: number): boolean =>
    typeof value === 'number' && /[0-9]/.test(text.charAt(index));
  const rangeOf = (from: number, to: number): Range =>
    at ? [at[from] ?? 0, at[to] ?? 0] : [from, to];
  const ranges: Range[] = [];
  for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + 1)) {
    const to = from + wanted.length;
    if (!isDigit(from - 1) && !isDigit(to)) ranges.push(rangeOf(from, to));
  }
  if (!isCut) return ranges;
  for (let from = Math.max(0, text.length - wanted.length + 1); from < text.length; from += 1)
    if (!isDigit(from - 1) && wanted.startsWith(text.slice(from)))
      return [...ranges, rangeOf(from, text.length)];
  return ranges;
}

interface Decoder {
  /** An escape. One that the end of the text cuts off counts, and stands for nothing. */
  readonly escape: RegExp;
  readonly decode: (escape: string) => string;
}

const SHORT_OF_JSON: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const NAMED_IN_HTML: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

const DECODERS: readonly Decoder[] = [
  {
    escape: /\\u[0-9a-f]{4}|\\["\\/bfnrt]|\\(?:u[0-9a-f]{0,3})?$/gi,
    decode: ([, kind = '', ...hex]) => {
      if (hex.length === 4) return String.fromCharCode(Number.parseInt(hex.join(''), 16));
      return kind === 'u' ? '' : (SHORT_OF_JSON[kind] ?? kind);
    },
  },
  {
    // One character in UTF-8, with what the end of the text may have left of it.
    escape:
      /%[0-7][0-9a-f]|%[c-f][0-9a-f](?:%[89ab][0-9a-f]){1,3}(?:%[0-9a-f]?$)?|%[0-9a-f]{0,2}$/gi,
    decode: (escape) => {
      try {
        return decodeURIComponent(escape);
      } catch {
        return '';
      }
    },
  },
  { escape: /\+/g, decode: () => ' ' },
  {
    escape: /&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-f]{1,6});|&#?\w{0,7}$/gi,
    decode: (escape) => {
      const [, hex, digits] = /^&#(?:x([0-9a-f]+)|([0-9]+));$/i.exec(escape) ?? [];
      const code = hex === undefined ? Number(digits) : Number.parseInt(hex, 16);
      if (code <= 0x10ffff) return String.fromCodePoint(code);
      return NAMED_IN_HTML[escape.toLowerCase()] ?? '';
    },
  },
];

/** How many spellings may lie within each other. It bounds the readings, too. */
const DEPTH_MAX = 2;

/** All readings of the text, each once: as it is, and decoded. */
function readingsOf(text: string): Reading[] {
  const whole: Reading = { text, at: null };
  const readings = new Map([[text, whole]]);
  let last: readonly Reading[] = [whole];
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
    const decoded = last.flatMap((reading) => DECODERS.map((decoder) => read(reading, decoder)));
    last = decoded.filter((reading) => !readings.has(reading.text));
    for (const reading of last) readings.set(reading.text, reading);
  }
  return [...readings.values()];
}

function read(reading: Reading, { escape, decode }: Decoder): Reading {
  const escapes = [...reading.text.matchAll(escape)];
  if (escapes.length === 0) return reading;
  const placeOf = (index: number): number => (reading.at ? (reading.at[index] ?? 0) : index);
  const at: number[] = [];
  let text = '';
  let end = 0;
  const take = (to: number): void => {
    text += reading.text.slice(end, to);
    for (; end < to; end += 1) at.push(placeOf(end));
  };
  for (const match of escapes) {
    take(match.index);
    const decoded = decode(match[0]);
    text += decoded;
    for (let index = 0; index < decoded.length; index += 1) at.push(placeOf(match.index));
    end = match.index + match[0].length;
  }
  take(reading.text.length);
  at.push(placeOf(end));
  return { text, at };
}

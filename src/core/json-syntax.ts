/**
 * Finds the place of a syntax error in JSON. The messages of V8 do not always tell it, and quote
 * what was sent. Reads the text once, without recursion, so the cost is bounded by the length.
 */

/** Both begin at 1. A column is a character: a surrogate pair counts as one. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** Returns where text that `JSON.parse` refuses stops being JSON: at its end if it is cut off. */
export function placeOfFault(text: string): Place {
  const before = text.slice(0, indexOfFault(text));
  const lineStart = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line += 1;
  let column = 1;
  for (let at = lineStart; at < before.length; at += 1)
    if (!isSecondHalf(before.charCodeAt(at))) column += 1;
  return { line, column };
}

/** Whether it is the second half of a surrogate pair. */
function isSecondHalf(code: number): boolean {
  return code >= 0xdc_00 && code <= 0xdf_ff;
}

/** What may come next. Instead of a first one, and after a value, an end may come, too. */
type Expected = 'value' | 'first_value' | 'name' | 'first_name' | 'colon' | 'after_value';

type Opening = '{' | '[';

/** `next` is null if there is a fault at `end`. */
interface Step {
  readonly end: number;
  readonly next: Expected | null;
}

function indexOfFault(text: string): number {
  const open: Opening[] = [];
  let expected: Expected = 'value';
  let at = endOf(SPACE, text, 0);
  while (at < text.length) {
    const { end, next } = stepFrom(text, at, { expected, open });
    if (next === null) return end;
    expected = next;
    at = endOf(SPACE, text, end);
  }
  return at;
}

function stepFrom(
  text: string,
  at: number,
  { expected, open }: { readonly expected: Expected; readonly open: Opening[] },
): Step {
  const character = text[at];
  const inside = open.at(-1);
  const isEnd = character === (inside === '[' ? ']' : '}') && inside !== undefined;
  if (isEnd && (expected === 'after_value' || expected.startsWith('first_'))) {
    open.pop();
    return { end: at + 1, next: 'after_value' };
  }
  const fault = { end: at, next: null };
  switch (expected) {
    case 'after_value':
      if (character !== ',' || inside === undefined) return fault;
      return { end: at + 1, next: inside === '{' ? 'name' : 'value' };
    case 'colon':
      return character === ':' ? { end: at + 1, next: 'value' } : fault;
    case 'name':
    case 'first_name':
      return character === '"' ? readText(text, at, 'colon') : fault;
    case 'value':
    case 'first_value':
      if (character === '"') return readText(text, at, 'after_value');
      if (character !== '{' && character !== '[') return readWord(text, at);
      open.push(character);
      return { end: at + 1, next: character === '{' ? 'first_name' : 'first_value' };
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const UNICODE = /\\u[\da-fA-F]{4}/y;
const ESCAPED = '"\\/bfnrt';
const [QUOTE, BACKSLASH, SPACE_CODE = 0] = [...Buffer.from('"\\ ')];

function readWord(text: string, at: number): Step {
  const end = Math.max(endOf(NUMBER, text, at), endOf(WORD, text, at));
  return { end, next: end === at ? null : 'after_value' };
}

/** Reads the text that begins with the quote at `at`. Compares numbers, as there may be many. */
function readText(text: string, at: number, next: Expected): Step {
  let end = at + 1;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return { end: end + 1, next };
    if (code < SPACE_CODE) break;
    if (code !== BACKSLASH) continue;
    if (!ESCAPED.includes(text[end + 1] ?? '\0') && endOf(UNICODE, text, end) === end) break;
    end += 1;
  }
  return { end: Math.min(end, text.length), next: null };
}

/** Where the pattern ends that begins at `at`; `at` itself if it does not match there. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

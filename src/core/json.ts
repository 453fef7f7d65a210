/**
 * The maximum nesting of a request's JSON: deeper than any legitimate value, but far from the depth
 * that breaks recursive code.
 */
const MAX_DEPTH = 64;

/** A value in JSON that the service cannot store, and its place. */
export interface JsonFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly code: string;
}

/**
 * The most values that a request's JSON may hold, and the most fields of objects among them. Small
 * values take 30 times their bytes. Of 100 entries in a batch each may have nearly 1,000 and 200.
 */
const MAX_VALUES = 100_000;
const MAX_FIELDS = 20_000;
/** An integer with fewer digits fits into a 64-bit float exactly. */
const EXACT_DIGITS = 15;

/**
 * Looks through JSON before it is parsed, for what would be expensive or lost afterwards. Returns
 * null, or the fault: more values than `MAX_VALUES` or `MAX_FIELDS`, or an integer that a 64-bit
 * float would change, for instance a 64-bit id: otherwise we would silently return another number
 * than the client sent. Does not check the syntax: JSON.parse does.
 */
export function findRawJsonFault(bytes: Buffer): JsonFault | null {
  let values = 0;
  let fields = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) values++;
    else if (byte === COLON) fields++;
    else if (isDigit(byte)) {
      const end = endOfDigits(bytes, at);
      if (end - at > EXACT_DIGITS && !isExact(bytes, at, end))
        return inexact(bytes.toString('latin1', at, Math.min(end, at + 40)));
      at = end - 1;
    }
  }
  if (values > MAX_VALUES) return tooMany(`more than ${MAX_VALUES} values`);
  return fields > MAX_FIELDS ? tooMany(`more than ${MAX_FIELDS} fields`) : null;
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE, COLON] = [...Buffer.from('"\\,[{:')];
const [ZERO = 0, NINE = 0, POINT, E, BIG_E] = [...Buffer.from('09.eE')];

const isDigit = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= ZERO && byte <= NINE;

/** Returns the place of the quote that ends the text, or the end of the bytes. */
function endOfText(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}

/** Returns the place after the digits. */
function endOfDigits(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (isDigit(bytes[at])) at++;
  return at;
}

/**
 * Whether the digits come back as the same number. True for what is no integer: a fraction, an
 * exponent, and a number that is beyond the range, which is refused for that later.
 */
function isExact(bytes: Buffer, start: number, end: number): boolean {
  const before = bytes[start - 1];
  const after = bytes[end];
  if (before === POINT || after === POINT || after === E || after === BIG_E) return true;
  const digits = bytes.toString('latin1', start, end);
  const value = Number(digits);
  return !Number.isFinite(value) || isWritten(String(value), digits);
}

/**
 * Whether JSON writes these digits for a float: those of the shortest integer that leads to it
 * again. It may be another one although the float holds the integer exactly: 90071992547409904
 * would come back as 90071992547409900. Compares text, because a body may hold 50,000 of them.
 */
function isWritten(float: string, digits: string): boolean {
  const exponentAt = float.indexOf('e+');
  if (exponentAt < 0) return float === digits;
  const mantissa = float.slice(0, exponentAt).replace('.', '');
  return (
    digits.length === Number(float.slice(exponentAt + 2)) + 1 &&
    digits.startsWith(mantissa) &&
    /^0*$/.test(digits.slice(mantissa.length))
  );
}

function inexact(digits: string): JsonFault {
  return {
    path: [],
    message: `The integer ${digits} has more digits than a 64-bit float holds; send it as text.`,
    code: 'invalid_number',
  };
}

function tooMany(what: string): JsonFault {
  return { path: [], message: `The body holds ${what}.`, code: 'too_many_values' };
}

/**
 * Finds the first thing in a parsed JSON value that the service cannot store, or returns null:
 *  * nesting deeper than `MAX_DEPTH`,
 *  * text that Postgres or UTF-8 cannot represent (NUL, half of a surrogate pair),
 *  * a number beyond the range of a 64-bit float, which JSON.parse reads as infinite,
 *  * a field named `__proto__`.
 * Takes time in proportion to the number of values: a path is only made for a fault.
 */
export function findJsonFault(root: unknown): JsonFault | null {
  const fault = faultOf(root, 0);
  if (!fault) return null;
  const path = fault.path.toReversed();
  return { ...fault, path: fault.code === 'too_deep' ? path.slice(0, 1) : path };
}

/** A fault whose path leads from the fault to the root. Each level adds its step. */
interface FoundFault extends JsonFault {
  readonly path: (string | number)[];
}

/** Recursive, because the depth is limited. */
function faultOf(value: unknown, depth: number): FoundFault | null {
  if (typeof value === 'string') return textFault(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    return newFault('The number is beyond the range of 64-bit floats.', 'invalid_number');
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= MAX_DEPTH) return newFault(`Nested deeper than ${MAX_DEPTH} levels.`, 'too_deep');
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const fault = faultOf(value[index], depth + 1);
      if (fault) return addStep(fault, index);
    }
    return null;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(object)) {
    const ofName = textFault(name) ?? nameFault(name);
    if (ofName) return ofName;
    const fault = faultOf(object[name], depth + 1);
    if (fault) return addStep(fault, name);
  }
  return null;
}

function addStep(fault: FoundFault, step: string | number): FoundFault {
  fault.path.push(step);
  return fault;
}

function newFault(message: string, code: string): FoundFault {
  return { path: [], message, code };
}

/** Writes JSON with sorted keys and without white space, so that equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return canonicalOf(value) ?? 'null';
}

/** Returns undefined for what JSON does not have, such as a field that is undefined. */
function canonicalOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Readonly<Record<string, unknown>>;
  if (typeof object['toJSON'] === 'function') return JSON.stringify(value);
  const fields: string[] = [];
  for (const name of Object.keys(object).toSorted()) {
    const text = canonicalOf(object[name]);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

/**
 * Refuses `__proto__`: code that copies objects by assignment loses this field (Prisma does), and
 * then the stored value is not the one that was sent.
 */
function nameFault(name: string): FoundFault | null {
  if (name !== '__proto__') return null;
  const fault = newFault('A field must not be called __proto__.', 'invalid_name');
  return addStep(fault, name);
}

function textFault(text: string): FoundFault | null {
  if (text.includes('\0'))
    return newFault('Text must not hold the character U+0000.', 'invalid_text');
  if (text.isWellFormed()) return null;
  return newFault(
    'Text must be well-formed Unicode: half of a surrogate pair was found.',
    'invalid_text',
  );
}

/** How many bytes the JSON of these values has together. null and undefined have none. */
export function jsonBytes(...values: readonly unknown[]): number {
  return values.reduce<number>(
    (sum, value) =>
      sum + (value === null || value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))),
    0,
  );
}

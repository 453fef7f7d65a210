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
 * Finds the first thing in a parsed JSON value that the service cannot store, or returns null:
 *  * nesting deeper than `MAX_DEPTH`,
 *  * text that Postgres or UTF-8 cannot represent (NUL, half of a surrogate pair),
 *  * a number beyond the range of a 64-bit float, which JSON.parse reads as infinite,
 *  * a field named `__proto__`.
 * Iterative: recursion would overflow the stack on the deep values that it must refuse.
 */
export function findJsonFault(root: unknown): JsonFault | null {
  const stack: { value: unknown; path: readonly (string | number)[] }[] = [
    { value: root, path: [] },
  ];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { value, path } = entry;
    if (typeof value === 'string') {
      const fault = textFault(value, path);
      if (fault) return fault;
    }
    if (typeof value === 'number' && !Number.isFinite(value))
      return {
        path,
        message: 'The number is beyond the range of 64-bit floats.',
        code: 'invalid_number',
      };
    if (typeof value !== 'object' || value === null) continue;
    if (path.length >= MAX_DEPTH)
      return {
        path: path.slice(0, 1),
        message: `Nested deeper than ${MAX_DEPTH} levels.`,
        code: 'too_deep',
      };
    if (Array.isArray(value)) {
      value.forEach((item, index) => stack.push({ value: item, path: [...path, index] }));
      continue;
    }
    for (const [name, item] of Object.entries(value)) {
      const fault = textFault(name, path) ?? nameFault(name, path);
      if (fault) return fault;
      stack.push({ value: item, path: [...path, name] });
    }
  }
  return null;
}

/** Writes JSON with sorted keys and without white space, so that equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/**
 * Refuses `__proto__`: code that copies objects by assignment loses this field (Prisma does), and
 * then the stored value is not the one that was sent.
 */
function nameFault(name: string, path: readonly (string | number)[]): JsonFault | null {
  if (name !== '__proto__') return null;
  return {
    path: [...path, name],
    message: 'A field must not be called __proto__.',
    code: 'invalid_name',
  };
}

function textFault(text: string, path: readonly (string | number)[]): JsonFault | null {
  if (text.includes('\0'))
    return { path, message: 'Text must not hold the character U+0000.', code: 'invalid_text' };
  if (!text.isWellFormed())
    return {
      path,
      message: 'Text must be well-formed Unicode: half of a surrogate pair was found.',
      code: 'invalid_text',
    };
  return null;
}

/** How deep the JSON of a request may be nested: far deeper than anybody means, far from what breaks recursive code. */
const MAX_DEPTH = 64;

export interface JsonFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly code: string;
}

/**
 * The first thing in a parsed JSON value that the service cannot keep: nesting too deep, or text that Postgres or UTF-8 cannot represent (NUL, half of a
 * surrogate pair), a number beyond what JSON.parse can hold. Iterative, because depth is what it guards against.
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

/** JSON with sorted keys and no white space: equal for equal values, whatever the order they were written in. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** Whoever copies an object by assignment loses this name, Prisma does, and the value is no longer what was sent. */
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

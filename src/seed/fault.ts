/** A fault in a seed file and its JSON path, for instance `$.teams[0].members[2].email`. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** A key or an index of a JSON path. */
export type PathPart = string | number;

/**
 * Thrown for a refused seed file, with every fault of its shape, or of its
 * references once the shape is right. Nothing of the file was written.
 */
export class SeedFault extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    const lines = faults.map(({ path, message }) => `  ${path}: ${message}`);
    super(['The seed file has faults:', ...lines].join('\n'));
    this.name = 'SeedFault';
    this.faults = faults;
  }
}

/** Collects faults, so that the user sees more than the first of them. */
export interface Faults {
  readonly list: Fault[];
  add(path: readonly PathPart[], message: string): void;
}

/** Returns an empty collection. */
export function collectFaults(): Faults {
  const list: Fault[] = [];
  return { list, add: (path, message) => list.push({ path: formatPath(path), message }) };
}

/** `['teams', 0, 'a b']` → `$.teams[0]["a b"]`. */
export function formatPath(path: readonly PathPart[]): string {
  const steps = path.map((part) => {
    if (typeof part === 'number') return `[${part}]`;
    return /^[A-Za-z_][A-Za-z0-9_]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
  });
  return `$${steps.join('')}`;
}

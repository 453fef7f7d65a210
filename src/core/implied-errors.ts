/**
 * The errors that an operation has because of what it is: by its method, its path, its scope and
 * the keys that reach it. Said once, for the declarations of operations and for who reads about all
 * of them.
 */
import { COMMON_CODES, type ProblemCode } from './problem.ts';

/** What an operation is, as far as errors follow from it. */
export interface OperationKind {
  readonly method: string;
  readonly path: string;
  /** null: none is needed. */
  readonly scope: string | null;
  /** Whether only the test keys of sandboxes reach it. */
  readonly isTestOnly: boolean;
}

interface ImpliedErrors {
  /** Which operations, in words. */
  readonly of: string;
  readonly holds: (kind: OperationKind) => boolean;
  readonly codes: readonly ProblemCode[];
  /**
   * What the codes mean for them, as a sentence. `id`: how the id in the path is called. Without
   * it: what they mean everywhere.
   */
  readonly cause?: (id: string) => string;
}

/** Where two of them tell the cause of one code, the later one holds. */
export const IMPLIED_ERRORS: readonly ImpliedErrors[] = [
  {
    of: 'every operation',
    holds: () => true,
    codes: COMMON_CODES,
  },
  {
    of: 'with a scope',
    holds: ({ scope }) => scope !== null,
    codes: ['insufficient_scope'],
  },
  {
    // The others read no body.
    of: 'POST and PATCH',
    holds: ({ method }) => method === 'POST' || method === 'PATCH',
    codes: ['bad_request'],
  },
  {
    of: 'POST',
    holds: ({ method }) => method === 'POST',
    codes: ['idempotency_mismatch'],
  },
  {
    of: 'POST',
    holds: ({ method }) => method === 'POST',
    codes: ['conflict'],
    cause: () => 'A call with the same `Idempotency-Key` is still running.',
  },
  {
    of: 'PATCH and DELETE',
    holds: ({ method }) => method === 'PATCH' || method === 'DELETE',
    codes: ['precondition_failed'],
  },
  {
    of: 'of the sandbox',
    holds: ({ isTestOnly }) => isTestOnly,
    codes: ['not_found'],
    cause: () => 'The key is a live one: only a sandbox has this.',
  },
  {
    of: 'with an id in the path',
    holds: ({ path }) => parameterOf(path) !== undefined,
    codes: ['not_found'],
    cause: (id) => `The team has nothing with this ${id}.`,
  },
];

/** The codes that follow from the kind, each once. */
export function impliedCodes(kind: OperationKind): ProblemCode[] {
  return [...new Set(errorsOf(kind).flatMap(({ codes }) => codes))];
}

/** What the codes mean that mean something of their own for the kind. */
export function impliedCauses(kind: OperationKind): Partial<Record<ProblemCode, string>> {
  const id = `\`${parameterOf(kind.path)}\``;
  return Object.fromEntries(
    errorsOf(kind).flatMap(({ codes, cause }) =>
      cause === undefined ? [] : codes.map((code) => [code, cause(id)]),
    ),
  );
}

function errorsOf(kind: OperationKind): ImpliedErrors[] {
  return IMPLIED_ERRORS.filter(({ holds }) => holds(kind));
}

function parameterOf(path: string): string | undefined {
  return /\{(\w+)\}/.exec(path)?.[1];
}

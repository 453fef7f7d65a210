/** Errors of the tRPC API as the page shows them. */
import { TRPCClientError } from '@trpc/client';
import type { ProblemCode } from '../../core/problem.ts';

/** An error of a call. */
export interface Problem {
  /** `network`: there was no answer. `changed_meanwhile`: see {@link changedMeanwhile}. */
  readonly code: ProblemCode | 'network' | 'changed_meanwhile';
  /** The id to quote to support; null without an answer. */
  readonly requestId: string | null;
  readonly fields: readonly FieldProblem[];
  /** In English, for developers. */
  readonly detail: string | null;
}

/** What is wrong with one field of a form. */
export interface FieldProblem {
  /** The name of the field, without its place in the request. */
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

interface ProblemData {
  readonly problem?: {
    readonly code: ProblemCode;
    readonly request_id: string;
    readonly detail?: string;
    readonly field?: string;
    readonly errors?: readonly { path: string; message: string; code: string }[];
  } | null;
}

const CHANGED_MEANWHILE = 'ChangedMeanwhile';

/** The error of a change that was not made, because somebody else has changed the same thing. */
export function changedMeanwhile(): Error {
  return Object.assign(new Error('changed meanwhile'), { name: CHANGED_MEANWHILE });
}

/** Reads an error that a call has thrown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Error && error.name === CHANGED_MEANWHILE)
    return { code: 'changed_meanwhile', requestId: null, fields: [], detail: null };
  const data = error instanceof TRPCClientError ? (error.data as ProblemData | null) : null;
  const problem = data?.problem;
  if (!problem) return { code: 'network', requestId: null, fields: [], detail: null };
  const { code, request_id, detail = null, field } = problem;
  const errors = problem.errors ?? (field ? [{ path: field, message: detail ?? '', code }] : []);
  return {
    code,
    requestId: request_id,
    detail,
    fields: errors.map((one) => ({
      field: one.path.replace(/^(?:body|query|path|input)\./, '').split(/[.[]/, 1)[0] ?? '',
      code: one.code,
      message: one.message,
    })),
  };
}

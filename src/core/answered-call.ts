import type { Limit } from './limits.ts';

/** A call of an API key that has been answered, for the team's request log. */
export interface AnsweredCall {
  readonly requestId: string;
  readonly teamId: string;
  readonly keyId: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly ip: string | null;
  /** The problem in the response; null if there is none. */
  readonly problem: { readonly code: string; readonly errors?: unknown } | null;
  /** The limit that has refused the call; null: none has. */
  readonly limit: Limit | null;
  /** The names of the parameters and fields that the operation declares. */
  readonly declared: ReadonlySet<string>;
  /** The names of query parameters that the operation does not know. They may be anything. */
  readonly ignored: readonly string[];
}

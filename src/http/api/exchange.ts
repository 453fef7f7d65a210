import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { AnsweredCall } from '../../core/answered-call.ts';
import type { Deprecations } from '../../core/deprecation.ts';
import type { Language } from '../../core/language.ts';
import type { ClientAddress } from '../../core/network.ts';
import type { Limit, ObserveOutcome, ObserveRefusal } from '../../core/limits.ts';
import type { RequestTrace, Tracing } from '../../core/trace.ts';
import type { Database } from '../../db/connections/database.ts';
import type { Endpoint } from '../../routers/endpoints.ts';
import type { Services } from '../../trpc/context.ts';
import type { Authentication, CreateAuthenticator } from './authentication/authenticator.ts';
import type { RateLimits } from './authentication/rate-limits.ts';
import type { Bodies } from './bodies.ts';
import type { createCompressor } from './compress.ts';
import type { CallerLimits } from './caller-limits.ts';
import type { Match } from './routes.ts';

/** The path that the REST API is mounted at. */
export const BASE_PATH = '/api/public/v1';
/** The path of the OpenAPI document, below `BASE_PATH`. */
export const DOCUMENT_PATH = '/openapi.v1.json';

export interface RestOptions {
  readonly db: Database;
  readonly services: Services;
  readonly limits: RateLimits;
  readonly publicUrl: string;
  readonly logger: Logger;
  /** The OpenAPI document. It is served without a key. */
  readonly document: string;
  readonly addressOf: (request: IncomingMessage) => ClientAddress;
  readonly callerLimits: CallerLimits;
  readonly bodies: Bodies;
  readonly compress: ReturnType<typeof createCompressor>;
  /** A request without a key that is known counts as live. */
  readonly observe: ObserveOutcome;
  readonly observeRefusal: ObserveRefusal;
  /** Called for each request with a valid key. It must be fast and synchronous. */
  readonly countUse?: (teamId: string, keyId: string, status: number, used: number) => void;
  /** Called for each request with a valid key. It must be fast and synchronous. */
  readonly logRequest?: (call: AnsweredCall) => void;
  /** null: requests are not traced. */
  readonly tracing?: Tracing | null;
  readonly deprecations: Deprecations;
  /** Those of v1 by default. Tests bring their own. */
  readonly endpoints?: readonly Endpoint[];
  /** The fast one by default. Tests also run with the plain one. */
  readonly createAuthenticator?: CreateAuthenticator;
}

/** A REST request with its response and what the pipeline knows about it so far. */
export interface RestExchange {
  readonly options: RestOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When the request came; a time of performance.now(). */
  readonly startedAt: number;
  /** The path of `publicUrl`, which callers put before ours; '' without one. */
  readonly publicPath: string;
  readonly language: Language;
  readonly path: string;
  readonly query: string;
  readonly match: Match;
  /** null: the request is not traced. */
  readonly trace: RequestTrace | null;
  /** null before the key is looked up, and if the database could not be reached. */
  authentication: Authentication | null;
  /** The query parameters that the operation does not know. */
  ignored: readonly string[];
  /** The text of the problem in the response; null if there is none. */
  problemText: string | null;
  /** The limit that has refused the request; null: none has. */
  limit: Limit | null;
}

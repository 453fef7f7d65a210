/** The operation of a request, once its caller is known; for a read, as soon as it may begin. */
import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../../core/problem.ts';
import type { Db, Queries } from '../../db/client.ts';
import type { AccompaniedCaller } from '../../db/connections/companion.ts';
import type { Context } from '../../trpc/context.ts';
import { runCall, type OperationCall } from '../../trpc/operation.ts';
import { BASE_PATH, type RestExchange } from './exchange.ts';
import { hangUpOf } from './hang-up.ts';
import { fingerprintOf, runOnce, type ApiResponse, type IdempotentOutcome } from './idempotency.ts';
import { readInput } from './request-input.ts';
import { answer, problemToResponse } from './respond.ts';
import type { CompiledRoute, Match } from './routes.ts';
import type { Tenant } from './tenant.ts';

const IDEMPOTENCY_KEY_MAX_LENGTH = 100;

/** A read that has begun before its authentication has ended. */
export interface Ahead {
  /** The tenant that it is for. */
  readonly tenant: Tenant;
  readonly response: Promise<ApiResponse>;
  /** What the authentication asks by, to travel beside the read. null: it goes apart. */
  readonly beside: Queries | null;
}

/**
 * Begins a read of a known key for the tenant that the key had at its last request, unless the
 * team's line is full: then its authentication must not wait behind its reads. `goesApart` says
 * that the authentication is asked for with others, and not beside the read.
 */
export function readAhead(
  exchange: RestExchange,
  tenant: Tenant | undefined,
  goesApart: boolean,
): Ahead | null {
  const { match } = exchange;
  if (!tenant || match.kind !== 'route' || match.route.endpoint.method !== 'GET') return null;
  const { db } = exchange.options;
  if (!db.hasRoom(tenant.team.id)) return null;
  const beside = goesApart ? null : db.withCompanion(tenant.team.id);
  const companion = beside?.companion ?? null;
  const response = read(exchange, match, { tenant, companion });
  // If the caller is refused, nobody else waits for the response.
  const end = (): void => companion?.goAlone();
  response.then(end, end);
  return { tenant, response, beside };
}

/** Runs the operation and answers. A read that began for the same tenant is not begun again. */
export async function operate(
  exchange: RestExchange,
  tenant: Tenant,
  ahead: Ahead | null,
): Promise<void> {
  const { match } = exchange;
  if (match.kind !== 'route') throw new Error('a tenant without a route');
  if (match.route.endpoint.method !== 'GET') return write(exchange, match, tenant);
  const isSame = ahead !== null && ahead.tenant === tenant;
  answer(exchange, await (isSame ? ahead.response : read(exchange, match, { tenant })));
}

type RouteMatch = Extract<Match, { readonly kind: 'route' }>;

/** Runs an operation that changes nothing. */
async function read(exchange: RestExchange, match: RouteMatch, by: CallBy): Promise<ApiResponse> {
  const { call, db } = await prepareCall(exchange, match, by);
  return toResponse(match.route, await runCall(call, db));
}

async function write(exchange: RestExchange, match: RouteMatch, tenant: Tenant): Promise<void> {
  const { route } = match;
  const { call, db, key, rawInput } = await prepareCall(exchange, match, { tenant });
  if (key === null) {
    answer(exchange, toResponse(route, await runCall(call, db)));
    return;
  }
  const fingerprint = fingerprintOf('POST', exchange.path, rawInput);
  const { response, replayed } = await performOnce(exchange, {
    db,
    tenant,
    route,
    call,
    key,
    fingerprint,
  });
  if (replayed) exchange.response.setHeader('Idempotency-Replayed', 'true');
  answer(exchange, response);
}

/** For whom an operation runs, and what may travel with its first statement. */
interface CallBy extends Pick<AccompaniedCaller, 'companion'> {
  readonly tenant: Tenant;
}

/** Checks the scope, then reads and checks the input. */
async function prepareCall(
  exchange: RestExchange,
  { route, rawParameters }: RouteMatch,
  { tenant, companion = null }: CallBy,
): Promise<{
  readonly call: OperationCall;
  readonly db: Db;
  /** The `Idempotency-Key` of a POST; null without one. */
  readonly key: string | null;
  readonly rawInput: unknown;
}> {
  const { options } = exchange;
  const { operation, method } = route.endpoint;
  const db = options.db.forCaller({
    share: tenant.team.id,
    trace: exchange.trace,
    signal: hangUpOf(exchange.response),
    companion,
  });
  const ctx: Context = {
    requestId: exchange.requestId,
    actor: tenant.actor,
    team: tenant.team,
    privacy: tenant.privacy,
    language: exchange.language,
    db,
    services: options.services,
    describeError: noDescription,
  };
  operation.guard(ctx);
  const key = method === 'POST' ? findIdempotencyKey(exchange.request) : null;
  const readBody = () => options.bodies.readJson(exchange.request, tenant.team.id);
  const rawInput = await readInput(readBody, route, rawParameters, exchange.query);
  return { call: operation.parse(ctx, rawInput), db, key, rawInput };
}

interface KeyedCall {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly route: CompiledRoute;
  readonly call: OperationCall;
  readonly key: string;
  readonly fingerprint: Buffer;
}

function performOnce(
  exchange: RestExchange,
  { db, tenant, route, call, key, fingerprint }: KeyedCall,
): Promise<IdempotentOutcome> {
  const { services } = exchange.options;
  return runOnce(
    {
      db,
      clock: services.clock,
      secrets: services.secrets,
      teamId: tenant.team.id,
      key,
      fingerprint,
      keyId: tenant.actor.id,
      privacy: tenant.privacy,
    },
    {
      prepare: call.prepare,
      perform: async (tx, prepared) => {
        const output = await call.perform(tx, prepared);
        return { ...toResponse(route, output), withheld: call.withhold(output) };
      },
      refuse: (problem) => ({ ...problemToResponse(exchange, problem), withheld: null }),
    },
  );
}

/**
 * The `Idempotency-Key`, or null without one. Throws `validation_error` for a bad length and for
 * two keys.
 */
function findIdempotencyKey(request: IncomingMessage): string | null {
  const keys = request.headersDistinct['idempotency-key'];
  if (keys === undefined) return null;
  const [key = ''] = keys;
  if (keys.length === 1 && key.length >= 1 && key.length <= IDEMPOTENCY_KEY_MAX_LENGTH) return key;
  const max = IDEMPOTENCY_KEY_MAX_LENGTH;
  const detail = `There may be one Idempotency-Key, of 1 to ${max} characters.`;
  const error = { path: 'header.Idempotency-Key', message: detail, code: 'invalid_length' };
  throw new ProblemError('validation_error', { errors: [error], field: 'Idempotency-Key', detail });
}

function toResponse(route: CompiledRoute, output: unknown): ApiResponse {
  const { successStatus, location } = route.endpoint;
  const created =
    location === null
      ? null
      : BASE_PATH + location.replace('{id}', encodeURIComponent((output as { id: string }).id));
  return { status: successStatus, body: JSON.stringify(output), location: created };
}

/** Only tRPC uses `describeError`. The REST pipeline responds to errors itself. */
function noDescription(): null {
  return null;
}

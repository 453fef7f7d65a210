/** Runs the operation of a request. A read may begin before its caller is authenticated. */
import { privacyOfCall } from '../../core/privacy.ts';
import type { Db } from '../../db/client.ts';
import type { Context, ProblemShape } from '../../trpc/context.ts';
import type { ProblemCauses } from '../../trpc/operation.ts';
import { runCall, runIf, type OperationCall } from '../../trpc/call.ts';
import type { Tenant } from './authentication/tenant.ts';
import { conditionOf, etagHeader, requireMatch, tagOf, type Condition } from './etag.ts';
import { BASE_PATH, type RestExchange } from './exchange.ts';
import { areOutdated } from './facts-age.ts';
import { hangUpOf } from './hang-up.ts';
import {
  fingerprintOf,
  idempotencyKeyOf,
  runOnce,
  type ApiResponse,
  type IdempotentOutcome,
} from './idempotency.ts';
import { IGNORED_HEADER, ignoredHeader, ignoredParameters } from './ignored-parameters.ts';
import { languageOf, problemBody, toProblem } from './problem-response.ts';
import { readInput } from './request-input.ts';
import { answer, answerRead, problemToResponse } from './respond.ts';
import type { CompiledRoute, Match } from './routes.ts';

/** A read that began before its caller was authenticated. */
export interface SpeculativeRead {
  /** The tenant that it is for. */
  readonly tenant: Tenant;
  readonly response: Promise<ApiResponse>;
}

/**
 * Begins a read for the tenant that its caller probably is. Returns null for a write, and while the
 * team's share of the connections is taken: an early read would only wait in its queue.
 */
export function beginRead(exchange: RestExchange, tenant: Tenant): SpeculativeRead | null {
  const { match } = exchange;
  if (match.kind !== 'route' || match.route.endpoint.method !== 'GET') return null;
  if (!exchange.options.db.hasRoom(tenant.team.id)) return null;
  const response = read(exchange, match, tenant);
  // If the caller is refused, nobody waits for the response.
  response.catch(() => undefined);
  return { tenant, response };
}

/** A request that may run its operation. */
interface Admitted {
  readonly tenant: Tenant;
  readonly speculative: SpeculativeRead | null;
  /** The tenant as it is now. Refuses as authentication does, and counts nothing. */
  readonly readAgain: () => Promise<Tenant>;
}

/** Runs the operation and answers. Uses the response of a speculative read for the same tenant. */
export async function operate(
  exchange: RestExchange,
  { tenant, speculative, readAgain }: Admitted,
): Promise<void> {
  const { match } = exchange;
  if (match.kind !== 'route') throw new Error('a tenant without a route');
  if (exchange.query !== '') tellIgnored(exchange, match.route);
  if (match.route.endpoint.method !== 'GET') return write(exchange, match, { tenant, readAgain });
  // Another version: the key or its team has changed since its last request.
  const isSame = speculative?.tenant.version === tenant.version;
  const response = isSame ? speculative.response : read(exchange, match, tenant);
  await answerRead(exchange, match.route, await response);
}

/** Also with a refusal: another parameter may be the reason for it. */
function tellIgnored(exchange: RestExchange, route: CompiledRoute): void {
  const names = ignoredParameters(exchange.query, route);
  if (names.length === 0) return;
  exchange.ignored = names;
  exchange.response.setHeader(IGNORED_HEADER, ignoredHeader(names));
}

type RouteMatch = Extract<Match, { readonly kind: 'route' }>;

/** Runs an operation that changes nothing. */
async function read(
  exchange: RestExchange,
  match: RouteMatch,
  tenant: Tenant,
): Promise<ApiResponse> {
  const { call, db } = await prepareCall(exchange, match, { tenant, readAgain: null });
  return toResponse(match.route, await runCall(call, db));
}

async function write(exchange: RestExchange, match: RouteMatch, caller: Caller): Promise<void> {
  const { route } = match;
  const { call, db, tenant, key, condition, rawInput } = await prepareCall(exchange, match, caller);
  if (key === null) {
    const output = await runConditional(call, condition, db);
    // The output of a removal is no representation of anything.
    if (call.current && route.endpoint.method === 'PATCH')
      exchange.response.setHeader('ETag', etagHeader(versionOf(call.current.of(output)), null));
    answer(exchange, toResponse(route, output));
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
  // A refusal that is replayed is in the language of the first call. Nothing else has one.
  const isKept = replayed && response.status >= 400;
  answer(exchange, response, isKept ? languageOf(response.body) : undefined);
}

/** Throws `precondition_failed` if there is a condition that does not hold. */
function runConditional(call: OperationCall, condition: Condition, db: Db): Promise<unknown> {
  const { current } = call;
  if (condition === null || current === null) return runCall(call, db);
  // Of a read, which shows all of it, or of a change.
  const check = (state: unknown): void =>
    requireMatch(condition, [versionOf(state), versionOf(current.of(state))]);
  return runIf(call, current, { db, check });
}

/** The tag of a state. A read of it sends the same JSON, unless fields are left out. */
function versionOf(state: unknown): string {
  return tagOf(JSON.stringify(state));
}

/** `readAgain` is null for a read, which has no body. */
interface Caller {
  readonly tenant: Tenant;
  readonly readAgain: Admitted['readAgain'] | null;
}

/** Checks the scope, then reads and checks the input. If that takes long, the caller once more. */
async function prepareCall(
  exchange: RestExchange,
  { route, rawParameters }: RouteMatch,
  { tenant, readAgain }: Caller,
): Promise<{
  readonly call: OperationCall;
  readonly db: Db;
  /** As it was when the body had come. */
  readonly tenant: Tenant;
  /** The `Idempotency-Key` of a POST; null without one. */
  readonly key: string | null;
  /** What `If-Match` of a change asks for. */
  readonly condition: Condition;
  readonly rawInput: unknown;
}> {
  const { options } = exchange;
  const { operation, method, isConditional } = route.endpoint;
  const db = options.db.forCaller({
    share: tenant.team.id,
    trace: exchange.trace,
    signal: hangUpOf(exchange.response),
  });
  const admit = ({ actor, team, privacy }: Tenant): Context => {
    const ctx: Context = {
      requestId: exchange.requestId,
      actor,
      team,
      privacy: privacyOfCall(privacy),
      language: exchange.language,
      db,
      services: options.services,
      once: null,
      describeError: (error, causes = {}) => describeEntry(exchange, route, error, causes),
    };
    operation.guard(ctx);
    return ctx;
  };
  const ctx = admit(tenant);
  const key = method === 'POST' ? idempotencyKeyOf(exchange.request) : null;
  const condition = isConditional ? conditionOf(exchange.request) : null;
  const readBody = () => options.bodies.readJson(exchange.request, tenant.team.id);
  const { clock } = options.services;
  const began = clock.monotonicMs();
  const rawInput = await readInput(readBody, route, rawParameters, exchange.query);
  const own = { db, key, condition, rawInput };
  if (readAgain === null || !areOutdated(began, clock))
    return { ...own, tenant, call: operation.parse(ctx, rawInput) };
  const current = await readAgain();
  return { ...own, tenant: current, call: operation.parse(admit(current), rawInput) };
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
      operation: route.endpoint.path,
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

function toResponse(route: CompiledRoute, output: unknown): ApiResponse {
  const { successStatus, location } = route.endpoint;
  const created =
    location === null
      ? null
      : BASE_PATH + location.replace('{id}', encodeURIComponent((output as { id: string }).id));
  return { status: successStatus, body: JSON.stringify(output), location: created };
}

/** The problem of an entry of a batch. */
function describeEntry(
  { options, requestId, language }: RestExchange,
  { endpoint }: CompiledRoute,
  error: unknown,
  causes: ProblemCauses,
): ProblemShape {
  const route = { ...endpoint, causes: { ...endpoint.causes, ...causes } };
  const { publicUrl } = options;
  return problemBody(toProblem(error, route), { publicUrl, language, requestId, route });
}

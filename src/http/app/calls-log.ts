/** What is measured and logged of a request to the tRPC API: one line for each of its calls. */
import type { ProblemError } from '../../core/problem.ts';
import { networkForLog } from '../../core/network.ts';
import { modeOf } from '../../core/sandbox.ts';
import { appRouter } from '../../routers/routers.ts';
import { CALLER_HUNG_UP, hasHungUp } from '../api/hang-up.ts';
import type { AppExchange } from './admission.ts';

/** A name that we do not know could be anything, so it is neither logged nor counted apart. */
const UNKNOWN = 'unknown';

/** The name of a procedure, or `unknown`. */
export function procedureOf(name: string): string {
  return Object.hasOwn(appRouter._def.procedures, name) ? name : UNKNOWN;
}

/**
 * Measures and logs the calls of a request after its response. The calls of one request are
 * answered together, so each has the time of all. The lines hold neither input nor output.
 */
export function finishCalls(exchange: AppExchange): void {
  const { options, request, response, requestId, trace, told } = exchange;
  const ms = performance.now() - exchange.startedAt;
  const hungUp = hasHungUp(response) ? CALLER_HUNG_UP : null;
  const traceId =
    trace?.end({
      // What a stranger asks for is not known to a trace.
      route: told.refusal ? '/trpc' : `/trpc/${told.calls.map(procedureOf).join(',')}`,
      method: request.method,
      status: hungUp ?? response.statusCode,
      requestId,
      code: told.code,
      teamId: told.teamId,
    }) ?? undefined;
  const failures = [...told.failures];
  // A request that is refused before its calls are known counts as one.
  for (const name of told.calls.length === 0 ? [UNKNOWN] : told.calls) {
    const place = failures.findIndex((failure) => failure.name === name);
    const problem = place < 0 ? told.refusal : failures.splice(place, 1)[0]?.problem;
    const status = hungUp ?? problem?.status ?? 200;
    const limit = problem?.limit ?? null;
    const procedure = procedureOf(name);
    options.logger.info(
      {
        request_id: requestId,
        procedure,
        status,
        code: problem?.code,
        limit: limit ?? undefined,
        ms: Math.round(ms * 10) / 10,
        team: told.teamId ?? undefined,
        kind: told.kind ?? undefined,
        network: networkForLog(options.addressOf(request).ip),
        trace: traceId,
      },
      'call',
    );
    options.observeCall(procedure, { status, limit }, ms / 1000, modeOf(told.teamId ?? ''));
  }
}

/** A call of a request that has failed. */
export interface FailedCall {
  readonly name: string;
  readonly problem: ProblemError;
}

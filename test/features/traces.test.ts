// Which requests are traced, and what becomes of traces that nobody takes.
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { createTracing, STOP_LIMIT_MS } from '../../src/runtime/open-telemetry.ts';
import type { Sampling } from '../../src/runtime/tracing-settings.ts';
import { steppedClock } from '../support/clocks.ts';
import { hang, startReceiver } from '../support/receiver.ts';
import { startTraceReceiver } from '../support/trace-receiver.ts';
import { traceparentOf } from '../support/traced-team.ts';

const START = new Date('2026-11-02T09:00:00.000Z');

describe('the decision', () => {
  const OUTCOME = { route: '/me', method: 'GET', status: 200, requestId: 'r', code: null } as const;

  async function tracesBy(
    sampling: Sampling,
    header: string | undefined,
    caller: 'known' | 'a stranger',
    calls = 1,
  ): Promise<number> {
    const traces = await startTraceReceiver();
    const settings = { endpoint: traces.url, headers: null, serviceName: 'test', sampling };
    const tracing = createTracing(settings, pino({ level: 'silent' }), steppedClock(START));
    for (let count = 0; count < calls; count += 1) {
      const trace = tracing.request(header, systemClock.monotonicMs());
      if (caller === 'known') trace?.known();
      trace?.end({ ...OUTCOME, teamId: null });
    }
    await tracing.stop();
    return traces.spans().length;
  }

  test.each<readonly [string, Sampling, string | undefined, 'known' | 'a stranger', number]>([
    ['nobody asks', { ratio: 1, followsCallers: true }, undefined, 'a stranger', 1],
    ['a stranger asks for none', { ratio: 1, followsCallers: true }, '00', 'a stranger', 1],
    ['a stranger asks', { ratio: 0, followsCallers: true }, '01', 'a stranger', 0],
    ['somebody known asks', { ratio: 0, followsCallers: true }, '01', 'known', 1],
    ['somebody known asks for none', { ratio: 1, followsCallers: true }, '00', 'known', 0],
    ['an ignored wish', { ratio: 0, followsCallers: false }, '01', 'known', 0],
    ['an ignored refusal', { ratio: 1, followsCallers: false }, '00', 'known', 1],
  ])('is right if it is: %s', async (_case, sampling, flags, caller, count) => {
    const header = flags && traceparentOf('1', flags);
    expect(await tracesBy(sampling, header, caller)).toBe(count);
  });

  test('is a matter of chance for callers without a wish', async () => {
    const sampling = { ratio: 0.5, followsCallers: true };
    const count = await tracesBy(sampling, undefined, 'known', 400);
    // Beyond 100 and 300 once in 10^24 runs.
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(300);
  });
});

test('a receiver of traces that hangs does not hold up the stop, and the log tells', async () => {
  const silent = await startReceiver();
  silent.on('/v1/traces', hang);
  const sampling = { ratio: 1, followsCallers: true };
  const settings = { endpoint: silent.url, headers: null, serviceName: 'test', sampling };
  const logged: string[] = [];
  const logger = pino({}, { write: (line) => logged.push(line) });
  const clock = steppedClock(START);
  const tracing = createTracing(settings, logger, clock);
  const outcome = { route: '/me', method: 'GET', status: 200, requestId: 'r', code: null };
  const trace = tracing.request(undefined, systemClock.monotonicMs());
  trace?.end({ ...outcome, teamId: 'team_a' });
  const stopped = tracing.stop();
  await silent.arrived('/v1/traces');
  expect(logged).toEqual([]);
  clock.advance(STOP_LIMIT_MS);
  await stopped;
  expect(logged.join()).toContain('traces could not be sent');
});

// What follows an error of a call: another try, a look at the session, or what was there before.
import { QueryClient } from '@tanstack/react-query';
import { TRPCClientError } from '@trpc/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { nextSent } from '../../../src/admin-ui/lib/once.ts';
import {
  concernsSession,
  retriesChange,
  retriesMissing,
  retriesRead,
} from '../../../src/admin-ui/lib/retries.ts';
import {
  helpsToRetry,
  isExpiring,
  isSameReader,
  leftMsOf,
  refusalOf,
  renewalAfterMs,
  standstillOf,
} from '../../../src/admin-ui/lib/session-rules.ts';
import type { Session, SessionState } from '../../../src/admin-ui/lib/session.ts';
import { shownFirst } from '../../../src/admin-ui/lib/shown-first.ts';
import { PROBLEMS } from '../../../src/core/problem.ts';
import { readAdminSources } from '../../support/admin-ui.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** All that a call can fail with; `network` has no answer. */
const CODES = [...Object.keys(PROBLEMS), 'network'];
function errorOf(code: string): Error {
  if (code === 'network') return new Error('fetch failed');
  const data = { problem: { code, request_id: 'r1' } };
  return TRPCClientError.from({ error: { code: -32_600, message: 'refused', data } } as never);
}
const codesOf = (holds: (error: Error) => boolean) =>
  CODES.filter((code) => holds(errorOf(code))).toSorted();

describe('another try', () => {
  test.each([
    ['of a read', retriesRead, ['network', 'unavailable'], 2],
    ['of a change that is sent again', retriesChange, ['conflict', 'network', 'unavailable'], 2],
    ['to find what is written a moment later', retriesMissing, ['not_found'], 3],
  ] as const)('%s follows what may end differently', (_, retries, codes, tries) => {
    expect(codesOf((error) => retries(0, error))).toEqual(codes);
    expect(codesOf((error) => retries(tries - 1, error))).toEqual(codes);
    expect(codesOf((error) => retries(tries, error))).toEqual([]);
  });
});

describe('the session', () => {
  test.each([
    [false, ['forbidden', 'unauthorized']],
    [true, ['forbidden', 'not_found', 'unauthorized']],
  ])('is looked at after what may have changed it (in a sandbox: %j)', (isSandbox, codes) => {
    expect(codesOf((error) => concernsSession(error, isSandbox))).toEqual(codes);
  });

  test.each([
    [401, 'ended', 'ended'],
    [402, 'unreachable', 'unreachable'],
    [403, 'closed', 'closed'],
    [404, 'unreachable', 'no_sandbox'],
    [429, 'unreachable', 'unreachable'],
    [500, 'unreachable', 'unreachable'],
    [503, 'unreachable', 'unreachable'],
  ])('that is answered with %i is %s, in a sandbox %s', (status, live, sandbox) => {
    expect(refusalOf(status, false)).toBe(live);
    expect(refusalOf(status, true)).toBe(sandbox);
  });

  test('has the time left that the service counts, or this browser', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: ['Date'] });
    const end = '2026-01-01T00:05:00.000Z';
    expect(leftMsOf(end, null)).toBe(300_000);
    expect(leftMsOf(end, 'Thu, 01 Jan 2026 00:04:00 GMT')).toBe(60_000);
  });

  test.each([
    [2 ** 31 + 60_000, 3_600_000],
    [600_000, 540_000],
    [65_001, 5_001],
    [65_000, 5_000],
    [64_999, 5_000],
    [0, 5_000],
    [-1, 5_000],
  ])('with %i ms left asks for a new token after %i ms', (leftMs, afterMs) => {
    expect(renewalAfterMs(leftMs)).toBe(afterMs);
  });

  test('is the same reader only with the same person and team', () => {
    const of = (team: string, member_id: string) => ({ team: { id: team }, member_id }) as Session;
    const one = of('team_a', 'mem_1');
    expect(isSameReader(one, of('team_a', 'mem_1'))).toBe(true);
    expect(isSameReader(one, of('team_b', 'mem_1'))).toBe(false);
    expect(isSameReader(one, of('team_a', 'mem_2'))).toBe(false);
  });

  test('is not used for a call in its last two seconds', () => {
    vi.useFakeTimers({ now: 10_000, toFake: ['Date'] });
    expect(isExpiring(12_000)).toBe(false);
    expect(isExpiring(11_999)).toBe(true);
    expect(isExpiring(Infinity)).toBe(false);
  });
});

describe('instead of the page', () => {
  const NOBODY = ['loading', 'none', 'closed', 'no_sandbox', 'unreachable', 'no_host', 'host_down'];

  test('stands why nobody is signed in', () => {
    for (const kind of NOBODY) expect(standstillOf({ kind } as SessionState)).toBe(kind);
  });

  test.each([
    ['owner', null],
    ['admin', null],
    ['member', 'forbidden'],
  ])('of a session of a %s stands %s', (role, expected) => {
    for (const kind of ['open', 'ended'])
      expect(standstillOf({ kind, session: { role } } as SessionState)).toBe(expected);
  });

  test('is another try if it may help', () => {
    const states = [...NOBODY, 'forbidden'] as Parameters<typeof helpsToRetry>[0][];
    expect(states.filter(helpsToRetry)).toEqual(['unreachable', 'no_host']);
  });
});

describe('a change whose response shows a secret', () => {
  test('has the same key as long as it is the same', () => {
    const first = nextSent(null, { name: 'a' });
    expect(first.idempotencyKey).toMatch(/^[\da-f]{32}$/);
    expect(nextSent(first, { name: 'a' })).toBe(first);
    const second = nextSent(first, { name: 'b' });
    expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
    expect(nextSent(second, { name: 'a' }).idempotencyKey).not.toBe(first.idempotencyKey);
  });

  test.each([
    [0, '00'],
    [10, '0a'],
    [255, 'ff'],
  ])('of bytes that are %i has a key of full length', (byte, digits) => {
    const random = vi
      .spyOn(crypto, 'getRandomValues')
      .mockImplementation((bytes) => (bytes as unknown as Uint8Array).fill(byte) as never);
    expect(nextSent(null, 1).idempotencyKey).toBe(digits.repeat(16));
    random.mockRestore();
  });
});

describe('a change that is shown before the service has answered', () => {
  const KEY = ['list'];
  const change = (numbers: number[], more: number) => [...numbers, more];
  const setUp = (shown?: number[]) => {
    const cache = new QueryClient();
    if (shown) cache.setQueryData(KEY, shown);
    const onUndone = vi.fn<() => void>();
    return { cache, onUndone, options: shownFirst(cache, { keyOf: () => KEY, change, onUndone }) };
  };

  test('is undone if it is refused', async () => {
    const { cache, onUndone, options } = setUp([1]);
    const before = await options.onMutate(2);
    expect(cache.getQueryData(KEY)).toEqual([1, 2]);
    expect(onUndone).not.toHaveBeenCalled();
    options.onError(errorOf('conflict'), 2, before);
    expect(cache.getQueryData(KEY)).toEqual([1]);
    expect(onUndone).toHaveBeenCalledOnce();
  });

  test('is not called undone if its answer was lost', async () => {
    const { cache, onUndone, options } = setUp([1]);
    const before = await options.onMutate(2);
    options.onError(errorOf('network'), 2, before);
    expect(cache.getQueryData(KEY)).toEqual([1]);
    expect(onUndone).not.toHaveBeenCalled();
  });

  test('of what is not shown yet shows nothing', async () => {
    const { cache, onUndone, options } = setUp();
    const before = await options.onMutate(2);
    options.onError(errorOf('conflict'), 2, before);
    options.onError(errorOf('conflict'), 2, undefined);
    expect(cache.getQueryData(KEY)).toBeUndefined();
    expect(onUndone).toHaveBeenCalledTimes(2);
  });

  test('is not covered by an answer to an older question', async () => {
    const { cache, options } = setUp([1]);
    const answer = Promise.withResolvers<number[]>();
    const read = cache.fetchQuery({ queryKey: KEY, queryFn: () => answer.promise });
    const ended = read.catch(() => 'cancelled');
    await options.onMutate(2);
    answer.resolve([9]);
    await ended;
    expect(cache.getQueryData(KEY)).toEqual([1, 2]);
  });

  test('is undone where it was shown, whatever is chosen meanwhile', async () => {
    const cache = new QueryClient();
    for (const of of ['kim', 'team']) cache.setQueryData([of], [1]);
    let chosen = 'kim';
    const later = () => {
      const keyOf = (input: { of: string }) => [input.of];
      return shownFirst(cache, { keyOf, change: () => [chosen], onUndone: () => undefined });
    };
    const before = await later().onMutate({ of: 'kim' });
    chosen = 'team';
    later().onError(errorOf('conflict'), { of: 'kim' }, before);
    expect(cache.getQueryData(['kim'])).toEqual([1]);
    expect(cache.getQueryData(['team'])).toEqual([1]);
  });

  test('is read again when it is over, and nothing else is', async () => {
    const { cache, options } = setUp([1]);
    cache.setQueryData(['other'], 1);
    await options.onSettled(undefined, null, 2);
    expect(cache.getQueryState(KEY)?.isInvalidated).toBe(true);
    expect(cache.getQueryState(['other'])?.isInvalidated).toBe(false);
  });
});

describe('what comes of each change', () => {
  /** The changes of a file: those of its components, and of its hooks by what they call them. */
  const changesIn = (file: string, text: string) => {
    const hooks = [...text.matchAll(/function (use\w+)\(\) \{((?:(?!\n\}).)*)/gs)];
    const makers = new Map([
      ['useMutation', ''],
      ['useSecretMutation', ''],
      ...hooks
        .filter(([, , body = '']) => body.includes('return useMutation('))
        .map(([, hook = '', body = '']) => [hook, body] as const),
    ]);
    const made = [...text.matchAll(/const (\w+) = (\w+)(?:<.*>)?\(/g)].flatMap(
      ([, name = '', maker = '']) => {
        const body = makers.get(maker);
        return body === undefined ? [] : { name, isShownFirst: body.includes('...optimistic') };
      },
    );
    const others = made.map(({ name }) => name);
    return made.map((one) => ({ ...one, change: `${file} ${one.name}`, text, others }));
  };
  const CHANGES = [...readAdminSources()].flatMap(([file, text]) => changesIn(file, text));
  const namesOf = (some: typeof CHANGES): string[] => some.map(({ change }) => change);
  /** `mutation`: a dialog that shows both. */
  const isGiven = ({ name, text }: (typeof CHANGES)[number]): boolean =>
    text.includes(`mutation={${name}}`);

  test('is said where it failed', () => {
    expect(CHANGES.length).toBeGreaterThan(35);
    const silent = CHANGES.filter((one) => {
      const { name, text, isShownFirst } = one;
      // What is shown before has a scope, if several can be made.
      const isKept = isShownFirst && text.includes('useLastFailure(SCOPE)');
      const isLast = new RegExp(`lastError\\([^)]*\\b${name}\\b`).test(text);
      return !isLast && !isKept && !isGiven(one) && !text.includes(`${name}.error`);
    });
    expect(namesOf(silent)).toEqual([]);
  });

  test('is waited for, unless it is shown before', () => {
    const OTHERWISE: Readonly<Record<string, string>> = {
      'pages/crm.tsx pause': 'toggle.isPending',
      'pages/crm.tsx resume': 'toggle.isPending',
      // It leads elsewhere.
      'sign-in.tsx visit': 'location.assign(href)',
    };
    const unheeded = CHANGES.filter((one) => {
      const { change, name, text, isShownFirst } = one;
      const isHeeded = text.includes(OTHERWISE[change] ?? `${name}.isPending`);
      return !isShownFirst && !isHeeded && !isGiven(one);
    });
    expect(namesOf(unheeded)).toEqual([]);
  });

  test('is that of the last one, where several can be made', () => {
    const first = CHANGES.filter(({ name, text, others }) =>
      others.some((other) => text.includes(`${name}.error ?? ${other}.error`)),
    );
    // Use `lastError` of `lib/field-problems.ts`.
    expect(namesOf(first)).toEqual([]);
  });
});

// How the client follows the events of a team: which it asks for, in which order they come, and
// what a place remembers. The API is a list in memory that answers as `GET /events` does.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createClient, followEvents, type FollowOptions } from '../../src/client/index.ts';

const START = Date.parse('2026-11-02T09:00:00.000Z');
interface Stored {
  readonly id: string;
  readonly at: number;
}

/**
 * Events in the order in which they become visible; `add` makes some visible. The newest-first list
 * also has `early` ones, which have no place in that order yet.
 */
function startApi(stored: Stored[] = [], { early = [] as Stored[] } = {}) {
  const asked: URL[] = [];
  const failures: (Response | Error)[] = [];
  const before: (() => void)[] = [];
  const add = (...more: Stored[]) => void stored.push(...more);
  const client = createClient({
    apiKey: 'svck_live_x',
    baseUrl: 'https://team.example/api/public/v1',
    maxRetries: 0,
    fetch: async ({ url }) => {
      const { searchParams } = new URL(url);
      asked.push(new URL(url));
      before.shift()?.();
      const failure = failures.shift();
      if (failure instanceof Error) throw failure;
      if (failure) return failure;
      // As the real one, with smaller pages.
      const size = Math.min(Number(searchParams.get('limit')), 3);
      const isInOrder = searchParams.get('order') === 'asc';
      const list = isInOrder ? stored : [...early, ...stored].toSorted((a, b) => b.at - a.at);
      const after = searchParams.get(isInOrder ? 'after' : 'cursor');
      if (after === 'now') {
        const next_after = stored.at(-1)?.id ?? null;
        return new Response(JSON.stringify({ data: [], next_cursor: null, next_after }));
      }
      const start = list.findIndex(({ id }) => id === after) + 1;
      if (after !== null && start === 0) return problem(422, { field: 'after' });
      const page = list.slice(start, start + size);
      const next = list.length > start + size ? (page.at(-1)?.id ?? null) : null;
      const data = page.map((one) => ({
        id: one.id,
        type: 'ping',
        created_at: new Date(one.at).toISOString(),
        data: {},
      }));
      const next_after = page.at(-1)?.id ?? after;
      const body = { data, next_cursor: next, ...(isInOrder && { next_after }) };
      return new Response(JSON.stringify(body));
    },
  });
  return { client, asked, failures, before, add };
}

const problem = (status: number, more: object = {}, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ status, code: 'c', title: 'T', request_id: 'r1', ...more }), {
    status,
    headers,
  });

const event = (n: number): Stored => ({
  id: `evt_${String(n).padStart(3, '0')}`,
  at: START + n * 1000,
});
const events = (count: number) => Array.from({ length: count }, (_, n) => event(n));
const idsOf = (stored: readonly Stored[]) => stored.map(({ id }) => id);

/** Takes so many events, and ends. */
async function take(
  { client }: ReturnType<typeof startApi>,
  count: number,
  options: FollowOptions = {},
): Promise<string[]> {
  const ended = new AbortController();
  const ids: string[] = [];
  const all = { intervalMs: 1, since: new Date(START), signal: ended.signal, ...options };
  for await (const { id } of followEvents(client, all)) if (ids.push(id) === count) ended.abort();
  return ids;
}

describe('followEvents', () => {
  it('yields the past in order, over many pages, and then what happens', async () => {
    const api = startApi();
    const past = events(20);
    api.add(...past);
    // Of the list to find the beginning, and of the seven pages behind it.
    api.before[14] = () => api.add(event(20));
    expect(await take(api, 21)).toEqual(idsOf([...past, event(20)]));
    expect(api.asked).toHaveLength(15);
  });

  it('goes on behind its place with all that follows, whatever `since` says', async () => {
    const api = startApi([event(1), event(-30), event(2)]);
    expect(await take(api, 2, { place: 'evt_001' })).toEqual(['evt_-30', 'evt_002']);
  });

  it('begins behind an event of a minute before `since`, and skips older ones', async () => {
    const api = startApi([event(-90), event(-61), event(-30), event(2), event(-5), event(1)]);
    expect(await take(api, 2)).toEqual(['evt_002', 'evt_001']);
    const [, second] = api.asked.filter(({ searchParams }) => searchParams.get('order') === null);
    expect(second?.searchParams.get('cursor')).toBe('evt_0-5');
    const inOrder = api.asked.find(({ searchParams }) => searchParams.get('order') === 'asc');
    expect(inOrder?.searchParams.get('after')).toBe('evt_-61');
  });

  it('finds an event however late it becomes visible', async () => {
    const api = startApi([event(500)]);
    api.before[2] = () => api.add(event(1));
    expect(await take(api, 2)).toEqual(['evt_500', 'evt_001']);
  });

  it('goes on at its place, which is the id of an event', async () => {
    const api = startApi();
    api.add(...events(8));
    const places: string[] = [];
    const onPlace = async (text: string) => void places.push(text);
    expect(await take(api, 5, { onPlace })).toEqual(idsOf(events(5)));
    expect(places).toEqual(['oldest', ...idsOf(events(5))]);
    const place = places.at(-1) ?? '';
    expect(await take(api, 3, { place })).toEqual(idsOf([5, 6, 7].map((n) => event(n))));
    expect(await take(api, 8, { place: 'oldest' })).toEqual(idsOf(events(8)));
  });

  it('remembers those that a filter passes', async () => {
    const api = startApi();
    const page = { data: [], next_cursor: null, next_after: 'evt_009' };
    api.failures.push(new Response(JSON.stringify(page)));
    const ended = new AbortController();
    const places: string[] = [];
    const onPlace = (text: string) => {
      places.push(text);
      if (text === 'evt_009') ended.abort();
    };
    const options = { place: 'evt_001', type: 'member.joined', onPlace, signal: ended.signal };
    expect(await take(api, 1, { ...options, intervalMs: 60_000 })).toEqual([]);
    expect(places).toEqual(['evt_009']);
    expect(api.asked[0]?.searchParams.get('type')).toBe('member.joined');
  });

  it('goes on with the oldest event, and says so, if that of its place was deleted', async () => {
    const api = startApi(events(3));
    let lost = 0;
    const onLostPlace = () => void (lost += 1);
    expect(await take(api, 3, { place: 'evt_gone', onLostPlace })).toEqual(idsOf(events(3)));
    expect(lost).toBe(1);
  });

  it('says so, too, if what follows is deleted in the middle of the list', async () => {
    const stored = events(5);
    const api = startApi(stored);
    api.before[1] = () => void stored.splice(0, 4);
    let lost = 0;
    const onLostPlace = () => void (lost += 1);
    const found = await take(api, 4, { place: 'oldest', onLostPlace });
    expect(found).toEqual(idsOf([0, 1, 2, 4].map((n) => event(n))));
    expect(lost).toBe(1);
  });

  it('gives an event again that was not handled', async () => {
    const api = startApi(events(2));
    let place: string | null = null;
    const follow = () =>
      followEvents(api.client, {
        since: new Date(START),
        place,
        onPlace: (it) => void (place = it),
      });
    for await (const { id } of follow()) if (id === 'evt_001') break;
    for await (const { id } of follow()) {
      expect(id).toBe('evt_001');
      break;
    }
  });

  describe('without a place and `since`', () => {
    /** Takes so many events from now on. */
    const takeNew = async (api: ReturnType<typeof startApi>, count: number) => {
      const ended = new AbortController();
      const ids: string[] = [];
      const options = { intervalMs: 1, signal: ended.signal };
      for await (const { id } of followEvents(api.client, options))
        if (ids.push(id) === count) ended.abort();
      return ids;
    };

    it('begins with what happens from now on', async () => {
      const api = startApi([event(-5)]);
      api.before[2] = () => api.add(event(3));
      expect(await takeNew(api, 1)).toEqual(['evt_003']);
      const [first] = api.asked;
      expect(first?.search).toBe('?order=asc&after=now&limit=1');
    });

    it('begins with the oldest event if none had a place', async () => {
      const api = startApi([]);
      api.before[2] = () => api.add(event(3));
      expect(await takeNew(api, 1)).toEqual(['evt_003']);
    });

    it('misses none that is placed before an event that could be seen already', async () => {
      const api = startApi([event(-5)], { early: [event(2)] });
      api.before[1] = () => api.add(event(1), event(2));
      expect(await takeNew(api, 2)).toEqual(['evt_001', 'evt_002']);
    });
  });

  it.each([503, 408])('waits a %i out, tells it, and loses no place', async (status) => {
    const api = startApi();
    api.add(...events(8));
    api.failures.push(problem(status, {}, { 'retry-after': '0' }));
    const waits: number[] = [];
    const onOutage = ({ waitMs }: { waitMs: number }) => waits.push(waitMs);
    expect(await take(api, 8, { onOutage })).toEqual(idsOf(events(8)));
    expect(waits).toEqual([1000]);
  });

  it('waits longer from outage to outage, and forgets them when the API has answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const api = startApi(events(2));
    const waits: number[] = [];
    const onOutage = ({ waitMs }: { waitMs: number }) => waits.push(waitMs);
    // The second one is of a gateway.
    api.failures.push(problem(500), problem(503, { code: 503, status: 'Failure' }));
    const taken = take(api, 3, { place: 'oldest', onOutage });
    const pass = async (ms: number) => vi.advanceTimersByTimeAsync(ms);
    await pass(4_000);
    await pass(8_000);
    api.failures.push(problem(500));
    await pass(1);
    api.add(event(2));
    await pass(4_000);
    expect(await taken).toEqual(idsOf(events(3)));
    expect(waits).toEqual([4_000, 8_000, 4_000]);
  });

  it('throws a refusal, and what the caller throws', async () => {
    const api = startApi(events(1));
    api.failures.push(problem(401, { code: 'unauthorized' }));
    await expect(take(api, 1)).rejects.toMatchObject({ code: 'unauthorized' });
    const onPlace = () => Promise.reject(new Error('disk full'));
    await expect(take(api, 2, { onPlace })).rejects.toThrow('disk full');
  });

  it.each([NaN, -1])('asks nothing with an intervalMs of %s', async (intervalMs) => {
    const api = startApi();
    const signal = AbortSignal.timeout(50);
    await expect(take(api, 1, { place: 'oldest', intervalMs, signal })).rejects.toThrow(
      new RangeError('intervalMs must be a number of milliseconds.'),
    );
    expect(api.asked).toEqual([]);
  });

  it.each([Infinity, 2 ** 31])('asks once with an intervalMs of %s', async (intervalMs) => {
    const api = startApi();
    const signal = AbortSignal.timeout(50);
    expect(await take(api, 1, { place: 'oldest', intervalMs, signal })).toEqual([]);
    expect(api.asked).toHaveLength(1);
  });

  it('ends without an error while it waits', async () => {
    const api = startApi();
    const ended = new AbortController();
    // The answer and what becomes of it are done before the next turn of the event loop.
    api.before.push(() => setImmediate(() => ended.abort()));
    expect(await take(api, 1, { intervalMs: 60_000, signal: ended.signal })).toEqual([]);
  });
});

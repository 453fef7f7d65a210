// How the client follows the events of a team: which it asks for, in which order they come, and
// what a place remembers. The API is a list in memory that answers as `GET /events` does.
import { describe, expect, it } from 'vitest';
import { createClient, followEvents, type FollowOptions } from '../../src/client/index.ts';

const START = Date.parse('2026-11-02T09:00:00.000Z');
interface Stored {
  readonly id: string;
  readonly at: number;
}

/** Events, newest first; `add` makes one visible. */
function startApi(stored: Stored[] = []) {
  const asked: URL[] = [];
  const failures: (Response | Error)[] = [];
  const before: (() => void)[] = [];
  const add = (...more: Stored[]) => {
    stored.push(...more);
    stored.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  };
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
      const since = Date.parse(searchParams.get('since') ?? '1970-01-01T00:00:00Z');
      const [at = '', id = ''] = (searchParams.get('cursor') ?? '').split('|');
      const isAfter = (one: Stored) =>
        at === '' || one.at < Number(at) || (one.at === Number(at) && one.id < id);
      const rest = stored.filter((one) => one.at >= since && isAfter(one));
      const page = rest.slice(0, size);
      const last = page.at(-1);
      const next_cursor = rest.length > size && last ? `${last.at}|${last.id}` : null;
      const data = page.map((one) => ({
        id: one.id,
        type: 'ping',
        created_at: new Date(one.at).toISOString(),
        data: {},
      }));
      const headers = { date: new Date(START).toUTCString() };
      return new Response(JSON.stringify({ data, next_cursor }), { headers });
    },
  });
  return { client, asked, failures, before, add };
}

const event = (n: number, s = n): Stored => ({
  id: `evt_${String(n).padStart(3, '0')}`,
  at: START + s * 1000,
});
const events = (count: number, gapS = 1) =>
  Array.from({ length: count }, (_, n) => event(n, n * gapS));
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
  it('yields the past oldest first, over many pages, and then what happens', async () => {
    const api = startApi();
    const past = events(20);
    api.add(...past);
    const next = event(20);
    // After the seven pages of the first walk and the six of the second.
    api.before[15] = () => api.add(next);
    expect(await take(api, 21)).toEqual(idsOf([...past, next]));
  });

  it('loses nothing and repeats nothing if events become visible while it reads', async () => {
    for (let call = 0; call < 9; call += 1) {
      const api = startApi();
      const past = events(10, 100);
      api.add(...past);
      // One is the newest, the other has a time within each of the pages.
      const late = [{ id: 'evt_late', at: START + 450_500 }, event(99, 901)];
      api.before[call] = () => api.add(...late);
      const ids: string[] = [];
      const options = { intervalMs: 1, since: new Date(START) };
      for await (const { id } of followEvents(api.client, options)) {
        ids.push(id);
        if (id === 'evt_099') break;
      }
      // What becomes visible more than a minute late, where the loop has been, is not promised.
      const isInTime = call <= 6;
      const expected = [...past, ...late]
        .filter(({ id }) => isInTime || id !== 'evt_late')
        .toSorted((a, b) => a.at - b.at);
      expect([call, ...ids]).toEqual([call, ...idsOf(expected)]);
    }
  });

  it('finds an event that became visible late, within a minute', async () => {
    const api = startApi([event(50)]);
    api.before[1] = () => api.add(event(1, 49));
    expect(await take(api, 2)).toEqual(['evt_050', 'evt_001']);
  });

  it('goes on at its place, without those that it had', async () => {
    const api = startApi();
    api.add(...events(8));
    let place = '';
    const onPlace = async (text: string) => void (place = text);
    expect(await take(api, 5, { onPlace })).toEqual(idsOf(events(5)));
    api.add(event(8));
    expect(await take(api, 4, { place, onPlace })).toEqual(
      idsOf([5, 6, 7, 8].map((n) => event(n))),
    );
    expect(place.startsWith('2026-11-02T09:00:08.000Z evt_000 evt_001 ')).toBe(true);
  });

  it('gives an event again that was not handled', async () => {
    const api = startApi(events(2).toReversed());
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

  it('begins with what happens from now on, by the clock of the API', async () => {
    const api = startApi([event(-5)]);
    api.before[1] = () => api.add(event(3));
    const ended = new AbortController();
    const ids: string[] = [];
    for await (const { id } of followEvents(api.client, { intervalMs: 1, signal: ended.signal })) {
      ids.push(id);
      ended.abort();
    }
    expect(ids).toEqual(['evt_003']);
  });

  it('waits an outage out, tells it, and loses its place in none', async () => {
    const api = startApi();
    api.add(...events(8));
    const problem = (status: number, headers: Record<string, string> = {}) =>
      new Response(JSON.stringify({ status, code: 'c', title: 'T' }), { status, headers });
    api.failures.push(problem(503, { 'retry-after': '0' }));
    const waits: number[] = [];
    const onOutage = ({ waitMs }: { waitMs: number }) => waits.push(waitMs);
    expect(await take(api, 8, { onOutage })).toEqual(idsOf(events(8)));
    expect(waits).toEqual([1000]);
  });

  it('throws a refusal, and what the caller throws', async () => {
    const api = startApi(events(1));
    const refusal = JSON.stringify({ status: 401, code: 'unauthorized', title: 'No' });
    api.failures.push(new Response(refusal, { status: 401 }));
    await expect(take(api, 1)).rejects.toMatchObject({ code: 'unauthorized' });
    const onPlace = () => Promise.reject(new Error('disk full'));
    await expect(take(api, 2, { onPlace })).rejects.toThrow('disk full');
    await expect(take(api, 1, { place: 'nonsense' })).rejects.toThrow(TypeError);
  });

  it('ends without an error while it waits', async () => {
    const api = startApi();
    const ended = new AbortController();
    api.before.push(() => setTimeout(() => ended.abort(), 10));
    expect(await take(api, 1, { intervalMs: 60_000, signal: ended.signal })).toEqual([]);
  });
});

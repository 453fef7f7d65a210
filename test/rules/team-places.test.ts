// How callers wait for a place of their team. `fair-queue.test.ts` has the order.
import { expect, test } from 'vitest';
import type { ProblemError } from '../../src/core/problem.ts';
import { createTeamPlaces } from '../../src/db/connections/team-places.ts';
import type { Caller } from '../../src/db/caller.ts';
import { steppedClock } from '../support/clocks.ts';

function openPlaces(places: number, perTeam: number) {
  const clock = steppedClock(new Date());
  const refusals: string[] = [];
  const observeRefusal = (limit: string, owner: string | null) =>
    void refusals.push(`${limit} ${owner}`);
  return { clock, refusals, queue: createTeamPlaces({ places, perTeam, observeRefusal, clock }) };
}

const caught = (entering: Promise<unknown>): Promise<unknown> =>
  entering.catch((error: ProblemError) => [error.code, error.limit]);

test('a caller waits for a place of its team, behind those who came before', async () => {
  const { queue } = openPlaces(4, 1);
  const leave = await queue.enter({ share: 'a' });
  const [second, third] = [queue.enter({ share: 'a' }), queue.enter({ share: 'a' })];
  expect(queue.waiting()).toBe(2);
  (await queue.enter({ share: 'b' }))();
  leave();
  const leaveSecond = await second;
  expect(queue.waiting()).toBe(1);
  leaveSecond();
  await third;
});

test('a caller is refused after 5 s, and as one too many in the queue', async () => {
  const { queue, clock, refusals } = openPlaces(1, 1);
  await queue.enter({ share: 'a' });
  const waiting = Array.from({ length: 100 }, () => caught(queue.enter({ share: 'a' })));
  expect(await caught(queue.enter({ share: 'a' }))).toEqual(['unavailable', 'team_queue_length']);
  clock.advance(4_999);
  expect(queue.waiting()).toBe(100);
  clock.advance(1);
  expect(await waiting[0]).toEqual(['unavailable', 'team_queue_time']);
  expect(queue.waiting()).toBe(0);
  expect(refusals).toHaveLength(101);
  expect(new Set(refusals)).toEqual(new Set(['team_queue_length a', 'team_queue_time a']));
});

test.each<[string, Caller]>([
  ['the process itself', { share: null }],
  ['background work', { share: 'a', background: true }],
])('%s waits without a limit', async (_, caller) => {
  const { queue, clock, refusals } = openPlaces(1, 1);
  const leave = await queue.enter({ share: 'b' });
  const entering = Array.from({ length: 101 }, () => queue.enter(caller));
  clock.advance(60_000);
  leave();
  (await entering[0])?.();
  await entering[1];
  expect(refusals).toEqual([]);
});

test('callers who hang up, or have hung up, leave their place to others', async () => {
  const { queue } = openPlaces(1, 1);
  const calling = new AbortController();
  const { signal } = calling;
  const leave = await queue.enter({ share: 'a', signal });
  const waiting = caught(queue.enter({ share: 'a', signal }));
  const last = queue.enter({ share: 'b' });
  calling.abort();
  expect(await waiting).toEqual(['unavailable', null]);
  expect(await caught(queue.enter({ share: 'c', signal }))).toEqual(['unavailable', null]);
  leave();
  (await last)();
  expect(queue.hasRoom({ share: 'c' })).toBe(true);
});

test('teams of one node have at most three quarters of the places', async () => {
  const { queue } = openPlaces(4, 4);
  for (let n = 0; n < 3; n += 1) await queue.enter({ share: 'a', node: 'silent' });
  expect(queue.hasRoom({ share: 'b', node: 'silent' })).toBe(false);
  expect(queue.hasRoom({ share: 'b', node: 'other' })).toBe(true);
  expect(queue.hasRoom({ share: 'b' })).toBe(true);
});

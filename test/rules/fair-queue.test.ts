import { describe, expect, test } from 'vitest';
import type { ProblemError } from '../../src/core/problem.ts';
import { createFairQueue, type FairQueue } from '../../src/db/connections/fair-queue.ts';
import { steppedClock } from '../support/clocks.ts';

/** Lets callers enter, and notes who was let in, in order. */
function enterAll(
  queue: FairQueue,
  teams: readonly (string | null)[],
  signal?: AbortSignal,
): { readonly inside: (string | null)[]; readonly refusals: ProblemError[] } {
  const inside: (string | null)[] = [];
  const refusals: ProblemError[] = [];
  for (const teamId of teams)
    void queue.enter({ share: teamId, ...(signal && { signal }) }).then(
      () => inside.push(teamId),
      (error: ProblemError) => refusals.push(error),
    );
  return { inside, refusals };
}

const settled = (): Promise<void> => new Promise((done) => setImmediate(done));

describe('a fair queue', () => {
  test('lets a team have its share, and others have the rest', async () => {
    const queue = createFairQueue({ places: 4, perTeam: 2 });
    const { inside } = enterAll(queue, ['a', 'a', 'a', 'a', 'b', 'c']);
    await settled();
    expect(inside).toEqual(['a', 'a', 'b', 'c']);
  });

  test('counts work for several shares as so many of its team, and as one place', async () => {
    const queue = createFairQueue({ places: 6, perTeam: 3 });
    const inside: string[] = [];
    const enter = (team: string, shares: number): void =>
      void queue.enter({ share: team }, shares).then(() => inside.push(`${team}${shares}`));
    enter('a', 2);
    enter('a', 1);
    enter('b', 100);
    // Nothing passes a batch in the line of its team.
    enter('a', 100);
    enter('a', 1);
    enter('a', 1);
    enter('c', 3);
    await settled();
    expect(inside.splice(0)).toEqual(['a2', 'a1', 'b100', 'c3']);
    queue.leave({ share: 'a' }, 1);
    await settled();
    expect(inside).toEqual([]);
    queue.leave({ share: 'a' }, 2);
    await settled();
    expect(inside.splice(0)).toEqual(['a100']);
    // One that ends makes room for several.
    queue.leave({ share: 'a' }, 100);
    await settled();
    expect(inside).toEqual(['a1', 'a1']);
  });

  test('gives places that become free to the teams in turn', async () => {
    const queue = createFairQueue({ places: 1, perTeam: 1 });
    const { inside } = enterAll(queue, ['first', 'a', 'a', 'a', 'b', 'b', 'c']);
    for (let turn = 0; turn < 6; turn++) {
      await settled();
      queue.leave({ share: inside.at(-1) ?? '' });
    }
    await settled();
    expect(inside).toEqual(['first', 'a', 'b', 'c', 'a', 'b', 'a']);
  });

  test('passes over a team that has its share, although it waits longer', async () => {
    const queue = createFairQueue({ places: 3, perTeam: 2 });
    const { inside } = enterAll(queue, ['a', 'a', 'b', 'a', 'c']);
    await settled();
    queue.leave({ share: 'b' });
    await settled();
    expect(inside).toEqual(['a', 'a', 'b', 'c']);
  });

  test('refuses what does not fit in the line, and lets the others of the line in', async () => {
    const queue = createFairQueue({ places: 2, perTeam: 1, maxWaiting: 2 });
    const { inside, refusals } = enterAll(queue, ['a', 'a', 'a', 'a', 'a', 'b']);
    await settled();
    expect(inside).toEqual(['a', 'b']);
    expect(refusals.map(({ code }) => code)).toEqual(['unavailable', 'unavailable']);
    queue.leave({ share: 'a' });
    await settled();
    expect(inside).toEqual(['a', 'b', 'a']);
  });

  test('refuses after the time that a caller may wait, and forgets the caller', async () => {
    const clock = steppedClock(new Date());
    const queue = createFairQueue({ places: 1, perTeam: 1, maxWaitMs: 1_000, clock });
    await queue.enter({ share: 'a' });
    const { refusals } = enterAll(queue, ['a']);
    clock.advance(999);
    await settled();
    expect(refusals).toEqual([]);
    clock.advance(1);
    await settled();
    expect(refusals).toMatchObject([{ code: 'unavailable' }]);
    queue.leave({ share: 'a' });
    await queue.enter({ share: 'a' });
  });

  test('drops callers who hang up, and those who have hung up', async () => {
    const queue = createFairQueue({ places: 1, perTeam: 1 });
    const calling = new AbortController();
    const first = enterAll(queue, ['a']);
    const { inside, refusals } = enterAll(queue, ['a', 'b'], calling.signal);
    const last = enterAll(queue, ['b']);
    calling.abort();
    const late = enterAll(queue, ['c'], calling.signal);
    await settled();
    expect(first.inside).toEqual(['a']);
    expect(refusals).toHaveLength(2);
    expect(late.refusals).toHaveLength(1);
    queue.leave({ share: 'a' });
    await settled();
    expect([inside, last.inside]).toEqual([[], ['b']]);
  });

  test('gives no place to a team whose callers have all given up', async () => {
    const clock = steppedClock(new Date());
    const queue = createFairQueue({ places: 1, perTeam: 1, clock });
    await queue.enter({ share: 'a' });
    const refused = queue.enter({ share: 'b' }).catch((error: unknown) => error);
    clock.advance(5_000);
    expect(await refused).toMatchObject({ code: 'unavailable' });
    queue.leave({ share: 'a' });
    expect(queue.hasRoom({ share: 'c' })).toBe(true);
  });

  test('drops nobody of a line when one hangs up that was let in', async () => {
    const queue = createFairQueue({ places: 1, perTeam: 1 });
    const calling = new AbortController();
    enterAll(queue, ['a']);
    const { inside } = enterAll(queue, ['b'], calling.signal);
    const last = enterAll(queue, ['b']);
    queue.leave({ share: 'a' });
    await settled();
    calling.abort();
    queue.leave({ share: 'b' });
    await settled();
    expect([inside, last.inside]).toEqual([['b'], ['b']]);
  });

  test('says whether a caller would get a place at once', async () => {
    const queue = createFairQueue({ places: 3, perTeam: 2 });
    const hasRoom = (share: string) => queue.hasRoom({ share });
    enterAll(queue, ['a', 'a']);
    await settled();
    expect([hasRoom('a'), hasRoom('b')]).toEqual([false, true]);
    enterAll(queue, ['b']);
    await settled();
    expect([hasRoom('b'), hasRoom('c')]).toEqual([false, false]);
    queue.leave({ share: 'a' });
    expect([hasRoom('a'), hasRoom('c')]).toEqual([true, true]);
  });

  test('leaves a quarter of the places to the teams of other nodes', async () => {
    const queue = createFairQueue({ places: 4, perTeam: 2 });
    const inside: string[] = [];
    const enter = (share: string, node: string): void =>
      void queue.enter({ share, node }).then(() => inside.push(share));
    for (const share of ['a', 'a', 'b', 'b', 'c']) enter(share, 'silent');
    await settled();
    expect(inside).toEqual(['a', 'a', 'b']);
    expect(queue.hasRoom({ share: 'c', node: 'silent' })).toBe(false);
    expect(queue.hasRoom({ share: 'd', node: 'other' })).toBe(true);
    enter('d', 'other');
    enter('d', 'other');
    await settled();
    expect(inside).toEqual(['a', 'a', 'b', 'd']);
    // A place of the other node stays with it, as long as the first has three.
    queue.leave({ share: 'd', node: 'other' });
    await settled();
    expect(inside).toEqual(['a', 'a', 'b', 'd', 'd']);
    queue.leave({ share: 'd', node: 'other' });
    queue.leave({ share: 'a', node: 'silent' });
    await settled();
    expect(inside).toEqual(['a', 'a', 'b', 'd', 'd', 'b']);
    // Nobody is left to wait, and to be refused while another file runs.
    queue.leave({ share: 'b', node: 'silent' });
    await settled();
    expect(inside.at(-1)).toBe('c');
  });

  test('counts a place for the node where it was taken, even if the team has moved', async () => {
    const queue = createFairQueue({ places: 4, perTeam: 4 });
    const enter = (node: string) => queue.enter({ share: 'a', node });
    await Promise.all([enter('old'), enter('old'), enter('new')]);
    expect(queue.hasRoom({ share: 'b', node: 'old' })).toBe(false);
    for (const node of ['new', 'new', 'old']) queue.leave({ share: 'a', node });
    await enter('new');
    expect(queue.hasRoom({ share: 'b', node: 'old' })).toBe(true);
  });

  test('has no share and no limits for the process itself', async () => {
    const queue = createFairQueue({ places: 3, perTeam: 1, maxWaiting: 0, maxWaitMs: 0 });
    const { inside, refusals } = enterAll(queue, [null, null, null, null]);
    await settled();
    expect([inside.length, refusals.length]).toEqual([3, 0]);
    queue.leave({ share: null });
    await settled();
    expect(inside).toHaveLength(4);
  });
});

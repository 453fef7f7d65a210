import { describe, expect, test } from 'vitest';
import { createFairQueue, type FairQueueOptions, type Work } from '../../src/core/fair-queue.ts';
import { steppedClock } from '../support/clocks.ts';

/** A queue that notes who was admitted and refused, in order. */
function openQueue(options: FairQueueOptions) {
  const queue = createFairQueue(options);
  const inside: string[] = [];
  const refused: string[] = [];
  const leaves = new Map<string, (() => void)[]>();
  const enter = (owner: string, work: Partial<Work> = {}): (() => void) =>
    queue.enter({
      owner,
      ...work,
      admit: (leave) => {
        inside.push(owner);
        leaves.set(owner, [...(leaves.get(owner) ?? []), leave]);
        work.admit?.(leave);
      },
      refuse: (limit) => refused.push(`${owner} ${limit}`),
    });
  /** The work of the owner that was admitted first gives its place back. */
  const leave = (owner: string): void => leaves.get(owner)?.shift()?.();
  return { queue, inside, refused, enter, leave };
}

describe('a fair queue', () => {
  test('gives an owner its share, and others the rest', () => {
    const { enter, inside } = openQueue({ places: 4, perOwner: 2 });
    for (const owner of ['a', 'a', 'a', 'a', 'b', 'c']) enter(owner);
    expect(inside).toEqual(['a', 'a', 'b', 'c']);
  });

  test('counts work for several of its owner as so many, and as one place', () => {
    const { enter, leave, inside } = openQueue({ places: 6, perOwner: 3 });
    enter('a', { ofOwner: 2 });
    enter('a');
    enter('b', { ofOwner: 100 });
    // Nothing passes a batch in the queue of its owner.
    enter('a', { ofOwner: 100 });
    enter('a');
    enter('a');
    enter('c', { ofOwner: 3 });
    expect(inside.splice(0)).toEqual(['a', 'a', 'b', 'c']);
    leave('a');
    expect(inside).toEqual([]);
    leave('a');
    expect(inside.splice(0)).toEqual(['a']);
    // One that ends makes room for several.
    leave('a');
    expect(inside).toEqual(['a', 'a']);
  });

  test('counts work for several places as so many of all', () => {
    const { enter, leave, inside } = openQueue({ places: 10, perOwner: 6 });
    enter('a', { places: 6 });
    enter('b', { places: 5 });
    enter('c', { places: 4 });
    expect(inside.splice(0)).toEqual(['a', 'c']);
    leave('a');
    expect(inside).toEqual(['b']);
  });

  test('gives places that become free to the owners in turn', () => {
    const { enter, leave, inside } = openQueue({ places: 1, perOwner: 1 });
    for (const owner of ['first', 'a', 'a', 'a', 'b', 'b', 'c']) enter(owner);
    for (let turn = 0; turn < 6; turn++) leave(inside.at(-1) ?? '');
    expect(inside).toEqual(['first', 'a', 'b', 'c', 'a', 'b', 'a']);
  });

  test('passes over an owner that has its share, although it waits longer', () => {
    const { enter, leave, inside } = openQueue({ places: 3, perOwner: 2 });
    for (const owner of ['a', 'a', 'b', 'a', 'c']) enter(owner);
    leave('b');
    expect(inside).toEqual(['a', 'a', 'b', 'c']);
  });

  test('limits each owner alone if there are endless places', () => {
    const { enter, leave, inside } = openQueue({ places: Infinity, perOwner: 1 });
    for (const owner of ['a', 'a', 'b', 'b']) enter(owner);
    expect(inside).toEqual(['a', 'b']);
    leave('b');
    expect(inside).toEqual(['a', 'b', 'b']);
    leave('a');
    expect(inside).toEqual(['a', 'b', 'b', 'a']);
  });

  test('refuses what does not fit in the queue, and admits what waits there', () => {
    const { enter, leave, inside, refused } = openQueue({ places: 2, perOwner: 1, maxWaiting: 2 });
    for (const owner of ['a', 'a', 'a', 'a', 'a', 'b']) enter(owner);
    expect(inside).toEqual(['a', 'b']);
    expect(refused).toEqual(['a length', 'a length']);
    leave('a');
    expect(inside).toEqual(['a', 'b', 'a']);
  });

  test('refuses after the time that work may wait, and forgets the work', () => {
    const clock = steppedClock(new Date());
    const { queue, enter, leave, inside, refused } = openQueue({
      places: 1,
      perOwner: 1,
      maxWaitMs: 1_000,
      clock,
    });
    enter('a');
    enter('b');
    clock.advance(999);
    expect(refused).toEqual([]);
    clock.advance(1);
    expect(refused).toEqual(['b time']);
    leave('a');
    expect(queue.hasRoom({ owner: 'c' })).toBe(true);
    clock.advance(1_000);
    expect([inside, refused]).toEqual([['a'], ['b time']]);
  });

  test('refuses no patient work', () => {
    const clock = steppedClock(new Date());
    const limits = { places: 1, perOwner: 1, maxWaiting: 0, maxWaitMs: 1, clock };
    const { enter, leave, inside, refused } = openQueue(limits);
    enter('a');
    enter('a', { isPatient: true });
    clock.advance(60_000);
    leave('a');
    expect([inside, refused]).toEqual([['a', 'a'], []]);
  });

  test('drops work that gives up, wherever it is, and only once', () => {
    const { queue, enter, inside } = openQueue({ places: 1, perOwner: 1 });
    const leaveFirst = enter('a');
    const giveUp = enter('b');
    enter('b');
    giveUp();
    giveUp();
    expect(queue.waiting()).toBe(1);
    leaveFirst();
    leaveFirst();
    expect(inside).toEqual(['a', 'b']);
    expect(queue.hasRoom({ owner: 'c' })).toBe(false);
  });

  test('keeps the queue intact when work leaves that was admitted from it', () => {
    const { enter, leave, inside } = openQueue({ places: 1, perOwner: 1 });
    enter('a');
    const leaveSecond = enter('b');
    enter('b');
    leave('a');
    expect(inside).toEqual(['a', 'b']);
    leaveSecond();
    expect(inside).toEqual(['a', 'b', 'b']);
  });

  test('gives no place to work that no longer wants one', () => {
    const { enter, leave, inside } = openQueue({ places: 1, perOwner: 1 });
    enter('a');
    for (let n = 0; n < 10_000; n += 1) enter('b', { isGone: () => true });
    enter('c');
    leave('a');
    expect(inside).toEqual(['a', 'c']);
  });

  test('admits what waits behind work that gives up', () => {
    const { enter, inside } = openQueue({ places: 3, perOwner: 3 });
    enter('a', { places: 2 });
    const giveUp = enter('a', { places: 2 });
    enter('a');
    expect(inside).toEqual(['a']);
    giveUp();
    expect(inside).toEqual(['a', 'a']);
  });

  test('returns whether work of an owner would be admitted at once', () => {
    const { queue, enter, leave } = openQueue({ places: 3, perOwner: 2 });
    const hasRoom = (owner: string) => queue.hasRoom({ owner });
    enter('a');
    enter('a');
    expect([hasRoom('a'), hasRoom('b')]).toEqual([false, true]);
    enter('b');
    expect([hasRoom('b'), hasRoom('c')]).toEqual([false, false]);
    leave('a');
    expect([hasRoom('a'), hasRoom('c')]).toEqual([true, true]);
  });

  test('has no room for an owner whose own work waits', () => {
    const { queue, enter, inside } = openQueue({ places: 10, perOwner: 3 });
    enter('a');
    enter('a', { ofOwner: 3 });
    expect(queue.hasRoom({ owner: 'a' })).toBe(false);
    enter('a');
    expect(inside).toEqual(['a']);
  });

  test('leaves some places to the owners of other groups', () => {
    const { queue, enter, leave, inside } = openQueue({ places: 4, perOwner: 2, perGroup: 3 });
    for (const owner of ['a', 'a', 'b', 'b', 'c']) enter(owner, { group: 'silent' });
    expect(inside.splice(0)).toEqual(['a', 'a', 'b']);
    expect(queue.hasRoom({ owner: 'c', group: 'silent' })).toBe(false);
    expect(queue.hasRoom({ owner: 'd', group: 'other' })).toBe(true);
    enter('d', { group: 'other' });
    enter('d', { group: 'other' });
    expect(inside.splice(0)).toEqual(['d']);
    // A place of the other group stays with it, as long as the first has three.
    leave('d');
    expect(inside.splice(0)).toEqual(['d']);
    leave('d');
    expect(inside).toEqual([]);
    leave('a');
    expect(inside).toEqual(['b']);
  });

  test('counts a place for the group where it was taken', () => {
    const { queue, enter, leave } = openQueue({ places: 4, perOwner: 4, perGroup: 2 });
    for (const group of ['old', 'old', 'new']) enter('a', { group });
    expect(queue.hasRoom({ owner: 'b', group: 'old' })).toBe(false);
    expect(queue.hasRoom({ owner: 'b', group: 'new' })).toBe(true);
    leave('a');
    expect(queue.hasRoom({ owner: 'b', group: 'old' })).toBe(true);
  });

  test('gives all places to the process itself', () => {
    const queue = createFairQueue({ places: 3, perOwner: 1 });
    const leaves: (() => void)[] = [];
    const enter = () => queue.enter({ owner: null, admit: (leave) => leaves.push(leave) });
    for (let n = 0; n < 4; n += 1) enter();
    expect(leaves).toHaveLength(3);
    leaves[0]?.();
    expect(leaves).toHaveLength(4);
  });
});

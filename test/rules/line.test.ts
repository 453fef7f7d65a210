import { describe, expect, it } from 'vitest';
import { createLine } from '../../src/core/line.ts';

function lineOf(...names: string[]) {
  const line = createLine<string>();
  return { line, leave: names.map((name) => line.join(name)) };
}

describe('a line', () => {
  it('has its members in the order in which they came', () => {
    const { line } = lineOf('a', 'b', 'c');
    expect([...line]).toEqual(['a', 'b', 'c']);
    expect(line.size()).toBe(3);
  });

  it.each([
    [0, ['b', 'c']],
    [1, ['a', 'c']],
    [2, ['a', 'b']],
  ])('lets member %i go, once', (place, left) => {
    const { line, leave } = lineOf('a', 'b', 'c');
    expect([leave[place]?.(), leave[place]?.()]).toEqual([true, false]);
    expect([...line]).toEqual(left);
    expect(line.size()).toBe(2);
    line.join('d');
    expect([...line]).toEqual([...left, 'd']);
  });

  it('gives its members from the front until it is empty', () => {
    const { line, leave } = lineOf('a', 'b');
    expect([line.shift(), leave[0]?.(), line.shift(), line.shift()]).toEqual([
      'a',
      false,
      'b',
      undefined,
    ]);
    expect([...line]).toEqual([]);
    line.join('c');
    expect([[...line], line.size()]).toEqual([['c'], 1]);
  });

  it('gives its members from the end, too', () => {
    const { line } = lineOf('a', 'b', 'c');
    expect([line.pop(), line.shift(), line.pop(), line.pop()]).toEqual(['c', 'a', 'b', undefined]);
    expect(line.size()).toBe(0);
  });

  it('can be gone through while each member leaves', () => {
    const line = createLine<() => boolean>();
    const seen: boolean[] = [];
    for (let count = 0; count < 3; count += 1) {
      const leave = line.join(() => leave());
    }
    for (const leave of line) seen.push(leave());
    expect(seen).toEqual([true, true, true]);
    expect(line.size()).toBe(0);
  });
});

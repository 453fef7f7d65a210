// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
import { describe, expect, it, test } from 'vitest';
import { placeOfFault } from '../../src/core/json-syntax.ts';

describe('the place of a fault in JSON', () => {
  test.each<[string, line: number, column: number]>([
    ['', 1, 1],
    ['abc', 1, 1],
    ['{', 1, 2],
    ['{"a":1,}', 1, 8],
    ['{"a":1 "b":2}', 1, 8],
    ["{'a':1}", 1, 2],
    ['{\n  "a": tru\n}', 2, 8],
    ['[1, 2', 1, 6],
    ['[1, ]', 1, 5],
    ['[1}', 1, 3],
    ['{"a":1}\n\nx', 3, 1],
    ['{"a":01}', 1, 7],
    ['{"a" 1}', 1, 6],
    ['"open', 1, 6],
    ['["a\\x"]', 1, 4],
    ['["\\u12"]', 1, 3],
    ['["a\nb"]', 1, 4],
    ['{"ä😀": x}', 1, 8],
    ['{"a":1}}', 1, 8],
    ['\ufeff{}', 1, 1],
  ])('%j is line %i, column %i', (text, line, column) => {
    expect(placeOfFault(text)).toEqual({ line, column });
  });

  // V8 tells the place of some faults. Of a number that breaks off it tells the second character.
  it('is where JSON.parse says it is, if it says so', () => {
    const whole = '{"a": [1, -2.5e3, {"b": "c\\n"}, [], {}], "d": 0}';
    let told = 0;
    for (let at = 0; at < whole.length; at += 1)
      for (const put of ['', '"', ',', '}', ']', ':', '7', 'x']) {
        const text = whole.slice(0, at) + put + whole.slice(at + 1);
        const position = positionOf(text);
        if (position === null) continue;
        told += 1;
        expect([position, position + 1], text).toContain(placeOfFault(text).column);
      }
    expect(told).toBeGreaterThan(100);
  });

  // What is quadratic takes minutes for these.
  it('is found without recursion, in time that grows with the length', () => {
    const deep = '['.repeat(100_000);
    const quoted = `["${'\\"'.repeat(500_000)}`;
    expect(placeOfFault(deep)).toEqual({ line: 1, column: 100_001 });
    expect(placeOfFault(quoted)).toEqual({ line: 1, column: 1_000_003 });
  });
});

function positionOf(text: string): number | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? [];
    return position === undefined ? null : Number(position);
  }
}

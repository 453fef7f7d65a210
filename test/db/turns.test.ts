// Large results are worked on one a turn of the event loop, in the order in which they came.
import { expect, test } from 'vitest';
import { statement } from '../../src/db/client.ts';
import { LARGE_BYTES, takeTurn } from '../../src/db/wire/turns.ts';
import { createTestDatabase } from '../support/database.ts';
import { openTestDatabase } from '../support/wire.ts';

const TEXT = `select repeat('x', $1::int) as text`;
const PREPARED = statement<{ text: string }>('test.turns.prepared', TEXT);
const SEARCH = statement<{ text: string }>('test.turns.search', TEXT, { isSearch: true });
/** Enough turns for a statement to be answered meanwhile. A busy machine may need more. */
const TURNS = [50_000, 200_000, 800_000, 3_200_000];

const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

test('one begins in each turn, also those that come meanwhile', async () => {
  const begun: string[] = [];
  takeTurn(() => {
    begun.push('first');
    takeTurn(() => begun.push('third'));
  });
  takeTurn(() => begun.push('second'));
  expect(begun).toEqual([]);
  for (const expected of ['first', 'second', 'third']) {
    await nextTurn();
    expect(begun.splice(0)).toEqual([expected]);
  }
  await nextTurn();
  takeTurn(() => begun.push('later'));
  await nextTurn();
  expect(begun).toEqual(['later']);
});

test.each([PREPARED, SEARCH])('$name: a large result waits, a small one does not', async (what) => {
  const database = await createTestDatabase();
  const db = openTestDatabase({ url: database.url, poolMax: 2 });
  try {
    const ask = async (length: number): Promise<string | undefined> =>
      (await db.query(what, [length]))[0]?.text;
    await Promise.all([ask(1), ask(1)]);
    let small = 0;
    for (const turns of TURNS) {
      let before = turns;
      for (let n = 0; n < turns; n += 1) takeTurn(() => (before -= 1));
      const beforeEnd = async (length: number): Promise<number> => {
        expect(await ask(length)).toBe('x'.repeat(length));
        return before;
      };
      const asked = [beforeEnd(LARGE_BYTES - 100), beforeEnd(LARGE_BYTES)] as const;
      const [smallBefore, largeBefore] = await Promise.all(asked);
      expect(largeBefore).toBe(0);
      small = smallBefore;
      if (small > 0) break;
    }
    expect(small).toBeGreaterThan(0);
  } finally {
    await db.close();
    await database.drop();
  }
});

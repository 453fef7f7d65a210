import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeedFault } from '../../src/seed/fault.ts';
import { loadSeed } from '../../src/seed/load.ts';
import { createRandom, pick } from '../../src/seed/random.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { APP_SECRET, fullFile } from './full-file.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database.drop());

/** Values that files may hold by mistake and that databases reject. */
const ODD: readonly [unknown, ...unknown[]] = [
  null,
  '',
  ' ',
  'a\0b',
  '\udc00',
  'x'.repeat(3000),
  '\u{1f600}'.repeat(100),
  'usr_1',
  'mem_1',
  'trn_1',
  'sit_cold',
  'team_a',
  '__proto__',
  'all',
  0,
  -1,
  1.5,
  1e21,
  2_147_483_647,
  -2_147_483_648,
  5e-324,
  1.7e308,
  true,
  [],
  {},
  ['a', 'a'],
  [null],
  { closing: 10_000 },
  JSON.parse('{"__proto__": 1}'),
  '0000-01-01',
  '0001-01-01T00:00:00+14:00',
  '9999-12-31',
  '2026-02-29',
  '2026-06-15',
  '2026-01-01T00:00Z',
  '2026-01-01T00:00:00.123456789Z',
  '2016-12-31T23:59:60Z',
  '::ffff:1.2.3.4/128',
  '10.1',
  '1.2.3.4/08',
  'fe80::1%eth0',
  'https://user@[::1]:80/a?b#c',
  'ẞ@ẞ.test',
  'ΑΣ@x.test',
  '-0.0',
  '1'.repeat(500),
];

interface Place {
  holder: Record<string | number, unknown>;
  key: string | number;
}

function placesOf(value: unknown, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return found;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const holder = value as Place['holder'];
    found.push({ holder, key });
    placesOf(holder[key], found);
  }
  return found;
}

describe('any file', () => {
  it('is loaded, or refused with paths, but never causes a database error', async () => {
    let loaded = 0;
    for (let round = 0; round < 200; round += 1) {
      const random = createRandom(round, 99, 0);
      // Parts of it are shared by all rounds and files.
      const file = structuredClone(fullFile());
      for (const team of file.teams) delete team.generate;
      for (let change = 0; change <= round % 2; change += 1) {
        const { holder, key } = pick(random, placesOf(file) as [Place, ...Place[]]);
        holder[key] = structuredClone(pick(random, ODD));
      }
      const wrong = await loadSeed(database.url, file, {
        replace: true,
        appSecret: APP_SECRET,
      }).then(
        () => null,
        (error: unknown) => error,
      );
      if (wrong === null) loaded += 1;
      else if (!(wrong instanceof SeedFault))
        throw new Error(`round ${round}: ${JSON.stringify(file)}`, { cause: wrong });
    }
    expect(loaded).toBeGreaterThan(15);
  });
});

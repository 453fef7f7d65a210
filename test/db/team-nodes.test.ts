import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTeamNodes } from '../../src/db/citus/team-nodes.ts';
import type { Queries } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { createTestDatabase, isOnCitus } from '../support/database.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

let db: Database;
/** The names of the statements that were asked. */
const asked: string[] = [];
const ask: Queries['query'] = (what, values) => {
  asked.push(what.name);
  return db.query(what, values);
};

beforeAll(async () => {
  const database = await createTestDatabase();
  db = openTestDatabase({ url: database.url, poolMax: 4 });
  return async () => {
    await db.close();
    await database.drop();
  };
});
beforeEach(() => {
  asked.length = 0;
});

test.skipIf(isOnCitus())('plain Postgres is asked once whether it has nodes', async () => {
  const nodes = createTeamNodes({ query: ask });
  expect(nodes.isPlain()).toBe(false);
  expect([nodes.of('team_a'), nodes.of('team_b')]).toEqual([null, null]);
  let team = 0;
  await until(async () => {
    const before = asked.length;
    team += 1;
    expect(nodes.of(`team_${team}`)).toBeNull();
    await new Promise(setImmediate);
    return asked.length === before;
  });
  await until(() => nodes.isPlain());
  expect(asked).toEqual(['shards.isCitus']);
});

test("a fault of the database is not the caller's, and the next call asks again", async () => {
  let faults = 2;
  const query: Queries['query'] = (what, values) => {
    faults -= 1;
    return faults < 0 ? ask(what, values) : Promise.reject(new Error('the database is down'));
  };
  const nodes = createTeamNodes({ query });
  await until(() => {
    expect(nodes.of('team_a')).toSatisfy((node) => isOnCitus() || node === null);
    return asked.length > 0;
  });
});

describe.runIf(isOnCitus())('on a distributed database', () => {
  test('a team has a name of its node soon, asked for together with others', async () => {
    const nodes = createTeamNodes({ query: ask });
    const teams = Array.from({ length: 50 }, (_, number) => `team_${number}`);
    await until(() => !teams.map((team) => nodes.of(team)).includes(null));
    for (const team of teams) expect(nodes.of(team)).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(nodes.isPlain()).toBe(false);
    const times = asked.filter((name) => name === 'teamNodes.find').length;
    expect(times).toBeLessThanOrEqual(2);
  });

  test('only so many teams are remembered, the latest', async () => {
    const nodes = createTeamNodes({ query: ask }, 2);
    for (const team of ['team_a', 'team_b', 'team_c']) await until(() => nodes.of(team) !== null);
    expect(nodes.of('team_c')).not.toBeNull();
    expect(nodes.of('team_b')).not.toBeNull();
    expect(nodes.of('team_a')).toBeNull();
  });
});

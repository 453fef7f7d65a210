// How long work waits for a connection is measured: also where it does not wait, and also where the
// connection is there, but the turn of its team is not.
import { expect, onTestFinished, test } from 'vitest';
import { statement } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { createProcessMetrics } from '../../src/runtime/process-metrics.ts';
import { steppedClock } from '../support/clocks.ts';
import { createTestDatabase } from '../support/database.ts';
import { openTestDatabase } from '../support/wire.ts';

const ONE = statement<{ one: number }>('test.waits.one', 'select 1 as one');

/** One connection of each kind, and for each kind how many waited, and how long in all. */
async function start() {
  const clock = steppedClock(new Date());
  const database = await createTestDatabase();
  const { registry, observeWait } = createProcessMetrics(() => db.pool);
  const db: Database = openTestDatabase({
    url: database.url,
    poolMax: 1,
    observeWait,
    clock,
    // Slow ones are only those of the background.
    quickStatementMs: 60_000,
    statementTimeoutMs: 60_000,
  });
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  const waits = async (kind: string) => {
    const histogram = registry.getSingleMetric('database_pool_wait_seconds');
    const values = (await histogram?.get())?.values ?? [];
    const of = (end: string) =>
      values.find(
        (value) =>
          value.labels['kind'] === kind &&
          'metricName' in value &&
          String(value.metricName).endsWith(end),
      )?.value;
    return { count: of('_count'), seconds: of('_sum') };
  };
  return { db, waits, clock };
}

test('work that gets a connection at once is in it', async () => {
  const { db, waits } = await start();
  await db.query(ONE, []);
  await db.forTeam('team_a').query(ONE, []);
  await db.forCaller({ share: 'team_a' }).query(ONE, []);
  await db.forCaller({ share: 'team_a', background: true }).query(ONE, []);
  await db.forCaller({ share: 'team_a' }).transaction((tx) => tx.query(ONE, []));
  const counts: Record<string, unknown> = {};
  for (const kind of ['common', 'statement', 'slow_statement', 'transaction'])
    counts[kind] = (await waits(kind)).count;
  // The database asks once what kind of database it is.
  expect(counts).toMatchObject({ statement: 1, slow_statement: 1, transaction: 1 });
  expect(counts['common']).toBeGreaterThanOrEqual(2);
});

test('a transaction waits as long as another one holds the connection', async () => {
  const { db, waits, clock } = await start();
  const next: Promise<unknown>[] = [];
  await db.forCaller({ share: 'team_a' }).transaction(async (tx) => {
    await tx.query(ONE, []);
    next.push(db.forCaller({ share: 'team_b' }).transaction((later) => later.query(ONE, [])));
    clock.advance(600);
  });
  await Promise.all(next);
  expect(await waits('transaction')).toEqual({ count: 2, seconds: 0.6 });
});

test('a statement waits as long as the connection of its kind is held', async () => {
  const { db, waits, clock } = await start();
  const background = db.forCaller({ share: 'team_a', background: true });
  const asked = [background.query(ONE, []), background.query(ONE, [])];
  // Neither has its connection yet: there is no session before its login was answered.
  clock.advance(600);
  await Promise.all(asked);
  expect(await waits('slow_statement')).toEqual({ count: 2, seconds: 1.2 });
});

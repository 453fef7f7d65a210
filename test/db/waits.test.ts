// How long work waits for a connection is measured: also where it does not wait, and also where the
// connection is there, but the turn of its team is not.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { statement } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { createProcessMetrics } from '../../src/runtime/process-metrics.ts';
import { createTestDatabase } from '../support/database.ts';
import { openTestDatabase } from '../support/wire.ts';

const ONE = statement<{ one: number }>('test.waits.one', 'select 1 as one');
const HELD_MS = 600;
const A_BIT_LESS_S = 0.5;

/** One connection of each kind, and the bounds of the histogram with how many waited no longer. */
async function start() {
  const database = await createTestDatabase();
  const { registry, observeWait } = createProcessMetrics(() => db.pool);
  const db: Database = openTestDatabase({
    url: database.url,
    poolMax: 1,
    observeWait,
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
    const values = ((await histogram?.get())?.values ?? []).filter(
      ({ labels }) => labels['kind'] === kind,
    );
    const of = (end: string) =>
      values.find((value) => 'metricName' in value && String(value.metricName).endsWith(end));
    const within = values.find(({ labels }) => Number(labels['le']) === A_BIT_LESS_S);
    return {
      count: of('_count')?.value,
      longer: (of('_count')?.value ?? 0) - (within?.value ?? 0),
    };
  };
  return { db, waits };
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
  const { db, waits } = await start();
  const held = db.forCaller({ share: 'team_a' }).transaction(async (tx) => {
    await tx.query(ONE, []);
    await delay(HELD_MS);
  });
  const next = db.forCaller({ share: 'team_b' }).transaction((tx) => tx.query(ONE, []));
  await Promise.all([held, next]);
  const { count, longer } = await waits('transaction');
  expect(count).toBe(2);
  // A busy machine may take long for the first connection, too.
  expect(longer).toBeGreaterThanOrEqual(1);
});

test('a statement waits as long as the connection of its kind is held', async () => {
  const { db, waits } = await start();
  const slow = statement('test.waits.slow', `select pg_sleep(${HELD_MS / 1000})::text`);
  const background = db.forCaller({ share: 'team_a', background: true });
  await Promise.all([background.query(slow, []), background.query(ONE, [])]);
  const { count, longer } = await waits('slow_statement');
  expect(count).toBe(2);
  expect(longer).toBeGreaterThanOrEqual(1);
});

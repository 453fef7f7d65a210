// Why a process is not ready, as its looks at the database find out, and in its log at each change.
import pino from 'pino';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/db/connections/database.ts';
import { migrate } from '../../src/db/operator/migrate.ts';
import { expectedMigrations } from '../../src/db/operator/migrations.ts';
import { startReadiness } from '../../src/runtime/readiness.ts';
import { TEST_APP_SECRET } from '../support/api.ts';
import { steppedClock } from '../support/clocks.ts';
import {
  createDatabase,
  createEmptyDatabase,
  createTestDatabase,
  isOnCitus,
  type TestDatabase,
} from '../support/database.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { openTestDatabase } from '../support/wire.ts';

/** In `src/runtime/readiness.ts`: how long probes share a look, and how long one waits for it. */
const SHARED_MS = 100;
const PATIENCE_MS = 1_500;

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  return () => database.drop();
});

async function start(url = database.url) {
  const db = openTestDatabase({ url, poolMax: 4 });
  let looks = 0;
  const counting: Database = {
    ...db,
    losesStatements: () => {
      looks += 1;
      return db.losesStatements();
    },
  };
  const told: (string | null)[] = [];
  const write = (line: string): void => {
    told.push((JSON.parse(line) as { reason?: string }).reason ?? null);
  };
  const clock = steppedClock(new Date());
  const readiness = await startReadiness({
    db: counting,
    migrations: await expectedMigrations(),
    secrets: { current: TEST_APP_SECRET, previous: null },
    logger: pino({}, { write }),
    onFault: (error) => expect.fail(error.message),
    clock,
  });
  onTestFinished(() => {
    readiness.stop();
    return db.close();
  });
  const lookAnew = () => {
    clock.advance(SHARED_MS);
    return readiness.check();
  };
  return { db, readiness, clock, told, lookAnew, countLooks: () => looks };
}

test('probes within a tenth of a second share a look', async () => {
  const { readiness, clock, lookAnew, countLooks } = await start();
  expect(countLooks()).toBe(1);
  for (let probes = 0; probes < 20; probes += 1) expect(await readiness.check()).toBeNull();
  clock.advance(SHARED_MS - 1);
  expect(await readiness.check()).toBeNull();
  expect(countLooks()).toBe(1);
  expect(await lookAnew()).toBeNull();
  expect(countLooks()).toBe(2);
});

test('pending migrations are told until they are applied, and then that it drains', async () => {
  const empty = await createEmptyDatabase();
  onTestFinished(() => empty.drop());
  const { readiness, told, lookAnew } = await start(empty.url);
  expect(await lookAnew()).toBe('migrations_pending');
  await migrate(empty.url);
  expect(await lookAnew()).toBeNull();
  readiness.drain();
  expect(await lookAnew()).toBe('draining');
  expect(told).toEqual(['migrations_pending', null, 'draining']);
});

test.skipIf(isOnCitus()).each(['SQL_ASCII', 'LATIN1'])(
  'a database of the encoding %s is refused, and nothing migrated',
  async (encoding) => {
    const narrow = await createDatabase(
      `TEMPLATE template0 ENCODING '${encoding}' LOCALE_PROVIDER libc LOCALE 'C'`,
    );
    onTestFinished(() => narrow.drop());
    const refused = `the database has the encoding ${encoding}, which cannot store every text`;
    await expect(start(narrow.url)).rejects.toThrow(refused);
    await expect(migrate(narrow.url)).rejects.toThrow(refused);
  },
);

// A look that takes longer than a probe waits has seen nothing: that is no news.
test.each([
  ['the same reason', 'update _prisma_migrations set finished_at = null', 'migrations_pending'],
  ['that the database cannot be reached', 'select 1', 'database_unreachable'],
])('a look that takes too long tells %s', async (_what, before, reason) => {
  const changing = openTestDatabase({ url: database.url, poolMax: 1 });
  await changing.pool.query(before);
  await changing.close();
  const { db, readiness, clock, told, lookAnew } = await start();
  const first = readiness.lastSeen();
  const release = await holdLock(
    { databaseUrl: database.url },
    'lock table _prisma_migrations in access exclusive mode',
  );
  const late = lookAnew();
  await untilWaiting({ db }, 1);
  clock.advance(PATIENCE_MS);
  expect(await late).toBe(reason);
  expect(told).toEqual(first === reason ? [reason] : [first, reason]);
  await release();
});

// The counters of requests are empty after a failover. Sessions make their plans then, and keep
// them while the counters grow.
import { randomBytes } from 'node:crypto';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import type { Queries } from '../../src/db/client.ts';
import {
  authenticateRequest,
  authenticateBatch,
} from '../../src/http/api/authentication/key-store.ts';
import { readCredential } from '../../src/http/api/authentication/credential.ts';
import { authenticateCaller } from '../../src/http/app/caller-store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { wholePrisma } from '../support/whole-prisma.ts';
import { openPatiently } from '../support/wire.ts';

/** Postgres makes a plan for each of the first five executions, and keeps one after them. */
const UNTIL_KEPT = 8;
const ip = '10.1.2.3';
const limits = {
  keyPerMinute: 1_000,
  ipPerMinute: 1_000,
  personPerMinute: 1_000,
  now: new Date('2026-11-02T09:00:20.000Z'),
};
const terms = { ...limits, nonce: randomBytes(16) };

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ clock: fixedClock(limits.now), seed: makeSeed([makeTeam('a')]) });
});

const knownKey = () => {
  const { keyPrefix, proof } = readCredential(`Bearer ${api.key('team_a')}`, terms.nonce);
  return { teamId: 'team_a', keyPrefix: keyPrefix ?? '', proof, ip };
};
const alone = (db: Queries) => authenticateRequest(db, { ...terms, ...knownKey() });
const person = { teamId: 'team_a', userId: 'usr_a_admin' };

const COUNTS: Record<string, (db: Queries) => Promise<unknown>> = {
  'a key': alone,
  'keys together': (db) => authenticateBatch(db, terms, [{ ...knownKey(), calls: 1 }]),
  'a stranger': (db) => authenticateRequest(db, { ...terms, ...knownKey(), keyPrefix: null }),
  'a person of the app': (db) =>
    authenticateCaller(db, { person, tokenId: 'x', ip }, { calls: 1, ...limits }),
  'a stranger of the app': (db) =>
    authenticateCaller(db, { person: null, tokenId: null, ip }, { calls: 1, ...limits }),
};

test.each(Object.keys(COUNTS))('%s is counted by an index, with an old plan, too', async (who) => {
  const count = async (db: Queries): Promise<void> => {
    const [counted] = [await COUNTS[who]?.(db)].flat();
    expect(counted).toMatchObject({ counted: true });
  };
  // Its one connection keeps the plans.
  const db = openPatiently(api.databaseUrl);
  onTestFinished(() => db.close());
  const { pool } = api.db;
  await pool.query('truncate team_counter, rate_counter');
  await db.transaction(alone);
  await pool.query('vacuum (analyze) team_counter, rate_counter');
  for (let n = 0; n < UNTIL_KEPT; n += 1) await db.transaction(count);
  await pool.query(
    `with team_counters as (
       insert into team_counter
       select 'team_a', 'person:' || n, 1, 1 from generate_series(1, 5000) n
     )
     insert into rate_counter
     select 'ip:' || n, 1, 1 from generate_series(1, 5000) n`,
  );
  const read = await db.transaction(async (tx) => {
    await count(tx);
    return wholePrisma(tx).$queryRaw`
      select sum(seq_tup_read)::int as rows from pg_stat_xact_user_tables
      where relname in ('team_counter', 'rate_counter')`;
  });
  expect(read).toEqual([{ rows: 0 }]);
});

// What each scrape of the metrics counts costs little, however many deliveries and endpoints exist.
import type { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { countRetries, readCounts, RETRIES_MAX } from '../../src/delivery/backlog-store.ts';
import { createTestDatabase } from '../support/database.ts';
import { openLoopDatabase } from '../support/loop-database.ts';
import { explain, rowsRead } from '../support/plans.ts';
import { openWhereTeamIs } from '../support/shards.ts';

const TEAM = 'team_big';
/** It has more of them, and they are due earlier. */
const SANDBOX = `${TEAM}:sandbox`;
const RANGES = 4;

/** Opens an empty database, without the rows that foreign keys ask for. */
async function openEmpty(): Promise<{ readonly client: Client; readonly url: string }> {
  const database = await createTestDatabase();
  const client = await openWhereTeamIs(database.url, TEAM);
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  await client.query('set session_replication_role = replica');
  return { client, url: database.url };
}

describe.each(['custom', 'generic'] as const)('with a %s plan', (mode) => {
  test('of deliveries that wait for their next attempt, a few are read', async () => {
    const { client, url } = await openEmpty();
    // Some in each minute of a day from now on, and as many that are overdue or done.
    for (const [team, every] of [
      [TEAM, '3 seconds'],
      [SANDBOX, '1 second'],
    ])
      await client.query(
        `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at,
        last_attempt_at)
     select $1, 'whd_' || n, 'whe_1', 'evt_' || n, 'member.joined',
       case n % 3 when 0 then 'gave_up' else 'retrying' end, 3, now() - interval '2 days',
       case n % 3
         when 1 then now() + n * $2::interval
         when 2 then now() - n * $2::interval
       end,
       now()
     from generate_series(1, 30000) n`,
        [team, every],
      );
    await client.query('analyze webhook_delivery');
    const read = rowsRead(await explain(client, countRetries, mode));
    expect(read).toBeGreaterThan(RETRIES_MAX);
    // And the first one behind a range.
    expect(read).toBeLessThanOrEqual(RANGES * (RETRIES_MAX + 1));
    const loop = await openLoopDatabase(url, TEAM);
    onTestFinished(() => loop.close());
    // Fewer of the two ranges that are less than an hour.
    const counted = await countRetries(loop.db);
    expect(counted).toEqual([{ age: 'older', count: expect.any(Number) }]);
    expect(counted[0]?.count).toBeGreaterThan(2 * RETRIES_MAX);
    expect(counted[0]?.count).toBeLessThan(RANGES * RETRIES_MAX);
  });

  test('of endpoints, only those that are paused are read', async () => {
    const { client } = await openEmpty();
    await client.query(
      `insert into webhook_endpoint
         (team_id, id, url, events, status, api_version, secret_encrypted, created_at)
       select $1, 'whe_' || n, 'https://a.test/', '{member.joined}',
         case when n % 1000 = 0 then 'disabled_failures' else 'active' end, '2026-11', '', now()
       from generate_series(1, 20000) n`,
      [TEAM],
    );
    await client.query('analyze webhook_endpoint');
    expect(rowsRead(await explain(client, readCounts, mode))).toBeLessThanOrEqual(20);
  });
});

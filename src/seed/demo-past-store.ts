import type { ClientBase } from 'pg';
import { demoCalls } from './demo-calls.ts';
import { DEMO_TEAM_ID } from './demo-team.ts';
import { insertRows } from './insert.ts';
import { withSeedClient } from './seed-client.ts';

/** Older than everything that the keys have done. */
const KEY_AGE_MS = 45 * 86_400_000;

/** Writes what a seed file cannot hold: what the demo team's keys have done until now. */
export async function writeDemoPast(databaseUrl: string, now: Date = new Date()): Promise<void> {
  await withSeedClient(databaseUrl, async (client) => {
    await writePast(client, now);
    await client.query('COMMIT');
  });
}

async function writePast(client: ClientBase, now: Date): Promise<void> {
  const { rows } = await client.query<{ id: string; name: string }>(
    `UPDATE api_key
     SET created_at = $2, stored_at = $2
     WHERE team_id = $1
     RETURNING id, name`,
    [DEMO_TEAM_ID, new Date(now.getTime() - KEY_AGE_MS)],
  );
  const past = demoCalls(now, new Map(rows.map(({ id, name }) => [name, id])));
  await insertRows(client, 'api_key_usage', past.usage);
  await insertRows(client, 'request_log', past.requests);
  for (const [keyId, at] of past.lastUsed)
    await client.query(
      `UPDATE api_key
       SET last_used_at = $3
       WHERE team_id = $1 AND id = $2`,
      [DEMO_TEAM_ID, keyId, at],
    );
}

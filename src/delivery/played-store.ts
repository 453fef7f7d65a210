import { statement, type Db } from '../db/client.ts';
import type { RowOf } from '../db/rows.ts';

/** What a sandbox says about its webhook endpoints. */
export type PlayedRow = RowOf<'Sandbox', 'speed' | 'receivers_fail_until'>;

const READ = statement<PlayedRow>(
  'webhooks.readPlayed',
  'select speed, receivers_fail_until from sandbox where team_id = $1',
  { because: 'hot' },
);

/** null: the sandbox has gone. */
export function readPlayed(db: Db, sandboxId: string): Promise<PlayedRow | null> {
  return db.queryFirst(READ, [sandboxId]);
}

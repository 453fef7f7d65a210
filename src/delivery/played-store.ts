import { statement, type Db } from '../db/client.ts';
import type { RowOf } from '../db/rows.ts';

/** What a sandbox says about its webhook endpoints. */
export type PlayedRow = RowOf<'Sandbox', 'speed' | 'receivers_fail_until'>;

/** null: the sandbox has gone. */
export const readPlayed = statement<PlayedRow>(
  'webhooks.readPlayed',
  'select speed, receivers_fail_until from sandbox where team_id = $1',
).finds<[db: Db, sandboxId: string]>();

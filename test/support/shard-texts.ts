// Which statements a shard is asked in a text of its own, and which of them only read.
import { toShardText, type ShardText } from '../../src/db/citus/shard-text.ts';
import type { Statement } from '../../src/db/client.ts';
import { RETENTIONS } from '../../src/features/retention/rules.ts';

/** These are told their teams. All others that are for many teams are given rows of theirs. */
const TOLD_TEAMS: ReadonlySet<string> = new Set([
  ...RETENTIONS.map(({ name }) => `retention.${name}`),
  'retention.teamCounters',
  'webhooks.releaseClaims',
  'webhooks.forgetEvents',
  'webhooks.takeEvents',
  'places.take',
]);

/** What reads a shard's own tables. */
export const READS_SHARD: ReadonlySet<string> = new Set([
  'metrics.retries',
  'places.findTeams',
  'places.hasUnplaced',
  'webhooks.findActivated',
  'webhooks.findDead',
  'webhooks.findNewlyDue',
  'webhooks.findPending',
  'webhooks.findRequested',
  'webhooks.findRetrying',
  'webhooks.findTeamsOfClaims',
  'webhooks.findTeamsOfEvents',
  'webhooks.findTeamsOfWaitingEvents',
  'webhooks.findWork',
  'webhooks.listWorkers',
  'webhooks.oldestDue',
]);

/** The statement as a shard is asked it. null: as everywhere. */
export function shardTextOf({
  name,
  text,
}: Pick<Statement<unknown>, 'name' | 'text'>): ShardText | null {
  const isGivenRows = /\bunnest\(\s*\$/.test(text);
  const shardText = isGivenRows || TOLD_TEAMS.has(name) ? toShardText(text) : null;
  return shardText?.columns || TOLD_TEAMS.has(name) ? shardText : null;
}

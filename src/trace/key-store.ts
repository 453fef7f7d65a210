/** Reads what is known of an API key: never its secret's hash, of its networks their number. */
import { statement, type Db } from '../db/client.ts';
import { keyStateAt, LAST_USED } from '../db/key-state.ts';
import { listed, type RowOf } from '../db/rows.ts';
import type { KeyState } from '../features/api-keys/rules.ts';
import { REQUEST, type RequestRow } from './find-store.ts';
import { LIMITS } from './rules.ts';

const KEY = [
  'team_id',
  'id',
  'name',
  'prefix',
  'created_by',
  'created_at',
  'expires_at',
  'revoked_at',
] as const;

/** A key. `networks`: how many it is bound to; 0: none. */
export type KeyRow = RowOf<'ApiKey', (typeof KEY)[number]> & {
  readonly last_used_at: string | null;
  readonly networks: number;
  readonly state: KeyState;
};

export const findKey = statement<KeyRow>(
  'trace.findKey',
  `select ${listed(KEY, 'k.')}, coalesce(cardinality(k.allowed_ips), 0) as networks,
     ${LAST_USED} as last_used_at, ${keyStateAt('now()')} as state
   from api_key k
   where k.team_id = $1 and k.id = $2`,
).finds<[db: Db, teamId: string, keyId: string]>();

/** How the calls of the last days ended. `limited`: 429. */
export interface UsageRow {
  readonly ok: number;
  readonly refused: number;
  readonly limited: number;
  readonly failed: number;
}

const SUM_USAGE = statement<UsageRow>(
  'trace.sumUsage',
  `select coalesce(sum(count_2xx), 0)::int as ok, coalesce(sum(count_4xx), 0)::int as refused,
     coalesce(sum(count_429), 0)::int as limited, coalesce(sum(count_5xx), 0)::int as failed
   from api_key_usage
   where team_id = $1 and key_id = $2 and day >= $3::date`,
);

/**
 * Counted are all calls from a day on (`YYYY-MM-DD`, UTC), also those that the request log leaves
 * out.
 */
export async function sumUsage(
  db: Db,
  teamId: string,
  keyId: string,
  since: string,
): Promise<UsageRow> {
  const none = { ok: 0, refused: 0, limited: 0, failed: 0 };
  return (await db.queryFirst(SUM_USAGE, [teamId, keyId, since])) ?? none;
}

// No index has the key. So it looks through the team's newest calls only, by the list's index.
/** The key's last calls that were refused or failed, among the newest calls of its team. */
export const listRefused = statement<RequestRow>(
  'trace.listRefused',
  `select ${listed(REQUEST)}
   from (
     select ${listed(REQUEST)}
     from request_log
     where team_id = $1
     order by created_at desc, id desc
     limit ${LIMITS.calls}
   ) newest
   where key_id = $2 and status >= 400
   order by created_at desc, id desc
   limit ${LIMITS.failed}`,
  { isMerged: true },
).lists<[db: Db, teamId: string, keyId: string]>();

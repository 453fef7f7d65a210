import type { PagePosition } from '../../core/page.ts';
import type { Scope } from '../../core/scopes.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { keyStateAt, LAST_USED, liveKeysAt } from '../../db/key-state.ts';
import { isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { lockRow } from '../../db/row-lock.ts';
import { listed, selectionOf, type RowOf } from '../../db/rows.ts';
import type { KeyState } from './rules.ts';

const KEY = [
  'id',
  'name',
  'prefix',
  'scopes',
  'created_at',
  'expires_at',
  'revoked_at',
  'stored_at',
] as const;

/** A key without its secret's hash, which only authentication reads. */
export interface KeyRow extends RowOf<'ApiKey', (typeof KEY)[number]> {
  readonly scopes: readonly Scope[];
  readonly creator_id: string;
  /** null: the person was deleted. */
  readonly creator_email: string | null;
  readonly allowed_ips: readonly string[] | null;
  readonly last_used_at: string | null;
  readonly state: KeyState;
}

/**
 * The current time for a statement; null: the database's own clock, which `authenticate_api_key`
 * uses.
 */
export type DatabaseTime = Date | null;

const NOW = `(select coalesce($2::timestamptz, clock_timestamp()) as at)`;

/** SQL: reads keys from `keys`, which is the table or a part of it. */
const selectFrom = (keys: string): string =>
  `select ${listed(KEY, 'k.')}, k.allowed_ips,
     k.created_by as creator_id, m.email as creator_email, ${LAST_USED} as last_used_at,
     ${keyStateAt('n.at')} as state
   from ${NOW} n
   cross join ${keys} k
   join member m on m.team_id = $1 and m.id = k.created_by`;

const LIVE = liveKeysAt('n.at');

const ORDER = ['k.created_at', 'k.id'] as const;

const AFTER = isAfter(ORDER, ['$4', '$5']);
const listText = (keys: string, condition: string): string =>
  `${selectFrom(keys)}
   where ${condition}
   ${newestFirst(ORDER, '$3')}`;

const LIST = statement<KeyRow>(
  'apiKeys.list',
  listText(
    'api_key',
    `k.team_id = $1
     and ${AFTER}`,
  ),
);
const LIST_LIVE = statement<KeyRow>('apiKeys.listLive', listText(LIVE, AFTER));

/** Which keys to list. Without a state: all. */
export interface KeyFilters {
  readonly state?: 'active' | undefined;
}

/** Lists keys, newest first, after `after`. */
export function listKeys(
  db: Db,
  teamId: string,
  query: KeyFilters & {
    readonly now: DatabaseTime;
    readonly limit: number;
    readonly after: PagePosition | null;
  },
): Promise<KeyRow[]> {
  const { now, limit, after, state } = query;
  const list = state === undefined ? LIST : LIST_LIVE;
  return db.query(list, [teamId, now, limit, ...positionValues(after)]);
}

const NAME = selectionOf('ApiKey', ['id', 'name']);

/** How keys are called, in any state and in any order. */
export async function findKeyNames(
  db: Db,
  teamId: string,
  keyIds: readonly string[],
): Promise<ReturnType<typeof NAME.toRow>[]> {
  const found = await db.prisma.apiKey.findMany({
    where: { teamId, id: { in: [...keyIds] } },
    select: NAME.select,
  });
  return found.map(NAME.toRow);
}

const ENDING = selectionOf('ApiKey', ['id', 'name', 'expires_at']);

/** A key that will end. */
export type EndingKeyRow = ReturnType<typeof ENDING.toRow>;

/** Lists keys that are not revoked, by their end, which is after the one time and not later. */
export async function listEndingKeys(
  db: Db,
  teamId: string,
  { after, until, limit }: { readonly after: Date; readonly until: Date; readonly limit: number },
): Promise<EndingKeyRow[]> {
  const found = await db.prisma.apiKey.findMany({
    where: { teamId, revokedAt: null, expiresAt: { gt: after, lte: until } },
    select: ENDING.select,
    orderBy: [{ expiresAt: 'asc' }, { id: 'asc' }],
    take: limit,
  });
  return found.map(ENDING.toRow);
}

const FIND = statement<KeyRow>(
  'apiKeys.find',
  `${selectFrom('api_key')}
   where k.team_id = $1 and k.id = $3`,
);

/** A key in any state; null if the team has none with this id. */
export function findKey(
  db: Db,
  teamId: string,
  keyId: string,
  now: DatabaseTime,
): Promise<KeyRow | null> {
  return db.queryFirst(FIND, [teamId, now, keyId]);
}

/**
 * The key, locked until the transaction ends: only one call at a time can end it. It is read in
 * another statement than it is locked in, so the database's clock has the time after the wait.
 * Requests that use the key do not wait for the lock.
 */
export function findKeyForUpdate(
  tx: Tx,
  teamId: string,
  keyId: string,
  now: DatabaseTime,
): Promise<KeyRow | null> {
  lockRow(tx, 'api_key', { teamId, id: keyId, to: 'change' });
  return findKey(tx, teamId, keyId, now);
}

const LIVE_AND_NAMES = statement<{ live_keys: number; names: string[] }>(
  'apiKeys.liveAndNames',
  `select
     count(*)::int as live_keys,
     array(
       select name
       from api_key
       where team_id = $1 and name = any($3::text[])
     ) as names
   from ${NOW} n
   cross join ${LIVE} k`,
);

export interface CountedKeys {
  readonly liveKeys: number;
  readonly names: readonly string[];
}

/**
 * Counts the team's live keys, and says which of these names its keys have, including ended keys.
 * Call `lockTeam` first, in the same transaction.
 */
export async function countLiveAndNames(
  tx: Tx,
  teamId: string,
  wantedNames: readonly string[],
  now: DatabaseTime,
): Promise<CountedKeys> {
  const [row] = await tx.query(LIVE_AND_NAMES, [teamId, now, wantedNames]);
  return { liveKeys: row?.live_keys ?? 0, names: row?.names ?? [] };
}

/** A key to be stored. `expiresAt` null: never; `allowedIps` null: from anywhere. */
export interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: Buffer;
  readonly scopes: readonly Scope[];
  readonly creatorId: string;
  readonly allowedIps: readonly string[] | null;
  readonly expiresAt: string | null;
  readonly at: Date;
}

/** Throws if any team has the prefix. */
export async function insertKey(tx: Tx, teamId: string, key: NewKey): Promise<void> {
  const { creatorId: createdBy, at: createdAt, scopes, allowedIps, ...own } = key;
  await tx.prisma.keyDirectory.createMany({ data: [{ teamId, prefix: key.prefix }] });
  await tx.prisma.apiKey.createMany({
    data: [
      {
        teamId,
        ...own,
        createdBy,
        createdAt,
        secretHash: Buffer.from(key.secretHash),
        scopes: [...scopes],
        ...(allowedIps && { allowedIps: [...allowedIps] }),
      },
    ],
  });
}

/** The first confirmation stays. */
export async function markStored(tx: Tx, teamId: string, keyId: string, at: Date): Promise<void> {
  await tx.prisma.apiKey.updateMany({
    where: { teamId, id: keyId, storedAt: null },
    data: { storedAt: at },
  });
}

// Truncated to the column's milliseconds. If the time were rounded up, a revoked key would work for
// up to a millisecond longer.
const END = statement(
  'apiKeys.end',
  `update api_key
   set revoked_at = least(
     revoked_at,
     case when $4 > 0 then expires_at end,
     (select date_trunc('milliseconds', coalesce($3::timestamptz, clock_timestamp())))
       + make_interval(secs => $4)
   )
   where team_id = $1 and id = $2`,
);

/**
 * Ends the key after the grace period, at its expiry, or earlier if an earlier end was set already.
 * Uses the database's clock: if the clock of this process is ahead, the key must not live longer.
 */
export function endKey(
  tx: Tx,
  teamId: string,
  keyId: string,
  { graceS, now }: { readonly graceS: number; readonly now: DatabaseTime },
): void {
  tx.send(END, [teamId, keyId, now, graceS]);
}

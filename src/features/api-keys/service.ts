import { makeApiKey } from '../../core/api-key.ts';
import { newId } from '../../core/ids.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { unknownId } from '../../core/problem.ts';
import { modeOf } from '../../core/sandbox.ts';
import type { Scope } from '../../core/scopes.ts';
import { limitOf } from '../../core/team-limits.ts';
import { lockTeamFor, readChangeContext } from '../../db/change-context.ts';
import type { Db, Tx } from '../../db/client.ts';
import { databaseTime } from '../../db/database-clock.ts';
import { record, type ChangeContext, type RecordContext } from '../../db/outbox.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { CountedKeys, DatabaseTime, KeyRow } from './store.ts';

const LIST = 'api_keys';

export { templatesOf } from './rules.ts';
export { findKeyNames } from './store.ts';

/** Lists keys, newest first. Throws `validation_error` for a foreign cursor. */
export async function listKeys(
  db: Db,
  teamId: string,
  query: PageQuery & store.KeyFilters & { readonly now: DatabaseTime },
): Promise<Page<KeyRow>> {
  const { now, state } = query;
  return readPage(LIST, query, (slice) => store.listKeys(db, teamId, { ...slice, now, state }));
}

/**
 * Lists the keys that end in this time and that nobody has revoked or rotated, the first end first.
 */
export function listEndingKeys(
  db: Db,
  teamId: string,
  ends: { readonly after: Date; readonly until: Date },
): Promise<store.EndingKeyRow[]> {
  return store.listEndingKeys(db, teamId, { ...ends, limit: limitOf(teamId, 'liveKeys') });
}

/** Throws `not_found`. */
export async function getKey(
  db: Db,
  teamId: string,
  keyId: string,
  now: DatabaseTime,
): Promise<KeyRow> {
  const row = await store.findKey(db, teamId, keyId, now);
  if (!row) throw unknownId('key_id');
  return row;
}

/** The change context of a key operation, with the time for the database. */
export interface KeyChangeContext {
  readonly context: ChangeContext;
  readonly now: DatabaseTime;
}

/** `allowedIps` null: any; `expiresAt` null: never. */
export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly allowedIps: readonly string[] | null;
  readonly expiresAt: string | null;
}

/** A new key with its secret, which is not shown again. */
export interface IssuedKey {
  readonly row: KeyRow;
  readonly key: string;
}

/**
 * Opens a transaction. Throws `api_disabled`, `forbidden` (the actor is no member),
 * `validation_error` (field `expires_at`, `name` or `scopes`).
 */
export async function createKey(db: Db, by: KeyChangeContext, wanted: NewKey): Promise<IssuedKey> {
  const { now } = by;
  const { teamId } = by.context;
  return db.transaction(async (tx) => {
    const [context, counted, at] = await Promise.all([
      lockTeamFor(tx, by.context),
      store.countLiveAndNames(tx, teamId, [wanted.name], now),
      databaseTime(tx, now),
    ]);
    rules.requireNewKey(wanted, { teamId, plan: context.plan, at });
    const creatorId = rules.requireCreator(context.actor);
    return addKey(tx, { context, now, creatorId, counted }, wanted);
  });
}

/** For whom a key is made, and with which time of the database. */
interface KeyMaker {
  readonly context: RecordContext;
  readonly now: DatabaseTime;
  readonly creatorId: string;
}
/** What was counted for a new key while the team was locked. */
type CountedMaker = KeyMaker & { readonly counted: CountedKeys };

/**
 * Adds a key of the member `creatorId`. The team must be locked. Throws `validation_error` (field
 * `name`).
 */
export async function addKey(tx: Tx, maker: CountedMaker, wanted: NewKey): Promise<IssuedKey> {
  const { context, counted } = maker;
  const { teamId } = context;
  const { liveKeys, names } = counted;
  rules.requireCreatable(teamId, { liveKeys, nameTaken: names.includes(wanted.name) });
  const issued = await issueKey(tx, maker, wanted);
  const { id, scopes, expires_at } = issued.row;
  record(tx, context, {
    audit: {
      action: 'api_key.created',
      targetId: id,
      details: { scopes, expires_at, ip_restricted: wanted.allowedIps !== null },
    },
  });
  return issued;
}

/** Ends the key at once. A revoked key stays as it is. Opens a transaction. Throws `not_found`. */
export async function revokeKey(db: Db, by: KeyChangeContext, keyId: string): Promise<KeyRow> {
  return db.transaction((tx) => revokeKeyIn(tx, by, keyId));
}

/** Like {@link revokeKey}, in the caller's transaction. */
export async function revokeKeyIn(
  tx: Tx,
  { context, now }: KeyChangeContext,
  keyId: string,
): Promise<KeyRow> {
  const { teamId } = context;
  const [before, current] = await Promise.all([
    findKeyForUpdate(tx, teamId, keyId, now),
    readChangeContext(tx, context),
  ]);
  if (before.state === 'revoked') return before;
  store.endKey(tx, teamId, keyId, { graceS: 0, now });
  record(tx, current, { audit: { action: 'api_key.revoked', targetId: keyId } });
  return getKey(tx, teamId, keyId, now);
}

/** Keeps that somebody has stored the key. Opens a transaction. Throws `not_found`. */
export async function confirmStored(db: Db, by: KeyChangeContext, keyId: string): Promise<KeyRow> {
  const { context, now } = by;
  const { teamId, at } = context;
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      findKeyForUpdate(tx, teamId, keyId, now),
      readChangeContext(tx, context),
    ]);
    if (before.stored_at !== null) return before;
    await store.markStored(tx, teamId, keyId, at);
    record(tx, current, { audit: { action: 'api_key.stored', targetId: keyId } });
    return getKey(tx, teamId, keyId, now);
  });
}

/** A rotation of the key `keyId`. `graceS` 0: the key ends at once. */
export interface Rotation {
  readonly keyId: string;
  readonly graceS: number;
  /** undefined: the same as the old key; null: never. */
  readonly expiresAt: string | null | undefined;
}

/**
 * Creates a successor and ends the key after `graceS`. Opens a transaction. Throws `api_disabled`,
 * `forbidden` (the actor is no member), `not_found`, `validation_error` (field `expires_at`,
 * `key_id` or `grace_s`).
 */
export async function rotateKey(
  db: Db,
  by: KeyChangeContext,
  rotation: Rotation,
): Promise<IssuedKey> {
  const { now } = by;
  const { teamId } = by.context;
  const { keyId, graceS, expiresAt } = rotation;
  return db.transaction(async (tx) => {
    const [context, old, at] = await Promise.all([
      lockTeamFor(tx, by.context),
      findKeyForUpdate(tx, teamId, keyId, now),
      databaseTime(tx, now),
    ]);
    rules.requirePlanWithApi(context.plan);
    if (expiresAt !== undefined) rules.requireFuture(expiresAt, at);
    const creatorId = rules.requireCreator(context.actor);
    rules.requireRotatable(old);
    const issued = await replaceKey(tx, { context, now, creatorId }, old, {
      graceS,
      expiresAt: expiresAt === undefined ? old.expires_at : expiresAt,
    });
    record(tx, context, {
      audit: {
        action: 'api_key.rotated',
        targetId: keyId,
        details: {
          successor_id: issued.row.id,
          grace_s: graceS,
          expires_at: issued.row.expires_at,
        },
      },
    });
    return issued;
  });
}

async function replaceKey(
  tx: Tx,
  maker: KeyMaker,
  old: KeyRow,
  { graceS, expiresAt }: { readonly graceS: number; readonly expiresAt: string | null },
): Promise<IssuedKey> {
  const { context, now } = maker;
  const { teamId } = context;
  const { liveKeys, name } = await countLiveAndName(tx, teamId, old.name, now);
  rules.requireRoomForSuccessor(teamId, { liveKeys, graceS });
  store.endKey(tx, teamId, old.id, { graceS, now });
  return issueKey(tx, maker, {
    name,
    scopes: old.scopes,
    allowedIps: old.allowed_ips,
    expiresAt,
  });
}

/** Counts the live keys, and finds the next free name. Mostly the first look finds it. */
async function countLiveAndName(
  tx: Tx,
  teamId: string,
  oldName: string,
  now: DatabaseTime,
): Promise<{ readonly liveKeys: number; readonly name: string }> {
  for (let skipped = 0; ; skipped += rules.NAMES_AT_ONCE) {
    const names = rules.successorNames(oldName, skipped);
    const counted = await store.countLiveAndNames(tx, teamId, names, now);
    const name = names.find((one) => !counted.names.includes(one));
    if (name !== undefined) return { liveKeys: counted.liveKeys, name };
  }
}

async function issueKey(
  tx: Tx,
  { context, now, creatorId }: KeyMaker,
  wanted: NewKey,
): Promise<IssuedKey> {
  const { teamId, at } = context;
  const { name, scopes, allowedIps, expiresAt } = wanted;
  const { key, prefix, secretHash } = makeApiKey(modeOf(teamId));
  const id = newId('apiKey');
  await store.insertKey(tx, teamId, {
    id,
    name,
    prefix,
    secretHash,
    scopes: rules.inOrder(scopes),
    creatorId,
    allowedIps: allowedIps && [...new Set(allowedIps)],
    expiresAt,
    at,
  });
  return { row: await getKey(tx, teamId, id, now), key };
}

async function findKeyForUpdate(
  tx: Tx,
  teamId: string,
  keyId: string,
  now: DatabaseTime,
): Promise<KeyRow> {
  const row = await store.findKeyForUpdate(tx, teamId, keyId, now);
  if (!row) throw unknownId('key_id');
  return row;
}

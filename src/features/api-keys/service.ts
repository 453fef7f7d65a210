import { makeApiKey } from '../../core/api-key.ts';
import { newId } from '../../core/ids.ts';
import { parseCursor, toPage, type Page } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import type { Scope } from '../../core/scopes.ts';
import type { Db, Tx } from '../../db/client.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { record, type Occasion } from '../../db/outbox.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { DatabaseTime, KeyRow } from './store.ts';

const LIST = 'api_keys';

export { TEMPLATES } from './rules.ts';

/** Keys in any state, newest first. */
export async function listKeys(
  db: Db,
  teamId: string,
  query: { readonly now: DatabaseTime; readonly cursor?: string | undefined; readonly limit: number },
): Promise<Page<KeyRow>> {
  const { now, cursor, limit } = query;
  const rows = await store.listKeys(db, teamId, { now, limit: limit + 1, after: parseCursor(LIST, cursor) });
  return toPage(LIST, rows, limit, (row) => ({ at: row.created_at, id: row.id }));
}

/** Throws `not_found`. */
export async function getKey(db: Db, teamId: string, keyId: string, now: DatabaseTime): Promise<KeyRow> {
  const row = await store.findKey(db, teamId, keyId, now);
  if (!row) throw notFound();
  return row;
}

/** Who acts, in which plan, by which clock. */
export interface KeyOccasion {
  readonly occasion: Occasion;
  readonly plan: string;
  readonly now: DatabaseTime;
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly allowedIps: readonly string[] | null;
  readonly expiresAt: string | null;
}

/** A key with its secret, for the only time. */
export interface IssuedKey {
  readonly row: KeyRow;
  readonly key: string;
}

/** Opens a transaction. Throws `api_disabled`, `validation_error` (field `expires_at` or `name`). */
export async function createKey(db: Db, by: KeyOccasion, wanted: NewKey): Promise<IssuedKey> {
  const { occasion, plan, now } = by;
  const { teamId, at } = occasion;
  rules.requirePlanWithApi(plan);
  rules.requireFuture(wanted.expiresAt, at);
  return db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const { liveKeys, names } = await store.countLiveAndNames(tx, teamId, wanted.name, now);
    rules.requireCreatable({ liveKeys, nameTaken: names.includes(wanted.name) });
    const issued = await issueKey(tx, by, wanted);
    const { id, scopes, expires_at } = issued.row;
    record(tx, occasion, {
      audit: {
        action: 'api_key.created',
        targetId: id,
        details: { scopes, expires_at, ip_restricted: wanted.allowedIps !== null },
      },
    });
    return issued;
  });
}

/** Ends the key at once; a key that has ended stays as it is. Opens a transaction. Throws `not_found`. */
export async function revokeKey(db: Db, by: Omit<KeyOccasion, 'plan'>, keyId: string): Promise<KeyRow> {
  const { occasion, now } = by;
  const { teamId } = occasion;
  return db.transaction(async (tx) => {
    const before = await findKeyForUpdate(tx, teamId, keyId, now);
    if (before.state === 'revoked') return before;
    store.endKey(tx, teamId, keyId, { graceS: 0, now });
    record(tx, occasion, { audit: { action: 'api_key.revoked', targetId: keyId } });
    return getKey(tx, teamId, keyId, now);
  });
}

export interface Rotation {
  readonly keyId: string;
  readonly graceS: number;
  /** undefined: as the old key has it; null: never. */
  readonly expiresAt: string | null | undefined;
}

/** Makes the key's successor and sets the key's end. Opens a transaction. Throws `api_disabled`, `not_found`, `validation_error` (field `expires_at`, `key_id` or `grace_s`). */
export async function rotateKey(db: Db, by: KeyOccasion, rotation: Rotation): Promise<IssuedKey> {
  const { occasion, plan, now } = by;
  const { teamId, at } = occasion;
  const { keyId, graceS } = rotation;
  rules.requirePlanWithApi(plan);
  if (rotation.expiresAt !== undefined) rules.requireFuture(rotation.expiresAt, at);
  return db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const old = await findKeyForUpdate(tx, teamId, keyId, now);
    rules.requireRotatable(old);
    const { liveKeys, names } = await store.countLiveAndNames(tx, teamId, rules.baseOf(old.name), now);
    rules.requireRoomForSuccessor(liveKeys, graceS);
    store.endKey(tx, teamId, keyId, { graceS, now });
    const issued = await issueKey(tx, by, {
      name: rules.successorName(old.name, names),
      scopes: old.scopes,
      allowedIps: old.allowed_ips,
      expiresAt: rotation.expiresAt === undefined ? old.expires_at : rotation.expiresAt,
    });
    record(tx, occasion, {
      audit: {
        action: 'api_key.rotated',
        targetId: keyId,
        details: { successor_id: issued.row.id, grace_s: graceS, expires_at: issued.row.expires_at },
      },
    });
    return issued;
  });
}

async function issueKey(tx: Tx, { occasion, now }: KeyOccasion, wanted: NewKey): Promise<IssuedKey> {
  const { teamId, actor, at } = occasion;
  const { name, scopes, allowedIps, expiresAt } = wanted;
  const creatorId = rules.requireCreator(actor);
  const { key, prefix, secretHash } = makeApiKey();
  const id = newId('apiKey');
  store.insertKey(tx, teamId, {
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

async function findKeyForUpdate(tx: Tx, teamId: string, keyId: string, now: DatabaseTime): Promise<KeyRow> {
  const row = await store.findKeyForUpdate(tx, teamId, keyId, now);
  if (!row) throw notFound();
  return row;
}

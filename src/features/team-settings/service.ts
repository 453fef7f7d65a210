import { readPage, readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import { unknownId } from '../../core/problem.ts';
import { lockTeamFor } from '../../db/change-context.ts';
import type { Db } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import * as catalogStore from './catalog-store.ts';
import type { CatalogRow } from './catalog-store.ts';
import * as rules from './rules.ts';
import type { Released } from './rules.ts';
import * as store from './store.ts';
import type { AdminRow, Switches } from './store.ts';

const ADMINS = 'team_admins';
const CATALOG = 'team_catalog';
/** A cursor holds a time and an id. The catalog is ordered by id only, so its time is constant. */
const NO_TIME = '1970-01-01T00:00:00.000Z';

/** Lists the admins that have not left, with their rights, newest first. */
export async function listAdmins(
  db: Db,
  teamId: string,
  query: PageQuery,
): Promise<Page<AdminRow>> {
  return readPage(ADMINS, query, (slice) => store.listAdmins(db, teamId, slice));
}

/**
 * Grants a right or withdraws it, and returns the rights that the member has then. Opens a
 * transaction. Throws `not_found` and, when it grants, `validation_error` (field `member_id`).
 */
export async function changeRights(
  db: Db,
  context: ChangeContext,
  {
    memberId,
    right,
    granted,
  }: { readonly memberId: string; readonly right: string; readonly granted: boolean },
): Promise<readonly string[]> {
  const { teamId } = context;
  return db.transaction(async (tx) => {
    const [current, target] = await Promise.all([
      lockTeamFor(tx, context),
      store.findMember(tx, teamId, memberId),
    ]);
    if (!target) throw unknownId('member_id');
    if (granted) rules.requireActiveAdmin(target);
    if (target.rights.includes(right) === granted) return target.rights;
    const others = target.rights.filter((held) => held !== right);
    const rights = granted ? [...others, right] : others;
    await store.setRights(tx, teamId, memberId, rights);
    const action = granted ? 'team.right_granted' : 'team.right_withdrawn';
    record(tx, current, { audit: { action, targetId: memberId, details: { right } } });
    return rights;
  });
}

/** The privacy switches as they are set. */
export { findSwitches as getSwitches } from './store.ts';

/**
 * Sets the given switches. They apply to every request that starts afterwards, and to what is
 * recorded of changes that still wait for the team. Opens a transaction.
 */
export async function setSwitches(
  db: Db,
  context: ChangeContext,
  wanted: { readonly [name in keyof Switches]?: boolean | undefined },
): Promise<Switches> {
  const { teamId } = context;
  return db.transaction(async (tx) => {
    const [current, before] = await Promise.all([
      lockTeamFor(tx, context),
      store.findSwitches(tx, teamId),
    ]);
    const after: Switches = {
      member_detail_enabled: wanted.member_detail_enabled ?? before.member_detail_enabled,
      leaderboard_enabled: wanted.leaderboard_enabled ?? before.leaderboard_enabled,
    };
    const change = (name: keyof Switches): boolean | undefined =>
      after[name] === before[name] ? undefined : after[name];
    const details = {
      member_detail_enabled: change('member_detail_enabled'),
      leaderboard_enabled: change('leaderboard_enabled'),
    };
    if (Object.values(details).every((value) => value === undefined)) return before;
    await store.setSwitches(tx, teamId, after);
    record(tx, current, { audit: { action: 'team.privacy_changed', targetId: teamId, details } });
    return after;
  });
}

/**
 * The ids that the team's policy blocks or, with a member id, the member's own policy. Throws
 * `not_found` for an unknown member.
 */
export async function getPolicy(
  db: Db,
  teamId: string,
  memberId: string | null,
): Promise<readonly string[]> {
  if (memberId !== null && !(await store.findMember(db, teamId, memberId)))
    throw unknownId('member_id');
  return catalogStore.listBlocked(db, teamId, memberId);
}

/**
 * Replaces the list of blocked entries of the team's policy or, with a member id, of the member's
 * own policy. Returns the new list. Opens a transaction. Throws `not_found`, `validation_error`
 * (field `blocked`), `precondition_failed`.
 */
export async function setPolicy(
  db: Db,
  context: ChangeContext,
  memberId: string | null,
  {
    blocked,
    was,
  }: { readonly blocked: readonly string[]; readonly was?: readonly string[] | undefined },
): Promise<readonly string[]> {
  const { teamId } = context;
  return db.transaction(async (tx) => {
    const [current, before] = await Promise.all([
      lockTeamFor(tx, context),
      getPolicy(tx, teamId, memberId),
    ]);
    rules.requireUnchanged(was, before);
    const change = rules.changeOf(before, blocked);
    if (!rules.isChange(change)) return before;
    rules.requireBlockable(change, await catalogStore.findKnownEntries(tx, teamId, change.added));
    await catalogStore.changeBlocked(tx, teamId, memberId, change);
    const action = memberId === null ? 'team.policy_changed' : 'member.policy_changed';
    record(tx, current, {
      audit: { action, targetId: memberId ?? teamId, details: { ...change } },
    });
    return catalogStore.listBlocked(tx, teamId, memberId);
  });
}

/** The global entries that are released to the team now. */
export async function getRelease(db: Db, teamId: string): Promise<Released> {
  return releasedOf(await catalogStore.findRelease(db, teamId));
}

function releasedOf({ all, ids }: catalogStore.Release): Released {
  return all ? 'all' : ids;
}

/**
 * Replaces what is released. Opens a transaction. Throws `validation_error` (field `released`),
 * `precondition_failed`.
 */
export async function setRelease(
  db: Db,
  context: ChangeContext,
  { released, was }: { readonly released: Released; readonly was?: Released | undefined },
): Promise<Released> {
  const { teamId } = context;
  const all = released === 'all';
  return db.transaction(async (tx) => {
    const [current, before] = await Promise.all([
      lockTeamFor(tx, context),
      catalogStore.findRelease(tx, teamId),
    ]);
    rules.requireUnchanged(was, releasedOf(before));
    const change = rules.changeOf(before.ids, all ? [] : released);
    if (before.all === all && !rules.isChange(change)) return getRelease(tx, teamId);
    if (!all) rules.requireReleasable(released, await catalogStore.findGlobalEntries(tx, released));
    await catalogStore.changeRelease(tx, teamId, all, change);
    record(tx, current, {
      audit: { action: 'team.release_changed', targetId: teamId, details: { all, ...change } },
    });
    return getRelease(tx, teamId);
  });
}

/** Lists the entries that the team could use, each with the reasons why it cannot, by id. */
export async function listCatalog(
  db: Db,
  teamId: string,
  query: PageQuery & { readonly kind: string | null },
): Promise<Page<CatalogRow>> {
  const { kind } = query;
  const positionOf = (row: CatalogRow) => ({ at: NO_TIME, id: row.id });
  return readPageBy(positionOf, CATALOG, query, ({ limit, after }) =>
    catalogStore.listCatalog(db, teamId, { limit, afterId: after?.id ?? '', kind }),
  );
}

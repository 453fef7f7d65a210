// What every transaction keeps to, whatever it is for. test/support/lock-recorder.ts tries these
// rules on all transactions of the tests.
import { isSandbox, liveIdOf } from '../../src/core/sandbox.ts';
import { KEYS, type TenantTable } from '../../src/db/tenant-tables.ts';
import { LOCKED_TABLES } from '../../src/seed/remove-store.ts';
import { readAccess, type Access } from '../checks/sql/locks.ts';

type Table = TenantTable | 'team' | typeof KEYS;

/** What must be locked before a row is written. Of several, one is enough. */
interface Guard {
  readonly insert?: readonly Table[];
  readonly change?: readonly Table[];
}

/** Its limits and rules are of the whole team. */
const OF_TEAM: Guard = { insert: ['team'], change: ['team'] };
/** Its rows are written together with figures of a person. */
const OF_PERSON: Guard = { insert: ['person'], change: ['person'] };
const OF_CONNECTION: Guard = { insert: ['crm_connection'], change: ['crm_connection'] };
/**
 * Its rows may come at any time. As of every table, a transaction locks a row that it reads before
 * it writes it.
 */
const FREE: Guard = {};

/**
 * The locks that protect each table. Whoever adds a table decides. A table that is its own guard
 * needs no entry: that rule holds for all.
 */
export const GUARDS: Readonly<Record<Table, Guard>> = {
  team: FREE,
  member: OF_TEAM,
  invitation_resend: { insert: ['team'] },
  member_block: OF_TEAM,
  team_block: OF_TEAM,
  catalog_release: OF_TEAM,
  team_catalog_entry: OF_TEAM,
  person: OF_TEAM,
  api_key: { insert: ['team'] },
  [KEYS]: { insert: ['team'] },
  webhook_endpoint: { insert: ['team'] },
  crm_connection: { insert: ['team'] },
  training: { insert: ['person'], change: ['person', 'assignment'] },
  evaluation: OF_PERSON,
  analytics_person: OF_PERSON,
  analytics_person_week: OF_PERSON,
  // The member stays one until the commit.
  assignment: { insert: ['member'] },
  training_case: { insert: ['member'] },
  crm_deal: OF_CONNECTION,
  crm_objection: OF_CONNECTION,
  webhook_resend: { insert: ['webhook_endpoint'] },
  webhook_delivery: { insert: ['webhook_endpoint'] },
  event: FREE,
  event_in_hand: FREE,
  pending_job: FREE,
  idempotency_record: FREE,
  audit_log: FREE,
  request_log: FREE,
  api_key_usage: FREE,
  // The member is not gone with the team.
  announcement_mail: { insert: ['member'] },
  alert_subscription: FREE,
  team_counter: FREE,
  spent_token: FREE,
  sandbox: OF_TEAM,
  sandbox_mail: FREE,
};

/** Statements that need no guard, by the beginning of their names, and why. */
const UNGUARDED: Readonly<Record<string, string>> = {
  'erasure.remove': 'the team is marked, and nobody finds it any more',
  'erasure.unlinkCompletions': 'the same',
  'crm.removeDeals': 'nobody reads or writes what a disconnected connection has left',
};

/** A transaction that locks rows of several tables waits for them in this order. */
const ORDER: readonly string[] = ['team', ...LOCKED_TABLES];

/** Statements that lock in another order, and why they deadlock with nobody. */
const OUT_OF_ORDER: Readonly<Record<string, string>> = {
  'webhooks.recordEndpoints': 'it waits for a moment only, and then leaves its results for later',
};

/**
 * What may lock the first team of a transaction. The others lock a live team, whose sandbox is
 * locked before.
 */
const LOCKS_FIRST_TEAM = ['db.lockTeam', 'db.lockFreeTeam', 'erasure.lock'];

/** A statement of a transaction. Prisma's have no names. */
export interface Sent {
  readonly name: string | null;
  readonly text: string;
  /** The team whose row it reads or locks. Left out or null: none, or several. */
  readonly team?: string | null;
}

/** The statements that read the privacy switches in a transaction (`readChangeContext`). */
const READ_SWITCHES = ['db.readTeamFacts', 'db.readMemberPower', 'db.readKeyPower'];
/** What is written under the switches that were read. */
const RECORDS: readonly Table[] = ['audit_log', 'event'];

/** What the requests of a caller are counted in. */
const COUNTERS = ['team_counter', 'rate_counter'];

const known = new Map<string, Access>();

function accessOf({ text }: Sent): Access {
  const access = known.get(text) ?? readAccess(text);
  known.set(text, access);
  return access;
}

/** Returns what is wrong with the transaction of these statements. Needs `loadParser`. */
export function faultsOf(sent: readonly Sent[]): string[] {
  const accesses = sent.map(accessOf);
  const faults = sent.flatMap((statement, place) =>
    writeFaults(statement, accesses.slice(0, place), accessOf(statement)),
  );
  faults.push(...orderFaults(sent, accesses));
  faults.push(...counterFaults(sent, accesses));
  const read = sent.findIndex(({ name }) => name !== null && READ_SWITCHES.includes(name));
  if (read !== -1) faults.push(...switchFaults(sent, accesses, read));
  return faults;
}

/** Whether its rows are in the hand of the transaction after these statements. */
function isHeld(table: string, accesses: readonly Access[]): boolean {
  return accesses.some(
    ({ locks, inserts, changes }) => locks.has(table) || inserts.has(table) || changes.has(table),
  );
}

/** A statement that both locks and writes is in order, too: it locks first. */
function isGuarded(guards: readonly string[], before: readonly Access[], own: Access): boolean {
  return guards.some((table) => isHeld(table, before) || own.locks.has(table));
}

function guardsOf(table: string, kind: keyof Guard): readonly string[] {
  return (GUARDS as Readonly<Record<string, Guard>>)[table]?.[kind] ?? [];
}

/** Each write comes after the lock that protects its table, or that of its row. */
function writeFaults({ name }: Sent, before: readonly Access[], own: Access): string[] {
  if (Object.keys(UNGUARDED).some((start) => name?.startsWith(start))) return [];
  // A new team is seen by nobody.
  const isNew = before.some(({ inserts }) => inserts.has('team'));
  const faultOf = (table: string, kind: keyof Guard): string[] => {
    const guards = guardsOf(table, kind);
    if (guards.length === 0 || isNew || isGuarded(guards, before, own)) return [];
    return [`${name ?? 'Prisma'} writes ${table} before ${guards.join(' or ')} is locked`];
  };
  const wasRead = (table: string): boolean =>
    before.some(({ names }) => names.has(table)) && !isGuarded([table], before, own);
  return [
    ...[...own.inserts].flatMap((table) => faultOf(table, 'insert')),
    ...[...own.changes].flatMap((table) => faultOf(table, 'change')),
    ...[...own.changes]
      .filter((table) => wasRead(table) && !isGuarded(guardsOf(table, 'change'), before, own))
      .map((table) => `${name ?? 'Prisma'} writes ${table}, which was read without a lock`),
  ];
}

/**
 * Everybody's authentication stands behind a request that waits for its counter. So a counter is
 * locked by one statement alone, and never from one round trip to the next.
 */
function counterFaults(sent: readonly Sent[], accesses: readonly Access[]): string[] {
  if (sent.length === 1) return [];
  return sent.flatMap(({ name }, place) =>
    COUNTERS.filter((table) => isHeld(table, accesses.slice(place, place + 1))).map(
      (table) => `${name ?? 'Prisma'} locks ${table} in a transaction`,
    ),
  );
}

/** Transactions wait for locks in one order, so that no two wait for each other. */
function orderFaults(sent: readonly Sent[], accesses: readonly Access[]): string[] {
  // A new team is seen by nobody.
  if (accesses.some(({ inserts }) => inserts.has('team'))) return [];
  const held = new Set<string>();
  const teams = new Set<string>();
  return sent.flatMap(({ name, team }, place) => {
    const { waits, locks } = accesses[place] ?? NOTHING;
    const later = (table: string): string[] =>
      [...held].filter((one) => ORDER.indexOf(one) > ORDER.indexOf(table));
    const found = [...waits]
      .filter((table) => ORDER.includes(table) && !held.has(table) && !(name && OUT_OF_ORDER[name]))
      .flatMap((table) => later(table).map((one) => `${name} locks ${table} after ${one}`));
    if (locks.has('team') && !held.has('team') && !(name && LOCKS_FIRST_TEAM.includes(name)))
      found.push(`${name} locks a team before its sandbox`);
    if (team && locks.has('team')) {
      const isLate = isSandbox(team) && !teams.has(team) && teams.has(liveIdOf(team));
      if (isLate && waits.has('team')) found.push(`${name} locks a sandbox after its live team`);
      teams.add(team);
    }
    for (const table of locks) held.add(table);
    return found;
  });
}

/**
 * Between the look at the switches and the records the transaction waits for nobody: meanwhile a
 * switch could close. With the team's lock it may: nobody else changes a switch then.
 */
function switchFaults(
  sent: readonly Sent[],
  accesses: readonly Access[],
  read: number,
): readonly string[] {
  const before = accesses.slice(0, read);
  const last = accesses.findLastIndex(({ inserts }) => RECORDS.some((name) => inserts.has(name)));
  if (isHeld('team', before)) return [];
  return sent.slice(read + 1, Math.max(last, read + 1)).flatMap(({ name }, place) => {
    const access = accesses[read + 1 + place];
    const waited = [
      ...[...(access?.waits ?? [])].filter((table) => !isHeld(table, before)),
      ...[...(access?.changes ?? [])].filter(
        (table) => !isGuarded([table, ...guardsOf(table, 'change')], before, NOTHING),
      ),
    ];
    return waited.map((table) => `${name ?? 'Prisma'} waits for ${table} after the switches`);
  });
}

const NOTHING: Access = {
  locks: new Set(),
  waits: new Set(),
  inserts: new Set(),
  changes: new Set(),
  names: new Set(),
};

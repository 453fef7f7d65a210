import { SANDBOX_OWNER, TAKEN_OVER } from '../../core/sandbox.ts';
import { statement, type Db, type Statement, type Tx } from '../../db/client.ts';
import { columnsOf, listed, selectionOf, type RowOf } from '../../db/rows.ts';
import { waitForTeamLock } from '../../db/team-lock.ts';
import { TENANT_TABLE_NAMES, type TenantTable } from '../../db/tenant-tables.ts';
import type { Scenario } from '../../core/vocabularies.ts';
import { RESETS_PER_HOUR } from './rules.ts';
import type { Content } from './scenario.ts';

const SANDBOX = selectionOf('Sandbox', [
  'team_id',
  'scenario',
  'created_at',
  'reset_at',
  'speed',
  'suspended_until',
  'receivers_fail_until',
]);

/** What a sandbox has beside a team. */
export type SandboxRow = ReturnType<typeof SANDBOX.toRow>;

/** The sandbox, or null; null also while it is being erased. */
export async function findSandbox(db: Db, sandboxId: string): Promise<SandboxRow | null> {
  const found = await db.prisma.sandbox.findFirst({
    where: { teamId: sandboxId, team: { erasingSince: null } },
    select: SANDBOX.select,
  });
  return found && SANDBOX.toRow(found);
}

const LIVE = selectionOf('Team', TAKEN_OVER);

/** What a sandbox takes over from its live team. */
export type LiveTeam = RowOf<'Team', (typeof TAKEN_OVER)[number]>;

/** The live team as it is now; null if there is none. */
export async function findLiveTeam(tx: Tx, liveId: string): Promise<LiveTeam | null> {
  const found = await tx.prisma.team.findFirst({
    where: { id: liveId, erasingSince: null },
    select: LIVE.select,
  });
  return found && LIVE.toRow(found);
}

/**
 * The live team, locked until the transaction ends; null if there is none. Lock that of the sandbox
 * before, because whoever holds it may hold it for seconds.
 */
export const lockLiveTeam = statement<LiveTeam>(
  'sandbox.lockLiveTeam',
  `select ${listed(TAKEN_OVER)}
   from team
   where id = $1 and erasing_since is null
   for no key update`,
).finds<[tx: Tx, liveId: string]>();

/** A sandbox to create. */
export interface NewSandbox {
  readonly id: string;
  /** What it takes over. */
  readonly team: LiveTeam;
  readonly seats: number;
  readonly scenario: Scenario;
  readonly at: Date;
}

/**
 * Inserts the team and what makes it a sandbox. Returns false if there is such a team. Waits for a
 * concurrent creation of the same sandbox.
 */
export async function insertSandbox(tx: Tx, sandbox: NewSandbox): Promise<boolean> {
  const { id: teamId, team, seats, scenario, at } = sandbox;
  const { count } = await tx.prisma.team.createMany({
    data: [{ ...LIVE.toData(team), id: teamId, seats, createdAt: at }],
    skipDuplicates: true,
  });
  if (count === 0) return false;
  await tx.prisma.sandbox.createMany({
    data: [{ teamId, scenario, createdAt: at, resetAt: at }],
  });
  return true;
}

/** Writes what the live team has now. Its team must be locked, or be new. */
export async function takeOver(tx: Tx, sandboxId: string, team: LiveTeam): Promise<void> {
  await tx.prisma.team.updateMany({ where: { id: sandboxId }, data: LIVE.toData(team) });
}

// Postgres waits so long twice if others wait, too: for its turn, and for the one before.
const WAIT = statement('sandbox.waitForReset', `set local lock_timeout = '2s'`);
const WAIT_AS_USUAL = statement('sandbox.waitAsUsual', 'set local lock_timeout to default');

/**
 * Locks the team of a sandbox until the transaction ends. Rejects if somebody else holds the lock
 * for some seconds, which only another reset does: `isLockTimeout`, or `isCancelled` if many wait.
 */
export async function lockForReset(tx: Tx, sandboxId: string): Promise<void> {
  tx.send(WAIT, []);
  const locked = waitForTeamLock(tx, sandboxId);
  tx.send(WAIT_AS_USUAL, []);
  await locked;
}

/** The time of the reset that is number `RESETS_PER_HOUR`, from the newest one back to `since`. */
export const findLimitingReset = statement<{ readonly created_at: string }>(
  'sandbox.findLimitingReset',
  `select created_at
   from audit_log
   where team_id = $1 and action = 'sandbox.reset' and created_at > $2
   order by created_at desc, id desc
   limit 1
   offset ${RESETS_PER_HOUR - 1}`,
).finds<[tx: Tx, sandboxId: string, since: Date]>();

const MARK_RESET = statement(
  'sandbox.markReset',
  `update sandbox
   set scenario = $2, reset_at = $3, receivers_fail_until = null
   where team_id = $1`,
);

/**
 * Keeps that the scenario was brought back. What was being played with webhooks is over. Does not
 * wait: see `Tx.send`. Returns the sandbox as it is then.
 */
export function markReset(
  tx: Tx,
  before: SandboxRow,
  { scenario, at }: { readonly scenario: Scenario; readonly at: Date },
): SandboxRow {
  tx.send(MARK_RESET, [before.team_id, scenario, at]);
  const reset_at = at.toISOString();
  return { ...before, scenario, reset_at, receivers_fail_until: null };
}

/** `marked`: a reset removes the rows that are marked, in steps (`db/kept-responses.ts`). */
const BY_RESET = {
  webhook_delivery: 'kept',
  webhook_resend: 'kept',
  webhook_endpoint: 'kept',
  event_in_hand: 'kept',
  event: 'kept',
  pending_job: 'kept',
  idempotency_record: 'marked',
  audit_log: 'kept',
  request_log: 'kept',
  api_key_usage: 'kept',
  api_key: 'kept',
  crm_objection: 'removed',
  crm_deal: 'removed',
  crm_connection: 'removed',
  analytics_person_week: 'removed',
  analytics_person: 'removed',
  training_case: 'removed',
  evaluation: 'removed',
  training: 'removed',
  assignment: 'removed',
  member_block: 'removed',
  invitation_resend: 'removed',
  // Both have only rows of the owner, who stays.
  alert_subscription: 'kept',
  announcement_mail: 'kept',
  member: 'removed',
  person: 'removed',
  team_block: 'removed',
  catalog_release: 'removed',
  team_catalog_entry: 'removed',
  sandbox_mail: 'removed',
  team_counter: 'kept',
  spent_token: 'kept',
  sandbox: 'kept',
} as const satisfies Readonly<Record<TenantTable, 'kept' | 'marked' | 'removed'>>;

/** A table that a reset empties. */
export type RemovedTable = {
  [T in TenantTable]: (typeof BY_RESET)[T] extends 'removed' ? T : never;
}[TenantTable];

/** The tables that a reset empties, children before parents. */
export const REMOVED_BY_RESET = TENANT_TABLE_NAMES.filter(
  (table): table is RemovedTable => BY_RESET[table] === 'removed',
);

/** What a reset leaves: the owner, who is in every scenario. */
const LEFT: Partial<Record<TenantTable, string>> = {
  member: SANDBOX_OWNER.memberId,
  person: SANDBOX_OWNER.userId,
};

const UNLINK = statement(
  'sandbox.unlinkCompletions',
  `update assignment
   set completed_training_id = null
   where team_id = $1 and completed_training_id is not null`,
);

const REMOVALS = REMOVED_BY_RESET.map((table) =>
  statement(
    `sandbox.remove.${table}`,
    `delete from ${table} where team_id = $1${LEFT[table] ? ` and id <> '${LEFT[table]}'` : ''}`,
  ),
);

// The entries of a partial release go with `REMOVALS`. Without them, the mark that only they count
// would hide the whole catalog.
const RELEASE_ALL = statement(
  'sandbox.releaseAll',
  'update team set all_released = true where id = $1 and not all_released',
);

// In the order of `seed/remove-store.ts`. Whoever adds a row that needs one of these has committed,
// or waits and then finds it gone.
const LOCKS = (['crm_connection', 'training_case', 'member', 'person', 'assignment'] as const).map(
  (table) =>
    statement(
      `sandbox.lock.${table}`,
      `select count(*)
       from (
         select
         from ${table}
         where team_id = $1
         order by id
         for update
       ) locked`,
    ),
);

/** So many rows are few. They are made into text in one turn: a few milliseconds. */
const BATCH = 1_000;

/** The tables that tell how large a sandbox is. Other rows belong to theirs, or are few. */
export const GROWING = ['training', 'assignment', 'training_case', 'member', 'member_block'];

const COUNT = statement<{ readonly count: number }>(
  'sandbox.countRows',
  `select count(*)::int
   from (
     ${GROWING.map(
       (table) => `(
       select
       from ${table}
       where team_id = $1
       limit ${BATCH + 1}
     )`,
     ).join('\n     union all\n     ')}
   ) counted`,
);

/** Whether it has so many rows that their removal takes seconds on a busy server. */
export async function isLarge(tx: Tx, sandboxId: string): Promise<boolean> {
  return ((await tx.queryFirst(COUNT, [sandboxId]))?.count ?? 0) > BATCH;
}

// For each removed training Postgres looks for an evaluation, with a plan that the session keeps.
// Made while the table was small, it reads all of it, 20,000 times, and the reset is cut off. So
// the session makes its plans anew, and for indexes. On Citus that is the session of the node with
// the team's rows, which neither DISCARD nor SET reaches: statements for a row of the team do.
const ANEW = statement('sandbox.discardPlans', 'select discard_plans() from team where id = $1');
const BY_INDEX = statement(
  'sandbox.readByIndex',
  `select set_config('enable_seqscan', 'off', true) from team where id = $1`,
);

/**
 * Removes what a scenario writes. Of a sandbox that is not large it does not wait: see `Tx.send`.
 * What is sent together is answered together, and a connection that is silent for seconds counts
 * as broken. The team must be locked.
 */
export async function removeContent(tx: Tx, sandboxId: string, large: boolean): Promise<void> {
  if (large) tx.send(ANEW, [sandboxId]);
  tx.send(BY_INDEX, [sandboxId]);
  for (const removal of [...LOCKS, UNLINK, ...REMOVALS, RELEASE_ALL])
    if (large) await tx.query(removal, [sandboxId]);
    else tx.send(removal, [sandboxId]);
}

/** The rows name each column that may not be null. */
function insertionOf(table: TenantTable, columns: readonly string[]) {
  return statement(
    `sandbox.insert.${table}`,
    `insert into ${table} (team_id, ${listed(columns)})
     select $1, ${listed(columns)}
     from json_populate_recordset(null::${table}, $2::json)`,
  );
}

/** Parents before children. A training and the assignment that it completes point at each other. */
const INSERTIONS = {
  entries: insertionOf('team_catalog_entry', columnsOf('TeamCatalogEntry', 'team_id')),
  blocks: insertionOf('team_block', columnsOf('TeamBlock', 'team_id')),
  people: insertionOf('person', columnsOf('Person', 'team_id')),
  members: insertionOf('member', columnsOf('Member', 'team_id')),
  memberBlocks: insertionOf('member_block', columnsOf('MemberBlock', 'team_id')),
  assignments: insertionOf('assignment', columnsOf('Assignment', 'team_id')),
  trainings: insertionOf('training', columnsOf('Training', 'team_id')),
  evaluations: insertionOf('evaluation', columnsOf('Evaluation', 'team_id')),
  cases: insertionOf('training_case', columnsOf('TrainingCase', 'team_id')),
  connections: insertionOf('crm_connection', columnsOf('CrmConnection', 'team_id')),
  deals: insertionOf('crm_deal', columnsOf('CrmDeal', 'team_id')),
  objections: insertionOf('crm_objection', columnsOf('CrmObjection', 'team_id')),
} as const satisfies Record<keyof Content, unknown>;

/** Writes the rows of a scenario. */
export async function insertContent(tx: Tx, sandboxId: string, content: Content): Promise<void> {
  for (const name of Object.keys(INSERTIONS) as (keyof Content)[]) {
    const part = content[name];
    let batch: object[] = [];
    let isMany = false;
    for (const row of typeof part === 'function' ? part() : part) {
      batch.push(row);
      if (batch.length < BATCH) continue;
      await tx.query(INSERTIONS[name], [sandboxId, JSON.stringify(batch)]);
      batch = [];
      isMany = true;
    }
    if (batch.length > 0) tx.send(INSERTIONS[name], [sandboxId, JSON.stringify(batch)]);
    const statistics = STATISTICS[name];
    if (isMany && statistics) await refresh(tx, statistics, sandboxId);
  }
}

/**
 * Tables that get thousands of rows. What refers to them looks each row up, with a plan that is
 * made once: as long as Postgres takes such a table for an empty one, it may read all rows of the
 * team each time. Without this a reset of 10,000 trainings took 13 s in an empty database. Of two
 * resets at once the second finds the statistics locked, and only makes its plans anew.
 */
const STATISTICS: Partial<Record<keyof Content, Statistics>> = {
  trainings: statisticsOf('training'),
  evaluations: statisticsOf('evaluation'),
};

interface Statistics {
  readonly areOld: Statement<object>;
  readonly refresh: Statement<object>;
}

function statisticsOf(table: TenantTable): Statistics {
  return {
    areOld: statement(
      `sandbox.hasOldStatistics.${table}`,
      `select
       from pg_class
       where oid = 'public.${table}'::regclass
         and reltuples < (
           select count(*)
           from ${table}
           where team_id = $1
         )`,
    ),
    refresh: statement(`sandbox.analyze.${table}`, `analyze (skip_locked) ${table}`),
  };
}

async function refresh(tx: Tx, statistics: Statistics, sandboxId: string): Promise<void> {
  tx.send(ANEW, [sandboxId]);
  if ((await tx.query(statistics.areOld, [sandboxId])).length === 0) return;
  await tx.query(statistics.refresh, []);
}

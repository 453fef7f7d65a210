/**
 * What becomes of the rows of each table when a sandbox is reset, and what bounds their number. A
 * reset removes them in one transaction, so that nobody meets half of a scenario. It is in time
 * because there are no more rows than here: about 80,000.
 */
import { ProblemError } from '../core/problem.ts';
import { isSandbox } from '../core/sandbox.ts';
import { statement, type Tx } from './client.ts';
import { lockTeam } from './team-lock.ts';
import { TENANT_TABLE_NAMES, type TenantTable } from './tenant-tables.ts';

/** Who adds a row calls `requireRoomInSandbox` or `countInSandbox`: one too many is refused. */
interface Counted {
  readonly most: number;
  /** What the rows are in the text of that problem. */
  readonly called: string;
}
/** Bounded in another way, which the reason names. */
interface Limited {
  readonly most: number;
  readonly because: string;
}
/** At most so many for each row of another table. */
interface Dependent {
  readonly most: number;
  readonly perRowOf: TenantTable;
}
/** `kept`: a reset leaves the rows as they are. `marked`: it removes those that are marked. */
type Rule = Counted | Limited | Dependent | 'kept' | 'marked';

/** Whoever adds a table decides. */
export const SANDBOX_ROWS = {
  webhook_delivery: 'kept',
  webhook_resend: 'kept',
  webhook_endpoint: 'kept',
  event_in_hand: 'kept',
  event: 'kept',
  pending_job: 'kept',
  // Up to 300 a minute, for a day. They go in steps (`kept-responses.ts`).
  idempotency_record: 'marked',
  audit_log: 'kept',
  request_log: 'kept',
  api_key_usage: 'kept',
  api_key: 'kept',
  crm_objection: { most: 12, perRowOf: 'crm_connection' },
  crm_deal: { most: 5, perRowOf: 'crm_connection' },
  // Those that are connected have a smaller limit. Of the others a job removes what they have read.
  crm_connection: { most: 20, called: 'CRM connections, disconnected ones included' },
  analytics_person_week: { most: 1, perRowOf: 'evaluation' },
  analytics_person: { most: 1, perRowOf: 'person' },
  training_case: { most: 2_000, called: 'cases' },
  evaluation: { most: 1, perRowOf: 'training' },
  training: { most: 20_000, called: 'trainings' },
  assignment: { most: 5_000, called: 'assignments' },
  member_block: { most: 5_000, called: 'blocks of members' },
  invitation_resend: { most: 2_000, called: 'invitations that were mailed again' },
  // Both only of the owner, who stays.
  alert_subscription: 'kept',
  announcement_mail: 'kept',
  member: { most: 2_000, called: 'members, former ones included' },
  // Who accepts an invitation becomes a person.
  person: { most: 1, perRowOf: 'member' },
  team_block: { most: 5_000, because: 'a call replaces all of them, and takes no more' },
  catalog_release: { most: 5_000, because: 'a call replaces all of them, and takes no more' },
  team_catalog_entry: { most: 20, because: 'only a scenario writes them' },
  sandbox_mail: { most: 1_000, because: 'the oldest ones go when there is another one' },
  team_counter: 'kept',
  spent_token: 'kept',
  sandbox: 'kept',
} as const satisfies Readonly<Record<TenantTable, Rule>>;

type Rules = typeof SANDBOX_ROWS;
/** A table that a reset empties. */
export type RemovedTable = { [T in TenantTable]: Rules[T] extends string ? never : T }[TenantTable];
/** A table of which the rows are counted before one is added. */
export type CountedTable = {
  [T in TenantTable]: Rules[T] extends Counted ? T : never;
}[TenantTable];

/** The tables that a reset empties, children before parents. */
export const REMOVED_BY_RESET = TENANT_TABLE_NAMES.filter(
  (table): table is RemovedTable => typeof SANDBOX_ROWS[table] !== 'string',
);

/** How many rows of the table a sandbox has at most. */
export function mostRows(table: RemovedTable): number {
  const rule: Exclude<Rule, string> = SANDBOX_ROWS[table];
  return 'perRowOf' in rule ? rule.most * mostRows(rule.perRowOf as RemovedTable) : rule.most;
}

/** All tables of which the rows are counted. */
export const COUNTED_TABLES = REMOVED_BY_RESET.filter(
  (table): table is CountedTable => 'called' in SANDBOX_ROWS[table],
);

/** Those of them that tell how large a sandbox is. Of the others a job removes rows meanwhile. */
export const LASTING_TABLES = COUNTED_TABLES.filter((table) => table !== 'invitation_resend');

const COUNTS = new Map(
  COUNTED_TABLES.map((table) => [
    table,
    statement<{ readonly count: number }>(
      `sandbox.count.${table}`,
      `select count(*)::int
       from (
         select
         from ${table}
         where team_id = $1
         limit ${mostRows(table)}
       ) counted`,
    ),
  ]),
);

/**
 * Throws `conflict` if so many rows more would be too many for a sandbox. A live team has no such
 * limit, and this costs it nothing. Locks the team of a sandbox: of several who add rows at once,
 * each sees those of the one before. One round trip, which other statements may share.
 */
export async function requireRoomInSandbox(
  tx: Tx,
  teamId: string,
  table: CountedTable,
  added: number,
): Promise<void> {
  const requireRoomFor = await countInSandbox(tx, teamId, table);
  requireRoomFor(added);
}

/**
 * As `requireRoomInSandbox`, for who does not know yet how many rows to add. Returns the check of
 * their number, which throws `conflict`. The lock is kept until the transaction ends.
 */
export async function countInSandbox(
  tx: Tx,
  teamId: string,
  table: CountedTable,
): Promise<(added: number) => void> {
  if (!isSandbox(teamId)) return () => undefined;
  const { most, called } = SANDBOX_ROWS[table];
  const count = COUNTS.get(table);
  if (!count) throw new Error(`nothing counts ${table}`);
  lockTeam(tx, teamId);
  const row = await tx.queryFirst(count, [teamId]);
  return (added) => {
    if (row && row.count + added <= most) return;
    throw new ProblemError('conflict', {
      detail: `A sandbox has at most ${most} ${called}. Reset it.`,
    });
  };
}

const IS_ABOVE_LIMIT = statement<{ readonly is_above: boolean }>(
  'sandbox.isAboveLimit',
  `select ${LASTING_TABLES.map(
    (table) => `exists (
       select
       from ${table}
       where team_id = $1
       offset ${mostRows(table)}
     )`,
  ).join(' or ')} as is_above`,
);

/**
 * Whether a sandbox has more rows of a table than it may have: it got them before there was a
 * limit, or before the limit was lowered.
 */
export async function isAboveLimit(tx: Tx, sandboxId: string): Promise<boolean> {
  return (await tx.queryFirst(IS_ABOVE_LIMIT, [sandboxId]))?.is_above === true;
}

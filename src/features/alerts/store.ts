import type { Language } from '../../core/language.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import type { RowOf } from '../../db/rows.ts';

/** A member's subscription. */
export interface SubscriptionKey {
  readonly teamId: string;
  readonly memberId: string;
}

/** The kinds that the member wants. */
export async function findKinds(
  db: Db,
  { teamId, memberId }: SubscriptionKey,
): Promise<readonly string[]> {
  const found = await db.prisma.alertSubscription.findFirst({
    where: { teamId, memberId },
    select: { kinds: true },
  });
  return found?.kinds ?? [];
}

// When it is due stays: whoever changes the kinds gets no second mail in a day.
const SET = statement(
  'alerts.set',
  `insert into alert_subscription (team_id, member_id, kinds, next_check_at)
   values ($1, $2, $3, $4)
   on conflict (team_id, member_id) do update
   set kinds = excluded.kinds`,
);

/** Replaces the kinds that the member wants. */
export async function setKinds(
  db: Db,
  { teamId, memberId }: SubscriptionKey,
  { kinds, at }: { readonly kinds: readonly string[]; readonly at: Date },
): Promise<void> {
  await db.query(SET, [teamId, memberId, kinds, at]);
}

/** A subscription that is due, and its place among them. */
export type DueRow = RowOf<'AlertSubscription', 'team_id' | 'member_id' | 'next_check_at'>;

const LIST_DUE = statement<DueRow>(
  'alerts.listDue',
  `select team_id, member_id, next_check_at
   from alert_subscription
   where next_check_at <= $1
     and (next_check_at, team_id, member_id) > ($2::timestamptz, $3, $4)
   order by next_check_at, team_id, member_id
   limit $5`,
);

/** Lists the subscriptions of all teams that are due, after `after`; null is the beginning. */
export function listDue(
  db: Db,
  now: Date,
  { after, limit }: { readonly after: DueRow | null; readonly limit: number },
): Promise<DueRow[]> {
  const position = [
    after?.next_check_at ?? '-infinity',
    after?.team_id ?? '',
    after?.member_id ?? '',
  ];
  return db.query(LIST_DUE, [now, ...position, limit]);
}

/** A subscription that this transaction has locked. */
export interface TakenRow extends RowOf<'AlertSubscription', 'kinds' | 'told'> {
  /** Whether the member is an active admin or the owner. */
  readonly is_admin: boolean;
  /** Whether the team is active. */
  readonly is_open: boolean;
}

const IS_ADMIN = `m.status = 'active' and m.role in ('owner', 'admin')`;
const IS_OPEN = `t.status = 'active'`;

const TAKE_DUE = statement<TakenRow>(
  'alerts.takeDue',
  `select s.kinds, s.told, (${IS_ADMIN}) as is_admin, (${IS_OPEN}) as is_open
   from alert_subscription s
   join member m on m.team_id = s.team_id and m.id = s.member_id
   join team t on t.id = s.team_id
   where s.team_id = $1 and s.member_id = $2 and s.next_check_at <= $3
   for update of s skip locked`,
);

/** Locks the subscription. Returns null if it is not due any more, or locked by somebody else. */
export function takeDue(
  tx: Tx,
  { teamId, memberId }: SubscriptionKey,
  now: Date,
): Promise<TakenRow | null> {
  return tx.queryFirst(TAKE_DUE, [teamId, memberId, now]);
}

/** Records what the member was told, and when the subscription is due next. */
export async function updateTaken(
  tx: Tx,
  { teamId, memberId }: SubscriptionKey,
  { told, nextCheckAt }: { readonly told?: readonly string[]; readonly nextCheckAt: Date },
): Promise<void> {
  await tx.prisma.alertSubscription.updateMany({
    where: { teamId, memberId },
    data: { nextCheckAt, ...(told && { told: [...told] }) },
  });
}

/** Deletes the subscription. */
export async function removeTaken(tx: Tx, { teamId, memberId }: SubscriptionKey): Promise<void> {
  await tx.prisma.alertSubscription.deleteMany({ where: { teamId, memberId } });
}

/** Who gets a mail. */
export interface RecipientRow {
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
  readonly kinds: readonly string[];
}

const FIND_RECIPIENT = statement<RecipientRow>(
  'alerts.findRecipient',
  `select m.email, coalesce(m.language, t.language) as language, t.name as team_name, s.kinds
   from alert_subscription s
   join member m on m.team_id = s.team_id and m.id = s.member_id and ${IS_ADMIN}
   join team t on t.id = s.team_id and ${IS_OPEN}
   where s.team_id = $1 and s.member_id = $2`,
);

/** Returns null if the member may have no mail now. */
export function findRecipient(
  db: Db,
  { teamId, memberId }: SubscriptionKey,
): Promise<RecipientRow | null> {
  return db.queryFirst(FIND_RECIPIENT, [teamId, memberId]);
}

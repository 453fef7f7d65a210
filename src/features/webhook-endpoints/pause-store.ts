import type { Language } from '../../core/language.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import type { RowOf } from '../../db/rows.ts';

/** The failures after which an endpoint is paused. */
export interface Silence {
  /** It has failed since then or longer. */
  readonly failingUntil: Date;
  /** An endpoint without a failure since then stays as it is. */
  readonly failedAfter: Date;
}

/** An endpoint to pause, and its place among them. */
export interface SilentRow extends RowOf<'WebhookEndpoint', 'team_id' | 'id'> {
  readonly failing_since: string;
}

const isSilent = (failingUntil: string, failedAfter: string): string =>
  `status = 'active' and failing_since <= ${failingUntil}
     and hourly_failures[cardinality(hourly_failures)] >= ${failedAfter}`;

const FIND_SILENT = statement<SilentRow>(
  'webhooks.findSilent',
  `select team_id, id, failing_since
   from webhook_endpoint
   where ${isSilent('$1', '$2')}
     and (failing_since, team_id, id) > ($3::timestamptz, $4, $5)
   order by failing_since, team_id, id
   limit $6`,
);

/** The endpoints to pause, those that have failed longest first, after `after`; null: all. */
export function findSilent(
  db: Db,
  { failingUntil, failedAfter }: Silence,
  { after, limit }: { readonly after: SilentRow | null; readonly limit: number },
): Promise<SilentRow[]> {
  const { failing_since: since, team_id, id } = after ?? FIRST;
  return db.query(FIND_SILENT, [failingUntil, failedAfter, since, team_id, id, limit]);
}

const FIRST = { failing_since: '-infinity', team_id: '', id: '' };

const PAUSE = statement<{ id: string }>(
  'webhooks.pause',
  `update webhook_endpoint
   set status = 'disabled_failures', paused_at = $5
   where team_id = $1 and id = (
     select id
     from webhook_endpoint
     where team_id = $1 and id = $2 and ${isSilent('$3', '$4')}
     for no key update skip locked
   )
   returning id`,
);

/**
 * Pauses the endpoint. Returns false if it should not be paused any more, or if somebody has locked
 * it: others must not wait for it, and the next look is a minute later.
 */
export async function pauseSilent(
  tx: Tx,
  { team_id: teamId, id }: Pick<SilentRow, 'team_id' | 'id'>,
  { failingUntil, failedAfter, at }: Silence & { readonly at: Date },
): Promise<boolean> {
  return (await tx.queryFirst(PAUSE, [teamId, id, failingUntil, failedAfter, at])) !== null;
}

/** A paused endpoint, its last failure, and the admin who gets the mail. */
export interface PauseMailRow
  extends
    RowOf<'WebhookEndpoint', 'url' | 'description' | 'failing_since'>,
    RowOf<'WebhookDelivery', 'response_code' | 'error'> {
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
}

/**
 * The last failure is looked for among as many of the youngest failed deliveries, which are a range
 * of an index. To have all of them in the order of their attempts would take another index, which
 * every failure would write.
 */
const FAILED_READ = 1_000;

const FIND_PAUSE_MAIL = statement<PauseMailRow>(
  'webhooks.findPauseMail',
  `select m.email, coalesce(m.language, t.language) as language, t.name as team_name,
     w.url, w.description, w.failing_since, d.response_code, d.error
   from member m
   join team t on t.id = m.team_id and t.status = 'active'
   join webhook_endpoint w
     on w.team_id = m.team_id and w.id = $3 and w.status = 'disabled_failures'
   left join lateral (
     select response_code, error
     from (
       select id, event_type, last_attempt_at, response_code, error
       from webhook_delivery
       where team_id = $1 and endpoint_id = $3 and has_failed
       order by created_at desc, id desc
       limit ${FAILED_READ}
     ) failed
     where last_attempt_at is not null and event_type <> 'ping'
     order by last_attempt_at desc, id desc
     limit 1
   ) d on true
   where m.team_id = $1
     and m.id = $2
     and m.status = 'active'
     and m.role in ('owner', 'admin')`,
);

/** Undefined: the member is no admin now, the endpoint not paused, or the team not active. */
export async function findPauseMailRow(
  db: Db,
  ids: { readonly teamId: string; readonly memberId: string; readonly endpointId: string },
): Promise<PauseMailRow | undefined> {
  const [row] = await db.query(FIND_PAUSE_MAIL, [ids.teamId, ids.memberId, ids.endpointId]);
  return row;
}

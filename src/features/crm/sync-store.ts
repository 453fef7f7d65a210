/** The synchronization's SQL. Whatever writes asks first, in its transaction, whether the connection is still this run's: see `holdRun`. */
import { newId } from '../../core/ids.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import type { ObjectionText } from './objections.ts';
import type { ProviderDeal } from './provider.ts';
import type { SyncState } from './schedule.ts';

/** The job that synchronizes one connection, the one that looks which are due, and the one that removes the rows of a disconnected one. */
export const SYNC_CONNECTION = 'sync_crm_connection';
export const SCHEDULE_SYNCS = 'schedule_crm_syncs';
export const REMOVE_CONNECTION = 'remove_crm_connection';

export interface ConnectionKey {
  readonly teamId: string;
  readonly connectionId: string;
}

/** One run of the synchronization of a connection. */
export interface RunKey extends ConnectionKey {
  readonly token: string;
}

const DUE = `c.status = 'active' and c.credentials_encrypted is not null and c.next_sync_at <= $1 and (c.sync_lease_until is null or c.sync_lease_until <= $1)
  and exists (select from team t where t.id = c.team_id and t.status = 'active')`;

/**
 * Syncs share five lanes over all workers, in each of which one job runs at a time, so that mails and wake-ups always find a free slot. A sync of a few changes
 * takes about a second: enough for thousands of connections.
 */
const LANES = 5;
const SCHEDULE_MAX = 1000;

const SCHEDULE = statement(
  'crm.scheduleSyncs',
  `select (graphile_worker.add_job(identifier => '${SYNC_CONNECTION}', payload => json_build_object('teamId', due.team_id, 'connectionId', due.id),
     queue_name => 'crm_sync_' || (hashtext(due.team_id || ':' || due.id) & 2147483647) % ${LANES}, max_attempts => 1,
     job_key => '${SYNC_CONNECTION}:' || due.team_id || ':' || due.id, job_key_mode => 'preserve_run_at')).id
   from (select c.team_id, c.id from crm_connection c where ${DUE} order by c.next_sync_at limit ${SCHEDULE_MAX}) due`,
);

/** Enqueues a job for each connection that is due and that nobody is at. */
export async function scheduleDue(db: Db, now: Date): Promise<void> {
  await db.query(SCHEDULE, [now]);
}

export interface ClaimedRow {
  readonly provider: 'hubspot' | 'pipedrive';
  readonly credentials_encrypted: Buffer;
  readonly objection_marker: string | null;
  readonly base_url: string | null;
  readonly sync_state: unknown;
}

const CLAIM = statement<ClaimedRow>(
  'crm.claimSync',
  `update crm_connection c set sync_token = $4, sync_lease_until = $5 where ${DUE} and c.team_id = $2 and c.id = $3
   returning c.provider, c.credentials_encrypted, c.objection_marker, c.base_url, c.sync_state`,
);

/** Takes the connection for this run, if it is due and nobody has it; null otherwise. */
export async function claim(db: Db, run: RunKey, now: Date, leaseUntil: Date): Promise<ClaimedRow | null> {
  const [row] = await db.query(CLAIM, [now, run.teamId, run.connectionId, run.token, leaseUntil]);
  return row ?? null;
}

const HOLD = statement<{ id: string }>(
  'crm.holdSync',
  `update crm_connection set sync_state = $4, sync_lease_until = $5 where team_id = $1 and id = $2 and sync_token = $3 and status = 'active' returning id`,
);

/**
 * Keeps the place, and the connection for longer. False when it is not this run's any more (paused, disconnected, or taken over because this one seemed dead);
 * then nothing of it may be written. Whoever would take it waits until the transaction ends.
 */
export async function holdRun(tx: Tx, run: RunKey, state: SyncState, leaseUntil: Date): Promise<boolean> {
  const rows = await tx.query(HOLD, [run.teamId, run.connectionId, run.token, JSON.stringify(state), leaseUntil]);
  return rows.length > 0;
}

const UPSERT_DEALS = statement(
  'crm.upsertDeals',
  `insert into crm_deal as d (team_id, id, connection_id, external_id, outcome, title, amount, currency, close_date, probability, pipeline_id, stage_id,
     lost_reason, owner_user_id, last_activity_at, synced_at, created_at)
   select $1, r.id, $2, r.external_id, r.outcome, r.title, r.amount, r.currency, r.close_date, r.probability, r.pipeline_id, r.stage_id, r.lost_reason,
     m.user_id, r.last_activity_at, $3, $3
   from json_to_recordset($4::json) as r (id text, external_id text, outcome text, title text, amount text, currency text, close_date text, probability int,
     pipeline_id text, stage_id text, lost_reason text, owner_email text, last_activity_at timestamptz)
   left join (select distinct on (lower(email)) lower(email) as email, user_id from member
     where team_id = $1 and status = 'active' and user_id is not null order by lower(email), id) m on m.email = lower(r.owner_email)
   on conflict (team_id, connection_id, external_id) do update set outcome = excluded.outcome, title = excluded.title, amount = excluded.amount,
     currency = excluded.currency, close_date = excluded.close_date, probability = excluded.probability, pipeline_id = excluded.pipeline_id,
     stage_id = excluded.stage_id, lost_reason = excluded.lost_reason, owner_user_id = excluded.owner_user_id,
     last_activity_at = excluded.last_activity_at, synced_at = greatest(d.synced_at, excluded.synced_at)`,
);

/** `owners`: id in the CRM → email. */
export function upsertDeals(
  tx: Tx,
  run: RunKey,
  page: { deals: readonly ProviderDeal[]; owners: ReadonlyMap<string, string>; at: Date },
): void {
  const rows = page.deals.map((deal) => ({
    id: newId('crmDeal'),
    external_id: deal.externalId,
    outcome: deal.outcome,
    title: deal.title,
    amount: deal.amount,
    currency: deal.currency,
    close_date: deal.closeDate,
    probability: deal.probability,
    pipeline_id: deal.pipelineId,
    stage_id: deal.stageId,
    lost_reason: deal.lostReason,
    owner_email: deal.ownerId === null ? null : (page.owners.get(deal.ownerId) ?? null),
    last_activity_at: deal.lastActivityAt,
  }));
  tx.send(UPSERT_DEALS, [run.teamId, run.connectionId, page.at, JSON.stringify(rows)]);
}

const DELETE_DEALS = statement(
  'crm.deleteDeals',
  'delete from crm_deal where team_id = $1 and connection_id = $2 and external_id = any ($3::text[])',
);

export function deleteDeals(tx: Tx, run: RunKey, externalIds: readonly string[]): void {
  tx.send(DELETE_DEALS, [run.teamId, run.connectionId, externalIds]);
}

export interface SourcedObjection extends ObjectionText {
  readonly source: string;
  /** The deal's `externalId`. */
  readonly dealId: string;
}

const DELETE_LOST_REASONS = statement(
  'crm.deleteLostReasons',
  `delete from crm_objection where team_id = $1 and source = 'lost_reason' and deal_id in (
     select d.id from crm_deal d where d.team_id = $1 and d.connection_id = $2 and d.external_id = any ($3::text[]))`,
);
const DELETE_NOTES = statement(
  'crm.deleteNotes',
  `delete from crm_objection o using crm_deal d
   where o.team_id = $1 and o.source = any ($3::text[]) and d.team_id = $1 and d.id = o.deal_id and d.connection_id = $2
     and not exists (select from json_to_recordset($4::json) as k (source text, deal_id text) where k.source = o.source and k.deal_id = d.external_id)`,
);
const UPSERT_OBJECTIONS = statement(
  'crm.upsertObjections',
  `insert into crm_objection as o (team_id, id, deal_id, category, text, lang, created_at, source, synced_at)
   select $1, r.id, d.id, r.category, r.text, r.lang, $3, r.source, $3
   from json_to_recordset($4::json) as r (id text, source text, deal_id text, category text, text text, lang text)
   join crm_deal d on d.team_id = $1 and d.connection_id = $2 and d.external_id = r.deal_id
   on conflict (team_id, source, deal_id) do update set category = excluded.category, text = excluded.text, lang = excluded.lang,
     synced_at = greatest(o.synced_at, excluded.synced_at)`,
);

/** Makes the reasons for the loss of these deals (`externalId`) these, and no others. */
export function replaceLostReasons(
  tx: Tx,
  run: RunKey,
  read: { dealIds: readonly string[]; objections: readonly SourcedObjection[]; at: Date },
): void {
  const lost = new Set(read.objections.map(({ dealId }) => dealId));
  const others = read.dealIds.filter((id) => !lost.has(id));
  tx.send(DELETE_LOST_REASONS, [run.teamId, run.connectionId, others]);
  upsertObjections(tx, run, read);
}

/** Makes the objections from these notes these, and no others. Deals that the service does not know are left out. */
export function replaceNotes(
  tx: Tx,
  run: RunKey,
  read: { sources: readonly string[]; objections: readonly SourcedObjection[]; at: Date },
): void {
  if (read.sources.length === 0) return;
  const kept = JSON.stringify(read.objections.map(({ source, dealId }) => ({ source, deal_id: dealId })));
  tx.send(DELETE_NOTES, [run.teamId, run.connectionId, read.sources, kept]);
  upsertObjections(tx, run, read);
}

function upsertObjections(
  tx: Tx,
  run: RunKey,
  { objections, at }: { objections: readonly SourcedObjection[]; at: Date },
): void {
  if (objections.length === 0) return;
  const rows = objections.map(({ source, dealId, category, text, lang }) => ({
    id: newId('crmObjection'),
    source,
    deal_id: dealId,
    category,
    text,
    lang,
  }));
  tx.send(UPSERT_OBJECTIONS, [run.teamId, run.connectionId, at, JSON.stringify(rows)]);
}

const SWEEP_BATCH = 1000;
const SWEEP_DEALS = statement<{ id: string }>(
  'crm.sweepDeals',
  `delete from crm_deal where team_id = $1 and id = any (array(
     select id from crm_deal where team_id = $1 and connection_id = $2 and (synced_at is null or synced_at < $3) limit ${SWEEP_BATCH})) returning id`,
);
const SWEEP_NOTES = statement<{ id: string }>(
  'crm.sweepNotes',
  `delete from crm_objection where team_id = $1 and id = any (array(
     select o.id from crm_objection o join crm_deal d on d.team_id = $1 and d.id = o.deal_id
     where o.team_id = $1 and d.connection_id = $2 and o.source like 'note:%' and o.synced_at < $3 limit ${SWEEP_BATCH})) returning id`,
);

/** Removes a batch of what was not met since then. True when nothing is left. */
export async function sweep(tx: Tx, run: RunKey, since: string): Promise<boolean> {
  const values = [run.teamId, run.connectionId, since];
  const [deals, notes] = await Promise.all([tx.query(SWEEP_DEALS, values), tx.query(SWEEP_NOTES, values)]);
  return deals.length + notes.length === 0;
}

const END = statement<{ id: string }>(
  'crm.endSync',
  `update crm_connection set sync_state = $4, sync_token = null, sync_lease_until = null, next_sync_at = $5, last_synced_at = $6, last_error = null,
     failure_streak = 0
   where team_id = $1 and id = $2 and sync_token = $3 and status = 'active' returning id`,
);

/** The round is through: the streak of failures ends. */
export async function endRound(tx: Tx, run: RunKey, end: { state: SyncState; next: Date; at: Date }): Promise<boolean> {
  const rows = await tx.query(END, [
    run.teamId,
    run.connectionId,
    run.token,
    JSON.stringify(end.state),
    end.next,
    end.at,
  ]);
  return rows.length > 0;
}

const RELEASE = statement(
  'crm.releaseSync',
  `update crm_connection set sync_token = null, sync_lease_until = null, next_sync_at = coalesce($4, next_sync_at)
   where team_id = $1 and id = $2 and sync_token = $3`,
);

/** Lets the connection go in the middle of a round; the next run goes on. `next` null: at once. */
export async function release(db: Db, run: RunKey, next: Date | null): Promise<void> {
  await db.query(RELEASE, [run.teamId, run.connectionId, run.token, next]);
}

const FAIL = statement<{ provider: string; failure_streak: number }>(
  'crm.failSync',
  `update crm_connection set sync_token = null, sync_lease_until = null, last_error = $4, failure_streak = failure_streak + 1,
     sync_state = case when $5 then jsonb_set(sync_state, '{round}', 'null') else sync_state end
   where team_id = $1 and id = $2 and sync_token = $3 and status = 'active' returning provider, failure_streak`,
);

/** The attempt failed; null when the connection is not this run's any more. `forgetRound`: the next begins a round anew. */
export async function failRun(
  tx: Tx,
  run: RunKey,
  { reason, forgetRound }: { reason: string; forgetRound: boolean },
): Promise<{ provider: string; failure_streak: number } | null> {
  const [row] = await tx.query(FAIL, [run.teamId, run.connectionId, run.token, reason, forgetRound]);
  return row ?? null;
}

const SET_NEXT = statement(
  'crm.setNextSync',
  'update crm_connection set next_sync_at = $3 where team_id = $1 and id = $2',
);

export function setNext(tx: Tx, run: RunKey, next: Date): void {
  tx.send(SET_NEXT, [run.teamId, run.connectionId, next]);
}

import type { z } from 'zod';
import { memberDetail, type Privacy } from '../../core/privacy.ts';
import type { connection, deal, objection } from './schema.ts';
import type { ConnectionRow, DealRow, ObjectionRow } from './store.ts';

/** Field order is the specification's. */
export function toDeal(privacy: Privacy, row: DealRow): z.input<typeof deal> {
  return {
    id: row.id,
    external_id: row.external_id,
    outcome: row.outcome,
    title: row.title,
    amount: row.amount,
    currency: row.currency,
    close_date: row.close_date,
    probability: row.probability,
    pipeline_id: row.pipeline_id,
    stage_id: row.stage_id,
    industry_id: row.industry_id,
    lost_reason: row.lost_reason,
    owner_user_id: memberDetail(privacy, row.owner_user_id),
    last_activity_at: row.last_activity_at,
    synced_at: row.synced_at,
  };
}

export function toObjection(row: ObjectionRow): z.input<typeof objection> {
  const { id, deal_id, category, text, lang, created_at } = row;
  return { id, deal_id, category, text, lang, created_at };
}

export function toConnection(row: ConnectionRow): z.input<typeof connection> {
  return {
    id: row.id,
    provider: row.provider,
    status: row.status,
    objection_marker: row.objection_marker,
    created_at: row.created_at,
    last_synced_at: row.last_synced_at,
    last_error: row.last_error,
    failure_streak: row.failure_streak,
    next_sync_at: row.next_sync_at,
    syncing: row.syncing,
  };
}

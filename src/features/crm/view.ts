import type { z } from 'zod';
import type { deal, objection } from './schema.ts';
import type { DealRow, ObjectionRow } from './store.ts';

/** Fields in the specification's order. */
export function toDeal(row: DealRow): z.input<typeof deal> {
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
    owner_user_id: row.owner_user_id,
    last_activity_at: row.last_activity_at,
    synced_at: row.synced_at,
  };
}

/** Fields in the specification's order. */
export function toObjection(row: ObjectionRow): z.input<typeof objection> {
  const { id, deal_id, category, text, lang, created_at } = row;
  return { id, deal_id, category, text, lang, created_at };
}

import type { ProviderDeal } from '../providers/provider.ts';

/** What a provider tells of a deal, by the names of our columns; not its owner. */
export function describeDeal(deal: ProviderDeal) {
  return {
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
    last_activity_at: deal.lastActivityAt,
  };
}

/** A deal as a synchronization reads it. */
export type DealText = ReturnType<typeof describeDeal>;

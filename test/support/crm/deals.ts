// Deals in fake CRMs, at times before `NOW`.
import type { ProviderName } from '../../../src/features/crm/providers/registry.ts';
import { startCrm, type FakeCrm, type FakeDeal } from './fake.ts';

/** Where the clock of each test starts. */
export const NOW = new Date('2026-11-20T12:00:00.000Z');
export const MINUTE = 60_000;

/** Returns the time `minutes` before `NOW`, as ISO text. */
export const ago = (minutes: number): string =>
  new Date(NOW.getTime() - minutes * MINUTE).toISOString();

/** A deal of a page, but for its ids and its owner. */
export const PAGE_DEAL = {
  outcome: 'open',
  title: 'Deal',
  amount: '1.00',
  currency: 'EUR',
  close_date: null,
  probability: null,
  pipeline_id: null,
  stage_id: null,
  lost_reason: null,
  last_activity_at: null,
} as const;

/** Makes deals 1 to `count`, each modified one minute after the one before. */
export function makeDeals(
  count: number,
  fields: (index: number) => Partial<FakeDeal> = () => ({}),
): FakeDeal[] {
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    amount: `${index + 1}.50`,
    modified: ago(1000 - index),
    ...fields(index),
  }));
}

/** Starts a fake CRM with these deals and pages of three entries. */
export async function startWith(
  name: ProviderName,
  deals: readonly FakeDeal[] = makeDeals(7),
): Promise<FakeCrm> {
  const crm = await startCrm(name);
  crm.pageMax = 3;
  for (const deal of deals) crm.put(deal);
  return crm;
}

/** Returns the deals of the CRM as `stored` should return them after a synchronization. */
export function expected(crm: FakeCrm): unknown[] {
  const there = [...crm.deals.values()].filter((deal) => !deal.deleted && !deal.purged);
  return there
    .toSorted((a, b) => a.id - b.id)
    .map(({ id, title = `Deal ${id}`, amount = null, status: outcome = 'open', lostReason }) => ({
      id,
      title,
      amount,
      outcome,
      lost_reason: outcome === 'lost' ? (lostReason ?? null) : null,
    }));
}

import { setImmediate as turn } from 'node:timers/promises';
import type { Tx } from '../../../db/client.ts';
import type { ProviderDeal, ProviderNote, ProviderPage } from '../providers/provider.ts';
import { DEALS_PER_NOTE_MAX } from '../rules.ts';
import { describeDeal } from './deals.ts';
import type { ConnectionKey } from './jobs.ts';
import { describeObjection, objectionInNote } from './objections.ts';
import * as store from './page-store.ts';
import type { SourcedObjection } from './page-store.ts';

/** A page as it is written. */
export interface PreparedPage {
  readonly deals: readonly ProviderDeal[];
  readonly lostReasons: readonly SourcedObjection[];
  readonly deletedDealIds: readonly string[];
  /** The sources of the notes on the page, and their objections. null: notes are not read. */
  readonly notes: {
    readonly sources: readonly string[];
    readonly objections: readonly SourcedObjection[];
  } | null;
}

/** What a page is applied to. */
export interface PageContext {
  readonly connection: ConnectionKey;
  /** The CRM's users: id → email. */
  readonly owners: ReadonlyMap<string, string>;
  readonly at: Date;
}

/** How many texts are read before other work has its turn. */
const TEXTS_PER_TURN = 10;

/** Reads a page's texts, before the transaction. `objectionMarker` null: notes are not read. */
export async function preparePage(
  page: Pick<ProviderPage, 'deals' | 'deletedDealIds' | 'notes'>,
  objectionMarker: string | null,
): Promise<PreparedPage> {
  // One statement must not contain a deal twice. The later one is newer.
  const deals = [...new Map(page.deals.map((deal) => [deal.externalId, deal])).values()].filter(
    ({ externalId }) => !page.deletedDealIds.includes(externalId),
  );
  const notes = [...new Map(page.notes.map((note) => [note.id, note])).values()];
  return {
    deals,
    lostReasons: await inTurns(deals, lostReasonOf),
    deletedDealIds: page.deletedDealIds,
    notes:
      objectionMarker === null
        ? null
        : {
            sources: notes.map(sourceOf),
            objections: await inTurns(notes, (note) => objectionsOf(note, objectionMarker)),
          },
  };
}

/**
 * Writes a page, except that deleted deals stay (`removeDeals`). Call `holdRun` first, in the same
 * transaction.
 */
export function applyPage(tx: Tx, page: PreparedPage, context: PageContext): void {
  const { connection, owners, at } = context;
  const { deals, lostReasons, notes } = page;
  if (deals.length > 0) {
    const owned = deals.map((deal) => ({
      ...describeDeal(deal),
      owner_email: deal.ownerId === null ? null : (owners.get(deal.ownerId) ?? null),
    }));
    store.upsertDeals(tx, connection, { deals: owned, at });
    const dealIds = deals.map(({ externalId }) => externalId);
    store.replaceLostReasons(tx, connection, { dealIds, objections: lostReasons, at });
  }
  if (notes) store.replaceNotes(tx, connection, { ...notes, at });
}

async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => readonly Result[],
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    if (index % TEXTS_PER_TURN === TEXTS_PER_TURN - 1) await turn();
    results.push(...work(item));
  }
  return results;
}

function lostReasonOf({ externalId, lostReason }: ProviderDeal): SourcedObjection[] {
  if (lostReason === null) return [];
  return [{ source: 'lost_reason', dealId: externalId, ...describeObjection(lostReason) }];
}

function objectionsOf(note: ProviderNote, marker: string): SourcedObjection[] {
  const text = objectionInNote(note.html, marker);
  if (text === null) return [];
  const described = describeObjection(text);
  return [...new Set(note.dealIds)].slice(0, DEALS_PER_NOTE_MAX).map((dealId) => ({
    source: sourceOf(note),
    dealId,
    ...described,
  }));
}

function sourceOf({ id }: ProviderNote): string {
  return `note:${id}`;
}

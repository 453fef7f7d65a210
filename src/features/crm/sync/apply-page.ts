import type { Tx } from '../../../db/client.ts';
import type { ProviderNote, ProviderPage } from '../providers/provider.ts';
import type { ConnectionKey } from './jobs.ts';
import { describeObjection, objectionInNote } from './objections.ts';
import * as store from './page-store.ts';
import type { SourcedObjection } from './page-store.ts';

/** What a page is applied to. */
export interface PageContext {
  readonly connection: ConnectionKey;
  /** The CRM's users: id → email. */
  readonly owners: ReadonlyMap<string, string>;
  /** null: notes are not read. */
  readonly objectionMarker: string | null;
  readonly at: Date;
}

/** Writes a page. Call `holdRun` first, in the same transaction. */
export function applyPage(tx: Tx, page: ProviderPage, context: PageContext): void {
  const { connection, owners, objectionMarker, at } = context;
  // One statement must not contain a deal twice. The later one is newer.
  const deals = [...new Map(page.deals.map((deal) => [deal.externalId, deal])).values()];
  if (deals.length > 0) {
    store.upsertDeals(tx, connection, { deals, owners, at });
    const dealIds = deals.map(({ externalId }) => externalId);
    const objections = deals.flatMap(({ externalId, lostReason }) =>
      lostReason === null
        ? []
        : [{ source: 'lost_reason', dealId: externalId, ...describeObjection(lostReason) }],
    );
    store.replaceLostReasons(tx, connection, { dealIds, objections, at });
  }
  if (page.deletedDealIds.length > 0) store.deleteDeals(tx, connection, page.deletedDealIds);
  if (objectionMarker === null) return;
  const notes = [...new Map(page.notes.map((note) => [note.id, note])).values()];
  const objections = notes.flatMap((note) => objectionsOf(note, objectionMarker));
  store.replaceNotes(tx, connection, { sources: notes.map(sourceOf), objections, at });
}

function objectionsOf(note: ProviderNote, marker: string): SourcedObjection[] {
  const text = objectionInNote(note.html, marker);
  if (text === null) return [];
  const described = describeObjection(text);
  return [...new Set(note.dealIds)].map((dealId) => ({
    source: sourceOf(note),
    dealId,
    ...described,
  }));
}

function sourceOf({ id }: ProviderNote): string {
  return `note:${id}`;
}

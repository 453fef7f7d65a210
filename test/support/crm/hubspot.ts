// The part of HubSpot's API that the synchronization uses, as HubSpot's documentation describes it.
import type { FakeCrm, FakeDeal, FakeNote, FakeProvider, FakeRequest } from './fake.ts';
import { pageSizeOf } from './pages.ts';

const DEALS_PATH = '/crm/v3/objects/deals/search';

/** See {@link FakeProvider}. */
export const hubspot: FakeProvider = {
  credentialsOf: (token) => token,
  accepts: (token, { headers }) => headers.authorization === `Bearer ${token}`,
  isDealsPage: ({ path }) => path === DEALS_PATH,
  answer: answerRequest,
};

function isThere(deal: FakeDeal): boolean {
  return !deal.deleted && !deal.purged;
}

function answerRequest(crm: FakeCrm, { method, path, query, body }: FakeRequest): unknown {
  if (method === 'POST' && path === DEALS_PATH)
    return search(crm, body, [...crm.deals.values()].filter(isThere).map(indexed(toDeal)));
  if (method === 'POST' && path === '/crm/v3/objects/notes/search')
    return search(
      crm,
      body,
      [...crm.notes.values()].filter((note) => !note.deleted).map(indexed(toNote)),
    );
  if (path === '/crm/v3/associations/notes/deals/batch/read') {
    const inputs = body['inputs'] as { id: string }[];
    const results = inputs.flatMap(({ id }) => {
      const note = crm.notes.get(Number(id));
      return note
        ? [{ from: { id }, to: [{ id: String(note.dealId), type: 'note_to_deal' }] }]
        : [];
    });
    return { status: 'COMPLETE', results, startedAt: new Date(), completedAt: new Date() };
  }
  if (path === '/crm/v3/objects/deals' && query.get('archived') === 'true') {
    const gone = [...crm.deals.values()].filter(
      (deal) => deal.deleted && !deal.purged && deal.id > Number(query.get('after') ?? 0),
    );
    const rows = gone.toSorted((a, b) => a.id - b.id);
    const page = rows.slice(0, pageSizeOf(crm, Number(query.get('limit'))));
    const after = String(page.at(-1)?.id);
    return {
      results: page.map(toDeal),
      ...(rows.length > page.length ? { paging: { next: { after } } } : {}),
    };
  }
  if (path === '/crm/v3/owners' || path === '/crm/v3/owners/') {
    const archived = query.get('archived') === 'true';
    const owners = archived ? crm.archivedOwners : crm.owners;
    const start = Number(query.get('after') ?? 0);
    const end = start + pageSizeOf(crm, Math.min(Number(query.get('limit') ?? 100), 500));
    return {
      results: [...owners]
        .slice(start, end)
        .map(([id, email]) => ({ id: String(id), email, type: 'PERSON', archived })),
      ...(end < owners.size ? { paging: { next: { after: String(end) } } } : {}),
    };
  }
  return null;
}

interface HubspotObject {
  readonly id: string;
  readonly properties: Record<string, string | null>;
}

/** The search knows a change later than the object that it returns. */
interface IndexedObject extends HubspotObject {
  readonly indexed: string;
}

interface SearchBody {
  filterGroups?: { filters: { propertyName: string; operator: string; value: string }[] }[];
  sorts?: string[];
  after?: string;
  limit?: number;
}

function indexed<Entry extends FakeDeal | FakeNote>(toObject: (entry: Entry) => HubspotObject) {
  return (entry: Entry): IndexedObject => ({
    ...toObject(entry),
    indexed: entry.indexed ?? entry.modified,
  });
}

function search(crm: FakeCrm, body: SearchBody, all: readonly IndexedObject[]): unknown {
  const value = ({ properties, indexed }: IndexedObject, name: string): number =>
    name === 'hs_lastmodifieddate' ? Date.parse(indexed) : Number(properties[name] ?? '');
  const fits = (object: IndexedObject): boolean =>
    (body.filterGroups ?? [{ filters: [] }]).some(({ filters }) =>
      filters.every(({ propertyName, operator, value: wanted }) => {
        const difference = value(object, propertyName) - Number(wanted);
        if (operator === 'GTE') return difference >= 0;
        if (operator === 'GT') return difference > 0;
        return difference === 0;
      }),
    );
  const sort = body.sorts?.[0] ?? 'hs_object_id';
  // HubSpot does not document the order of equal entries. Here the last one comes first.
  const hits = all
    .filter(fits)
    .toReversed()
    .toSorted((a, b) => value(a, sort) - value(b, sort));
  const from = Number(body.after ?? 0);
  const page = hits.slice(from, from + pageSizeOf(crm, Math.min(body.limit ?? 10, 200)));
  const after = from + page.length;
  return {
    total: hits.length,
    results: page.map(({ id, properties }) => ({ id, properties })),
    ...(after < hits.length ? { paging: { next: { after: String(after) } } } : {}),
  };
}

function toDeal(deal: FakeDeal): HubspotObject {
  const { status = 'open' } = deal;
  return {
    id: String(deal.id),
    properties: {
      hs_object_id: String(deal.id),
      dealname: deal.title ?? `Deal ${deal.id}`,
      amount: deal.amount ?? null,
      deal_currency_code: 'EUR',
      closedate: '2026-12-15T00:00:00Z',
      hs_deal_stage_probability: '0.6',
      pipeline: 'default',
      dealstage: 'stage',
      closed_lost_reason: deal.lostReason ?? null,
      hubspot_owner_id: deal.ownerId === undefined ? null : String(deal.ownerId),
      hs_is_closed: String(status !== 'open'),
      hs_is_closed_won: String(status === 'won'),
      hs_lastmodifieddate: deal.modified,
    },
  };
}

function toNote(note: FakeNote): HubspotObject {
  const { id, html, modified } = note;
  return {
    id: String(id),
    properties: { hs_object_id: String(id), hs_note_body: html, hs_lastmodifieddate: modified },
  };
}

// The part of Pipedrive's API that the synchronization uses, as its documentation describes it.
import type { FakeCrm, FakeDeal, FakeProvider, FakeRequest } from './fake.ts';
import { pageSizeOf } from './pages.ts';

const DEALS_PATH = '/api/v2/deals';

/** See {@link FakeProvider}. */
export const pipedrive: FakeProvider = {
  credentialsOf: (token) => token,
  accepts: (token, { headers }) => headers['x-api-token'] === token,
  isDealsPage: ({ path }) => path === DEALS_PATH,
  answer: answerRequest,
};

function answerRequest(crm: FakeCrm, { path, query }: FakeRequest): unknown {
  if (path === '/v1/users')
    return {
      success: true,
      data: [...crm.owners].map(([id, email]) => ({ id, email, name: email, active_flag: true })),
    };
  if (path === DEALS_PATH) return listDeals(crm, query);
  if (path === '/api/v2/deals/archived')
    return { success: true, data: [], additional_data: { next_cursor: null } };
  if (path === '/v1/notes') return listNotes(crm, query);
  return null;
}

function listDeals(crm: FakeCrm, query: URLSearchParams): unknown {
  const statuses = query.get('status')?.split(',') ?? ['open', 'won', 'lost'];
  const since = query.get('updated_since') ?? '';
  const [time = '', id = '0'] = Buffer.from(query.get('cursor') ?? '', 'base64')
    .toString()
    .split('|');
  const seconds = (deal: FakeDeal): string => `${deal.modified.slice(0, 19)}Z`;
  const rows = [...crm.deals.values()]
    .filter(
      (deal) =>
        !deal.purged && statuses.includes(deal.deleted ? 'deleted' : (deal.status ?? 'open')),
    )
    .filter(
      (deal) =>
        seconds(deal) >= since &&
        (seconds(deal) > time || (seconds(deal) === time && deal.id >= Number(id))),
    )
    .toSorted((a, b) => (seconds(a) < seconds(b) ? -1 : seconds(a) > seconds(b) ? 1 : a.id - b.id));
  const page = rows.slice(0, pageSizeOf(crm, Math.min(Number(query.get('limit') ?? 100), 500)));
  const first = rows[page.length];
  const cursor = first ? Buffer.from(`${seconds(first)}|${first.id}`).toString('base64') : null;
  const data = page.map((deal) => ({
    id: deal.id,
    title: deal.title ?? `Deal ${deal.id}`,
    value: deal.amount === undefined || deal.amount === null ? null : rawJson(deal.amount),
    currency: 'EUR',
    status: deal.deleted ? 'deleted' : (deal.status ?? 'open'),
    is_deleted: deal.deleted ?? false,
    update_time: seconds(deal),
    expected_close_date: '2026-12-15',
    probability: 60,
    pipeline_id: 1,
    stage_id: 2,
    lost_reason: deal.lostReason ?? null,
    owner_id: deal.ownerId ?? 999,
    custom_fields: { '0a1b': { value: rawJson('1.5'), currency: 'EUR' } },
  }));
  return { success: true, data, additional_data: { next_cursor: cursor } };
}

function listNotes(crm: FakeCrm, query: URLSearchParams): unknown {
  const since = query.get('updated_since') ?? '';
  const start = Number(query.get('start') ?? 0);
  const limit = pageSizeOf(crm, Number(query.get('limit') ?? 100));
  const rows = [...crm.notes.values()]
    .filter((note) => note.deleted !== true && `${note.modified.slice(0, 19)}Z` >= since)
    .toSorted((a, b) => (a.modified < b.modified ? -1 : a.modified > b.modified ? 1 : a.id - b.id));
  const data = rows.slice(start, start + limit).map((note) => ({
    id: note.id,
    active_flag: note.deleted === undefined,
    deal_id: note.dealId,
    content: note.html,
    update_time: note.modified.slice(0, 19).replace('T', ' '),
  }));
  const more = start + data.length < rows.length;
  return {
    success: true,
    data: data.length > 0 ? data : null,
    additional_data: { pagination: { start, limit, more_items_in_collection: more } },
  };
}

/** A number that JSON.stringify writes digit for digit. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

// HubSpot and Pipedrive as their documentation describes them, on 127.0.0.1, as far as the synchronization asks them: paging, filters, deletions, refusals.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

export type ProviderName = 'hubspot' | 'pipedrive';

export interface FakeDeal {
  readonly id: number;
  title?: string;
  /** As the provider would write it. */
  amount?: string | null;
  status?: 'open' | 'won' | 'lost';
  lostReason?: string;
  ownerId?: number;
  modified: string;
  deleted?: boolean;
  /** Purged: not even among the deleted ones. */
  purged?: boolean;
}

export interface FakeNote {
  readonly id: number;
  dealId: number;
  html: string;
  modified: string;
  /**
   * `listed`: Pipedrive still lists it, with `active_flag` false. The documentation has that field
   * for deleted notes, and does not say whether the list leaves them out.
   */
  deleted?: boolean | 'listed';
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
}

/** Answers instead of the provider by returning true. */
export type Interceptor = (request: FakeRequest, response: ServerResponse) => boolean | Promise<boolean>;

export interface FakeCrm {
  readonly name: ProviderName;
  readonly url: string;
  token: string;
  /** At most so many entries a page, whatever is asked for. */
  pageMax: number;
  readonly deals: Map<number, FakeDeal>;
  readonly notes: Map<number, FakeNote>;
  readonly owners: Map<number, string>;
  readonly requests: FakeRequest[];
  intercept: Interceptor | null;
  put(deal: FakeDeal): void;
  /** Requests for pages of deals. */
  pages(): FakeRequest[];
}

const started: { stop(): void }[] = [];
afterAll(() => {
  for (const server of started) server.stop();
});

export async function startCrm(name: ProviderName): Promise<FakeCrm> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  started.push({
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const crm: FakeCrm = {
    name,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'the-token',
    pageMax: 1000,
    deals: new Map(),
    notes: new Map(),
    owners: new Map(),
    requests: [],
    intercept: null,
    put: (deal) => {
      crm.deals.set(deal.id, deal);
    },
    pages: () => crm.requests.filter(({ path }) => path === '/crm/v3/objects/deals/search' || path === '/api/v2/deals'),
  };
  server.on('request', (request, response) => void serve(crm, request, response));
  return crm;
}

async function serve(crm: FakeCrm, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(incoming.url ?? '', crm.url);
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  const request: FakeRequest = {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    headers: incoming.headers,
  };
  crm.requests.push(request);
  if (await crm.intercept?.(request, response)) return;
  const { headers } = request;
  const token = crm.name === 'hubspot' ? headers.authorization?.replace('Bearer ', '') : headers['x-api-token'];
  if (token !== crm.token) return answer(response, 401, { status: 'error', message: 'invalid token', success: false });
  const body = crm.name === 'hubspot' ? answerHubspot(crm, request) : answerPipedrive(crm, request);
  answer(response, body === null ? 404 : 200, body ?? { message: 'no such route' });
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}

// HubSpot ----------------------------------------------------------------------------------------------------------------

function isThere(deal: FakeDeal): boolean {
  return !deal.deleted && !deal.purged;
}

function answerHubspot(crm: FakeCrm, { method, path, query, body }: FakeRequest): unknown {
  if (method === 'POST' && path === '/crm/v3/objects/deals/search')
    return search(crm, body, [...crm.deals.values()].filter(isThere).map(hubspotDeal));
  if (method === 'POST' && path === '/crm/v3/objects/notes/search')
    return search(crm, body, [...crm.notes.values()].filter((note) => !note.deleted).map(hubspotNote));
  if (path === '/crm/v3/associations/notes/deals/batch/read') {
    const inputs = body['inputs'] as { id: string }[];
    const results = inputs.flatMap(({ id }) => {
      const note = crm.notes.get(Number(id));
      return note ? [{ from: { id }, to: [{ id: String(note.dealId), type: 'note_to_deal' }] }] : [];
    });
    return { status: 'COMPLETE', results, startedAt: new Date(), completedAt: new Date() };
  }
  if (path === '/crm/v3/objects/deals' && query.get('archived') === 'true') {
    const gone = [...crm.deals.values()].filter(
      (deal) => deal.deleted && !deal.purged && deal.id > Number(query.get('after') ?? 0),
    );
    const rows = gone.toSorted((a, b) => a.id - b.id);
    const page = rows.slice(0, Math.min(Number(query.get('limit')), crm.pageMax));
    const after = String(page.at(-1)?.id);
    return { results: page.map(hubspotDeal), ...(rows.length > page.length ? { paging: { next: { after } } } : {}) };
  }
  if (path === '/crm/v3/owners' || path === '/crm/v3/owners/')
    return {
      results: [...crm.owners].map(([id, email]) => ({ id: String(id), email, type: 'PERSON', archived: false })),
    };
  return null;
}

interface HubspotObject {
  readonly id: string;
  readonly properties: Record<string, string | null>;
}

interface SearchBody {
  filterGroups?: { filters: { propertyName: string; operator: string; value: string }[] }[];
  sorts?: string[];
  after?: string;
  limit?: number;
}

function search(crm: FakeCrm, body: SearchBody, all: readonly HubspotObject[]): unknown {
  const value = ({ properties }: HubspotObject, name: string): number => {
    const text = properties[name] ?? '';
    return name === 'hs_lastmodifieddate' ? Date.parse(text) : Number(text);
  };
  const fits = (object: HubspotObject): boolean =>
    (body.filterGroups ?? [{ filters: [] }]).some(({ filters }) =>
      filters.every(({ propertyName, operator, value: wanted }) => {
        const difference = value(object, propertyName) - Number(wanted);
        if (operator === 'GTE') return difference >= 0;
        if (operator === 'GT') return difference > 0;
        return difference === 0;
      }),
    );
  const sort = body.sorts?.[0] ?? 'hs_object_id';
  // Entries that are equal by the sort come in no certain order: here, the last first.
  const hits = all
    .filter(fits)
    .toReversed()
    .toSorted((a, b) => value(a, sort) - value(b, sort));
  const from = Number(body.after ?? 0);
  const page = hits.slice(from, from + Math.min(body.limit ?? 10, 200, crm.pageMax));
  const after = from + page.length;
  return {
    total: hits.length,
    results: page,
    ...(after < hits.length ? { paging: { next: { after: String(after) } } } : {}),
  };
}

function hubspotDeal(deal: FakeDeal): HubspotObject {
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

function hubspotNote(note: FakeNote): HubspotObject {
  const { id, html, modified } = note;
  return {
    id: String(id),
    properties: { hs_object_id: String(id), hs_note_body: html, hs_lastmodifieddate: modified },
  };
}

// Pipedrive --------------------------------------------------------------------------------------------------------------

function answerPipedrive(crm: FakeCrm, { path, query }: FakeRequest): unknown {
  if (path === '/v1/users')
    return {
      success: true,
      data: [...crm.owners].map(([id, email]) => ({ id, email, name: email, active_flag: true })),
    };
  if (path === '/api/v2/deals') return pipedriveDeals(crm, query);
  if (path === '/api/v2/deals/archived') return { success: true, data: [], additional_data: { next_cursor: null } };
  if (path === '/v1/notes') return pipedriveNotes(crm, query);
  return null;
}

function pipedriveDeals(crm: FakeCrm, query: URLSearchParams): unknown {
  const statuses = query.get('status')?.split(',') ?? ['open', 'won', 'lost'];
  const since = query.get('updated_since') ?? '';
  const [time = '', id = '0'] = Buffer.from(query.get('cursor') ?? '', 'base64')
    .toString()
    .split('|');
  const seconds = (deal: FakeDeal): string => `${deal.modified.slice(0, 19)}Z`;
  const rows = [...crm.deals.values()]
    .filter((deal) => !deal.purged && statuses.includes(deal.deleted ? 'deleted' : (deal.status ?? 'open')))
    .filter(
      (deal) => seconds(deal) >= since && (seconds(deal) > time || (seconds(deal) === time && deal.id >= Number(id))),
    )
    .toSorted((a, b) => (seconds(a) < seconds(b) ? -1 : seconds(a) > seconds(b) ? 1 : a.id - b.id));
  const page = rows.slice(0, Math.min(Number(query.get('limit') ?? 100), 500, crm.pageMax));
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

function pipedriveNotes(crm: FakeCrm, query: URLSearchParams): unknown {
  const since = query.get('updated_since') ?? '';
  const start = Number(query.get('start') ?? 0);
  const limit = Math.min(Number(query.get('limit') ?? 100), crm.pageMax);
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

/** A number in JSON, digit for digit. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

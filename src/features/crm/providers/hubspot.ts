/**
 * HubSpot, through its package. Deals and notes are read with the search API, by id.
 *
 * The search sorts and filters by its index, but returns an entry as it is now. So the modification
 * time on a page says nothing about the next page, and no place is made of it: one deal that had
 * just changed would hide all those behind it. An id never changes. The search filters by
 * modification time, and a page has the ids above the last one of the page before. What changes
 * behind the place is read by the next round. Deleted deals are a separate list ("archived"), kept
 * for 90 days. It can neither be sorted nor begin at a time, so a run reads only a part of a long
 * one.
 */
import type { Client } from '@hubspot/api-client';
import { z } from 'zod';
import { limitedAgent, readAll } from './answers.ts';
import {
  errorOfNetwork,
  errorOfStatus,
  isProviderError,
  providerError,
  type ProviderError,
} from './errors.ts';
import {
  defineProvider,
  tokenShape,
  type ClientOptions,
  type PagePlace,
  type ProviderClient,
  type ProviderDeal,
  type ProviderNote,
  type ProviderPage,
} from './provider.ts';
import { send } from './requests.ts';
import { addressOf, cursorOf, decimalOf, htmlOf, idOf, instantOf, textOf } from './values.ts';

const OWN_ADDRESS = 'https://api.hubapi.com';
const SEARCH_PAGE = 200;
const LIST_PAGE = 100;
const OWNERS_PAGE = 500;
/** Of deleted deals. Those behind are removed by the next full round, which does not read them. */
const DELETED_PAGES_MAX = 10;
/** The rate windows are 10 s, and 1 s for the search. Only some answers say how long to wait. */
const RATE_WINDOW_MS = 10_000;
const SEARCH_RATE_WINDOW_MS = 1_000;

const PROPERTIES = {
  deals: [
    'dealname',
    'amount',
    'deal_currency_code',
    'closedate',
    'hs_deal_stage_probability',
    'pipeline',
    'dealstage',
    'closed_lost_reason',
    'hubspot_owner_id',
    'notes_last_updated',
    'hs_is_closed',
    'hs_is_closed_won',
    'hs_lastmodifieddate',
  ],
  notes: ['hs_note_body', 'hs_lastmodifieddate'],
};

/**
 * The lists that the search reads, in the order of the ids. A list that is read in another way gets
 * another name: a process that finds an unknown list begins the round anew (`roundOf`).
 */
const SEARCHED = { deals_by_id: 'deals', notes_by_id: 'notes' } as const;
type Searched = keyof typeof PROPERTIES;

const decimalId = /^\d+$/;

const found = z.object({
  results: z.array(
    z.object({
      id: z.string().regex(decimalId),
      properties: z.record(z.string(), z.string().nullish()),
    }),
  ),
  paging: z.object({ next: z.object({ after: z.string() }).nullish() }).nullish(),
});
type Found = z.output<typeof found>;
type Properties = Found['results'][number]['properties'];

const anyPage = z.object({ results: z.array(z.unknown()) });

/** The package's client, and the way to ask it: within the timeout, with our errors. */
interface Session {
  readonly client: Client;
  readonly ask: <T>(call: () => Promise<T>) => Promise<T>;
}

export const hubspot = defineProvider({
  // Since October 2026 no private apps can be made in HubSpot. Those that exist go on.
  credentials: tokenShape('HubSpot: a service key, or the access token of a private app.'),
  open: openHubspot,
});

async function openHubspot(
  token: string,
  { baseUrl, timeoutMs, answerMaxBytes, readsNotes }: ClientOptions,
): Promise<ProviderClient> {
  // The package has no timeout. Destroying its agent is the only way to end a call that hangs.
  const agent = limitedAgent(baseUrl, answerMaxBytes);
  const openSession = async (): Promise<Session> => {
    const { Client: HubspotClient } = await import('@hubspot/api-client');
    return {
      client: new HubspotClient({
        accessToken: token,
        httpAgent: agent,
        ...(baseUrl === null ? {} : { basePath: baseUrl }),
      }),
      ask: (call) => withDeadline(call, timeoutMs, () => agent.destroy()),
    };
  };
  let session: Promise<Session> | null = null;
  const open = (): Promise<Session> => (session ??= openSession());
  const call = async (path: string, body?: object): Promise<unknown> => {
    const answer = await send(
      `${baseUrl ?? OWN_ADDRESS}${path}`,
      { authorization: `Bearer ${token}` },
      { timeoutMs, answerMaxBytes, ...(body && { body }) },
    );
    const { status, headers, text } = answer;
    if (status < 200 || status > 299) throw errorOfStatus(status, headers, RATE_WINDOW_MS);
    return JSON.parse(text);
  };
  const findOne = async (list: Searched): Promise<Found> =>
    found.parse(await call(`/crm/v3/objects/${list}/search`, queryOf(list, { limit: 1 })));
  const check = async (): Promise<void> => {
    anyPage.parse(await call('/crm/v3/owners/?limit=1&archived=false'));
    await findOne('deals');
    if (!readsNotes) return;
    const { results } = await findOne('notes');
    if (results.length === 0) return;
    const inputs = results.map(({ id }) => ({ id }));
    anyPage.parse(await call('/crm/v3/associations/notes/deals/batch/read', { inputs }));
  };
  let deletedPages = 0;
  const readDeleted = async (at: PagePlace): Promise<ProviderPage> => {
    const page = await readArchived(await open(), at);
    deletedPages += 1;
    return deletedPages < DELETED_PAGES_MAX ? page : { ...page, next: null };
  };
  return {
    lists: readsNotes ? ['deals_by_id', 'archived', 'notes_by_id'] : ['deals_by_id', 'archived'],
    listOwners: () => checked(async () => listOwners(await open())),
    readPage: (list, at) =>
      checked(async () =>
        list === 'archived'
          ? readDeleted(at)
          : readModified(await open(), SEARCHED[list as keyof typeof SEARCHED], at),
      ),
    check: () => checked(check),
    close: () => agent.destroy(),
  };
}

async function search({ client, ask }: Session, list: Searched, request: object): Promise<Found> {
  const api = list === 'notes' ? client.crm.objects.notes.searchApi : client.crm.deals.searchApi;
  return found.parse(await ask(() => api.doSearch(queryOf(list, request))));
}

function queryOf(list: Searched, request: object) {
  return { properties: PROPERTIES[list], limit: SEARCH_PAGE, after: '0', ...request };
}

/** The place of a page is the id after which it begins. */
async function readModified(
  session: Session,
  list: Searched,
  { since, cursor }: PagePlace,
): Promise<ProviderPage> {
  const afterId = cursor ?? '0';
  if (!decimalId.test(afterId)) throw refusedPlace('a place that is no id');
  const { results, paging } = await search(session, list, requestOf(since, afterId));
  const lastId = lastOf(afterId, results);
  if (paging?.next && results.length === 0) throw providerError('invalid_response');
  return {
    deals: list === 'deals' ? results.map(toDeal) : [],
    notes: list === 'notes' ? await toNotes(session, results) : [],
    deletedDealIds: [],
    next: paging?.next ? lastId : null,
    modifiedUntil: latestOf(results),
  };
}

function requestOf(since: string | null, afterId: string): object {
  const behind = { propertyName: 'hs_object_id', operator: 'GT', value: afterId };
  const changed = since !== null && {
    propertyName: 'hs_lastmodifieddate',
    operator: 'GTE',
    value: String(Date.parse(since)),
  };
  const filters = changed ? [changed, behind] : [behind];
  return { filterGroups: [{ filters }], sorts: ['hs_object_id'] };
}

/**
 * The last id. Throws if the ids do not rise from `afterId`: the next page would leave some out,
 * and what a full round leaves out is removed.
 */
function lastOf(afterId: string, results: Found['results']): string {
  let last = afterId;
  for (const { id } of results) {
    if (BigInt(id) <= BigInt(last)) throw refusedPlace('the ids of a page do not rise');
    last = id;
  }
  return idOf(last);
}

function latestOf(results: Found['results']): string | null {
  let latest: string | null = null;
  for (const { properties } of results) {
    const time = instantOf(properties['hs_lastmodifieddate']);
    if (time !== null && time > (latest ?? '')) latest = time;
  }
  return latest;
}

/** The next run begins the round anew. */
function refusedPlace(cause: string): ProviderError {
  return providerError('invalid_response', { refusedPlace: true, cause });
}

/** Adds the deals of the notes, which the search does not return. */
async function toNotes(
  { client, ask }: Session,
  results: Found['results'],
): Promise<ProviderNote[]> {
  if (results.length === 0) return [];
  const inputs = results.map(({ id }) => ({ id }));
  const associated = await ask(() =>
    client.crm.associations.batchApi.read('notes', 'deals', { inputs }),
  );
  const deals = new Map(
    associated.results.map(({ _from, to }) => [_from.id, to.map(({ id }) => idOf(id))]),
  );
  return results.map(({ id, properties }) => ({
    id: idOf(id),
    dealIds: deals.get(id) ?? [],
    html: htmlOf(properties['hs_note_body']),
  }));
}

async function readArchived(
  { client, ask }: Session,
  { cursor }: PagePlace,
): Promise<ProviderPage> {
  const { basicApi } = client.crm.deals;
  const page = await ask(() =>
    basicApi.getPage(LIST_PAGE, cursor ?? undefined, ['hs_object_id'], undefined, undefined, true),
  );
  return {
    deals: [],
    deletedDealIds: page.results.map(({ id }) => idOf(id)),
    notes: [],
    next: cursorOf(page.paging?.next?.after),
    modifiedUntil: null,
  };
}

/** Also those of users that were deactivated there: their deals still name them. */
async function listOwners({ client, ask }: Session): Promise<Map<string, string>> {
  const { ownersApi } = client.crm.owners;
  const owners = new Map<string, string>();
  for (const isArchived of [false, true])
    await readAll(async (after) => {
      const page = await ask(() => ownersApi.getPage(undefined, after, OWNERS_PAGE, isArchived));
      for (const { id, email } of page.results) {
        const address = addressOf(email);
        if (address !== null && !owners.has(id)) owners.set(id, address);
      }
      return page.paging?.next?.after;
    });
  return owners;
}

function toDeal({ id, properties }: { id: string; properties: Properties }): ProviderDeal {
  const isWon = properties['hs_is_closed_won'] === 'true';
  const isLost = !isWon && properties['hs_is_closed'] === 'true';
  const share = Number.parseFloat(properties['hs_deal_stage_probability'] ?? '');
  return {
    externalId: idOf(id),
    outcome: isWon ? 'won' : isLost ? 'lost' : 'open',
    title: textOf(properties['dealname']),
    amount: decimalOf(properties['amount']),
    currency: textOf(properties['deal_currency_code']),
    closeDate: textOf(properties['closedate']),
    probability: Number.isFinite(share) ? Math.round(Math.min(Math.max(share, 0), 1) * 100) : null,
    pipelineId: textOf(properties['pipeline']),
    stageId: textOf(properties['dealstage']),
    lostReason: isLost ? textOf(properties['closed_lost_reason']) : null,
    ownerId: textOf(properties['hubspot_owner_id']),
    lastActivityAt: instantOf(properties['notes_last_updated']),
  };
}

async function withDeadline<T>(
  call: () => Promise<T>,
  timeoutMs: number,
  abort: () => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(providerError('timeout'));
      abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([call(), late]);
  } catch (error) {
    if (isProviderError(error)) throw error;
    const { code, headers, body } = error as {
      code?: unknown;
      headers?: Record<string, unknown>;
      body?: unknown;
    };
    if (typeof code === 'number') throw errorOfStatus(code, headers ?? {}, rateWaitOf(body));
    throw errorOfNetwork(error);
  } finally {
    clearTimeout(timer);
  }
}

function rateWaitOf(body: unknown): number {
  const { policyName } = (body ?? {}) as { readonly policyName?: unknown };
  return policyName === 'SECONDLY' ? SEARCH_RATE_WINDOW_MS : RATE_WINDOW_MS;
}

/** Whatever is not a `ProviderError` yet comes from a body of another shape than documented. */
async function checked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isProviderError(error)) throw error;
    throw providerError('invalid_response', { cause: error });
  }
}

/**
 * HubSpot, through its package. Deals and notes are read with the search API, by modification time.
 *
 * The search pages by offset, and only up to 10,000 entries. An entry that changes between two
 * pages would shift the others, and one would be skipped. So a page starts by key instead: at the
 * modification time of the last entry of the previous page. If more entries share that time than a
 * page holds, they are read by id. Deleted deals are a separate list ("archived"), kept for 90
 * days. It can neither be sorted nor begin at a time, so a run reads only a part of a long one.
 */
import type { Client } from '@hubspot/api-client';
import { z } from 'zod';
import { limitedAgent, readAll } from './answers.ts';
import { errorOfNetwork, errorOfStatus, isProviderError, providerError } from './errors.ts';
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
import { cursorOf, decimalOf, htmlOf, idOf, instantOf, textOf } from './values.ts';

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

const place = z.union([
  z.strictObject({ since: z.string() }),
  z.strictObject({ at: z.string(), afterId: z.string() }),
]);
type Place = z.output<typeof place>;

const found = z.object({
  results: z.array(
    z.object({ id: z.string(), properties: z.record(z.string(), z.string().nullish()) }),
  ),
  paging: z.object({ next: z.object({ after: z.string() }).nullish() }).nullish(),
});
type Found = z.output<typeof found>;
type Properties = Found['results'][number]['properties'];

/** The package's client, and the way to ask it: within the timeout, with our errors. */
interface Session {
  readonly client: Client;
  readonly ask: <T>(call: () => Promise<T>) => Promise<T>;
}

export const hubspot = defineProvider({
  credentials: tokenShape('HubSpot: the access token of a private app.'),
  open: openHubspot,
});

async function openHubspot(
  token: string,
  { baseUrl, timeoutMs, answerMaxBytes, readsNotes }: ClientOptions,
): Promise<ProviderClient> {
  const { Client: HubspotClient } = await import('@hubspot/api-client');
  // The package has no timeout. Destroying its agent is the only way to end a call that hangs.
  const agent = limitedAgent(baseUrl, answerMaxBytes);
  const client = new HubspotClient({
    accessToken: token,
    httpAgent: agent,
    ...(baseUrl === null ? {} : { basePath: baseUrl }),
  });
  const session: Session = {
    client,
    ask: (call) => withDeadline(call, timeoutMs, () => agent.destroy()),
  };
  const check = async (): Promise<void> => {
    await listOwners(session);
    await search(session, 'deals', { limit: 1 });
    if (readsNotes) await search(session, 'notes', { limit: 1 });
  };
  let deletedPages = 0;
  const readDeleted = async (at: PagePlace): Promise<ProviderPage> => {
    const page = await readArchived(session, at);
    deletedPages += 1;
    return deletedPages < DELETED_PAGES_MAX ? page : { ...page, next: null };
  };
  return {
    lists: readsNotes ? ['deals', 'deleted', 'notes'] : ['deals', 'deleted'],
    listOwners: () => checked(() => listOwners(session)),
    readPage: (list, at) =>
      checked(() =>
        list === 'deleted'
          ? readDeleted(at)
          : readModified(session, list === 'notes' ? 'notes' : 'deals', at),
      ),
    check: () => checked(check),
    close: () => agent.destroy(),
  };
}

async function search(
  { client, ask }: Session,
  list: 'deals' | 'notes',
  request: object,
): Promise<Found> {
  const api = list === 'notes' ? client.crm.objects.notes.searchApi : client.crm.deals.searchApi;
  const query = { properties: PROPERTIES[list], limit: SEARCH_PAGE, after: '0', ...request };
  return found.parse(await ask(() => api.doSearch(query)));
}

async function readModified(
  session: Session,
  list: 'deals' | 'notes',
  { since, cursor }: PagePlace,
): Promise<ProviderPage> {
  const from: Place =
    cursor === null
      ? { since: since ?? '1970-01-01T00:00:00.000Z' }
      : place.parse(JSON.parse(cursor));
  const { results, paging } = await search(session, list, requestOf(from));
  const last = results.at(-1);
  if (paging?.next && !last) throw providerError('invalid_response');
  const lastTime = instantOf(last?.properties['hs_lastmodifieddate']);
  const next = placeAfter(from, paging?.next && last ? { lastId: last.id, lastTime } : null);
  return {
    deals: list === 'deals' ? results.map(toDeal) : [],
    notes: list === 'notes' ? await toNotes(session, results) : [],
    deletedDealIds: [],
    next: next && JSON.stringify(next),
    modifiedUntil: lastTime,
  };
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

async function listOwners({ client, ask }: Session): Promise<Map<string, string>> {
  const { ownersApi } = client.crm.owners;
  const owners = new Map<string, string>();
  await readAll(async (after) => {
    const page = await ask(() => ownersApi.getPage(undefined, after, OWNERS_PAGE, false));
    for (const { id, email } of page.results) {
      const address = textOf(email);
      if (address !== null) owners.set(id, address);
    }
    return page.paging?.next?.after;
  });
  return owners;
}

function requestOf(from: Place): object {
  if ('since' in from) {
    const value = String(Date.parse(from.since));
    const filters = [{ propertyName: 'hs_lastmodifieddate', operator: 'GTE', value }];
    return { filterGroups: [{ filters }], sorts: ['hs_lastmodifieddate'] };
  }
  const filters = [
    { propertyName: 'hs_lastmodifieddate', operator: 'EQ', value: String(Date.parse(from.at)) },
    { propertyName: 'hs_object_id', operator: 'GT', value: from.afterId },
  ];
  return { filterGroups: [{ filters }], sorts: ['hs_object_id'] };
}

/** `last` is null if the search that began at `from` has no further results. */
function placeAfter(
  from: Place,
  last: { lastId: string; lastTime: string | null } | null,
): Place | null {
  if ('at' in from) {
    if (last) return { at: from.at, afterId: last.lastId };
    return { since: new Date(Date.parse(from.at) + 1).toISOString() };
  }
  if (last === null) return null;
  if (last.lastTime === null) throw providerError('invalid_response');
  // The whole page has one time: searching from it again would return the same page for ever.
  if (Date.parse(last.lastTime) <= Date.parse(from.since))
    return { at: last.lastTime, afterId: '0' };
  return { since: last.lastTime };
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

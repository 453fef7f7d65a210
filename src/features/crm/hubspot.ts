/**
 * HubSpot through its package. Deals and notes come from the search, by time of modification. The search pages by offset, and not beyond 10,000 entries; an
 * entry that changes between two pages would make the rest slip and one be skipped. So a page begins by key instead: at the time at which the page before it
 * ended. Where more entries have that one time than a page holds, these are read by their ids. What was deleted is a list of its own ("archived"), kept
 * for 90 days.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Client } from '@hubspot/api-client';
import { z } from 'zod';
import {
  decimalOf,
  errorOfNetwork,
  errorOfStatus,
  instantOf,
  isProviderError,
  providerError,
  textOf,
  type PagePlace,
  type Provider,
  type ProviderDeal,
  type ProviderOptions,
  type ProviderPage,
} from './provider.ts';

const SEARCH_PAGE = 200;
const LIST_PAGE = 100;
const OWNERS_PAGE = 500;
/** The limits count by 10 seconds, those of the search by one. Only some answers name a time to wait. */
const RATE_WINDOW_MS = 10_000;

const DEAL_PROPERTIES = [
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
];
const NOTE_PROPERTIES = ['hs_note_body', 'hs_lastmodifieddate'];

const place = z.union([z.strictObject({ since: z.string() }), z.strictObject({ at: z.string(), afterId: z.string() })]);
type Place = z.output<typeof place>;

const found = z.object({
  results: z.array(z.object({ id: z.string(), properties: z.record(z.string(), z.string().nullish()) })),
  paging: z.object({ next: z.object({ after: z.string() }).nullish() }).nullish(),
});
type Found = z.output<typeof found>;

type Properties = Readonly<Record<string, string | null | undefined>>;

export function openHubspot({ token, baseUrl, timeoutMs, readsNotes }: ProviderOptions): Provider {
  // An agent of its own is the package's only handle on a call in flight: without it a silent server holds the call for minutes.
  const agent = baseUrl?.startsWith('http:') ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true });
  const client = new Client({
    accessToken: token,
    httpAgent: agent,
    ...(baseUrl === null ? {} : { basePath: baseUrl }),
  });
  const ask = <T>(work: () => Promise<T>): Promise<T> => withDeadline(work, timeoutMs, () => agent.destroy());

  const search = async (list: string, request: object): Promise<Found> => {
    const api = list === 'notes' ? client.crm.objects.notes.searchApi : client.crm.deals.searchApi;
    const properties = list === 'notes' ? NOTE_PROPERTIES : DEAL_PROPERTIES;
    return found.parse(await ask(() => api.doSearch({ properties, limit: SEARCH_PAGE, after: '0', ...request })));
  };

  const readModified = async (list: string, { since, cursor }: PagePlace): Promise<ProviderPage> => {
    const from: Place =
      cursor === null ? { since: since ?? '1970-01-01T00:00:00.000Z' } : place.parse(JSON.parse(cursor));
    const { results, paging } = await search(list, requestOf(from));
    const modified = (index: number): string | null => instantOf(results.at(index)?.properties['hs_lastmodifieddate']);
    const next = placeAfter(from, paging?.next ? { lastId: results.at(-1)?.id, lastTime: modified(-1) } : null);
    const read =
      list === 'notes' ? { deals: [], notes: await readNotes(results) } : { deals: results.map(toDeal), notes: [] };
    return { ...read, deletedDealIds: [], next: next && JSON.stringify(next), modifiedUntil: modified(-1) };
  };

  const readNotes = async (results: Found['results']): Promise<ProviderPage['notes']> => {
    if (results.length === 0) return [];
    const inputs = results.map(({ id }) => ({ id }));
    const associated = await ask(() => client.crm.associations.batchApi.read('notes', 'deals', { inputs }));
    const deals = new Map(associated.results.map(({ _from, to }) => [_from.id, to.map((deal) => deal.id)]));
    return results.map(({ id, properties }) => ({
      id,
      dealIds: deals.get(id) ?? [],
      html: textOf(properties['hs_note_body']) ?? '',
    }));
  };

  const readArchived = async ({ cursor }: PagePlace): Promise<ProviderPage> => {
    const page = await ask(() =>
      client.crm.deals.basicApi.getPage(LIST_PAGE, cursor ?? undefined, ['hs_object_id'], undefined, undefined, true),
    );
    return {
      deals: [],
      deletedDealIds: page.results.map(({ id }) => id),
      notes: [],
      next: page.paging?.next?.after ?? null,
      modifiedUntil: null,
    };
  };

  const listOwners = async (): Promise<Map<string, string>> => {
    const owners = new Map<string, string>();
    for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = await ask(() => client.crm.owners.ownersApi.getPage(undefined, after, OWNERS_PAGE, false));
      for (const { id, email } of page.results) if (email) owners.set(id, email);
      after = page.paging?.next?.after;
    }
    return owners;
  };

  const lists = readsNotes ? ['deals', 'deleted', 'notes'] : ['deals', 'deleted'];
  return {
    lists,
    listOwners: () => checked(listOwners),
    readPage: (list, at) => checked(() => (list === 'deleted' ? readArchived(at) : readModified(list, at))),
    check: () =>
      checked(async () => {
        await listOwners();
        for (const list of readsNotes ? ['deals', 'notes'] : ['deals']) await search(list, { limit: 1 });
      }),
    close: () => agent.destroy(),
  };
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

/** `last` is null when nothing follows in the direction of `from`. */
function placeAfter(from: Place, last: { lastId: string | undefined; lastTime: string | null } | null): Place | null {
  if ('at' in from) {
    if (last?.lastId !== undefined) return { at: from.at, afterId: last.lastId };
    return { since: new Date(Date.parse(from.at) + 1).toISOString() };
  }
  if (last === null) return null;
  if (last.lastTime === null) throw providerError('invalid_response');
  // A whole page of one time: the same question would get the same answer for ever.
  if (Date.parse(last.lastTime) <= Date.parse(from.since)) return { at: last.lastTime, afterId: '0' };
  return { since: last.lastTime };
}

function toDeal({ id, properties }: { id: string; properties: Properties }): ProviderDeal {
  const isWon = properties['hs_is_closed_won'] === 'true';
  const isLost = !isWon && properties['hs_is_closed'] === 'true';
  const probability = Number.parseFloat(properties['hs_deal_stage_probability'] ?? '');
  return {
    externalId: id,
    outcome: isWon ? 'won' : isLost ? 'lost' : 'open',
    title: textOf(properties['dealname']),
    amount: decimalOf(properties['amount']),
    currency: textOf(properties['deal_currency_code']),
    closeDate: textOf(properties['closedate']),
    probability: Number.isFinite(probability) ? Math.round(Math.min(Math.max(probability, 0), 1) * 100) : null,
    pipelineId: textOf(properties['pipeline']),
    stageId: textOf(properties['dealstage']),
    lostReason: isLost ? textOf(properties['closed_lost_reason']) : null,
    ownerId: textOf(properties['hubspot_owner_id']),
    lastActivityAt: instantOf(properties['notes_last_updated']),
  };
}

async function withDeadline<T>(work: () => Promise<T>, timeoutMs: number, abort: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(providerError('timeout'));
      abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    if (isProviderError(error)) throw error;
    const { code, headers, body } = error as { code?: unknown; headers?: Record<string, unknown>; body?: unknown };
    if (typeof code === 'number') throw errorOfStatus(code, headers ?? {}, rateWaitOf(body));
    throw errorOfNetwork(error);
  } finally {
    clearTimeout(timer);
  }
}

function rateWaitOf(body: unknown): number {
  return /secondly/i.test(String(body)) && !/ten_secondly/i.test(String(body)) ? 1_000 : RATE_WINDOW_MS;
}

/** A body of another shape than documented. */
async function checked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isProviderError(error)) throw error;
    throw providerError('invalid_response', { cause: error });
  }
}

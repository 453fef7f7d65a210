/**
 * Pipedrive through its package: deals from API v2, users and notes from v1, which v2 does not have. v2's cursors are keyset cursors over (update_time, id), so
 * a deal that changes between two pages moves to the end and is read again. Deleted deals stand in the same list for 30 days; archived ones, which still
 * are deals, in one of their own. v1 pages notes by offset, so a page of theirs begins at the time at which the page before it ended.
 */
import { v1, v2 } from 'pipedrive';
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
  type ProviderError,
} from './provider.ts';

const OWN_ADDRESS = 'https://api.pipedrive.com';
const DEALS_PAGE = 500;
const NOTES_PAGE = 100;
/** The length of a rate window. */
const RATE_WINDOW_MS = 2_000;
const ANSWER_MAX_BYTES = 50_000_000;

const key = z.union([z.string(), z.number()]).nullish();
const text = z.string().nullish();
const deal = z.object({
  id: z.union([z.string(), z.number()]),
  title: text,
  // The source text of the number; see `parseExactly`.
  value: z.union([z.string(), z.null()]).optional(),
  currency: text,
  status: text,
  is_deleted: z.boolean().nullish(),
  update_time: text,
  expected_close_date: text,
  close_time: text,
  won_time: text,
  lost_time: text,
  probability: z.number().nullish(),
  pipeline_id: key,
  stage_id: key,
  lost_reason: text,
  owner_id: key,
});
type Deal = z.output<typeof deal>;
const deals = z.object({
  data: z.array(deal).nullable(),
  additional_data: z.object({ next_cursor: z.string().nullish() }).nullish(),
});
const notes = z.object({
  data: z
    .array(
      z.object({ id: z.number(), active_flag: z.boolean().nullish(), deal_id: key, content: text, update_time: text }),
    )
    .nullable(),
  additional_data: z
    .object({ pagination: z.object({ more_items_in_collection: z.boolean().nullish() }).nullish() })
    .nullish(),
});
const users = z.object({ data: z.array(z.object({ id: z.number(), email: text })).nullable() });
const notesPlace = z.strictObject({ since: z.string(), start: z.int() });

export function openPipedrive({ token, baseUrl, timeoutMs, readsNotes }: ProviderOptions): Provider {
  const address = (baseUrl ?? OWN_ADDRESS).replace(/\/+$/, '');
  const configure = <C extends v1.Configuration | v2.Configuration>(configuration: C): C => {
    configuration.baseOptions = {
      timeout: timeoutMs,
      // `timeout` counts from the last byte; this one is over the whole exchange.
      get signal() {
        return AbortSignal.timeout(timeoutMs);
      },
      maxContentLength: ANSWER_MAX_BYTES,
      maxRedirects: 0,
      transformResponse: [readAnswer],
    };
    return configuration;
  };
  const dealsApi = new v2.DealsApi(configure(new v2.Configuration({ apiKey: token, basePath: `${address}/api/v2` })));
  const old = configure(new v1.Configuration({ apiKey: token, basePath: `${address}/v1` }));
  const usersApi = new v1.UsersApi(old);
  const notesApi = new v1.NotesApi(old);

  const readDeals = async (list: string, { since, cursor }: PagePlace, limit = DEALS_PAGE): Promise<ProviderPage> => {
    const request = {
      // Several are allowed, says the documentation; the package's type knows one.
      status: 'open,won,lost,deleted' as 'open',
      sort_by: 'update_time',
      sort_direction: 'asc',
      limit,
      ...(since === null ? {} : { updated_since: toSeconds(since) }),
      ...(cursor === null ? {} : { cursor }),
    } as const;
    const answer = await ask(deals, () =>
      list === 'archived' ? dealsApi.getArchivedDeals(request) : dealsApi.getDeals(request),
    );
    const rows = answer.data ?? [];
    return {
      deals: rows.filter((row) => !isDeleted(row)).map(toDeal),
      deletedDealIds: rows.filter(isDeleted).map((row) => String(row.id)),
      notes: [],
      next: answer.additional_data?.next_cursor ?? null,
      modifiedUntil: instantOf(rows.at(-1)?.update_time),
    };
  };

  const readNotes = async ({ since, cursor }: PagePlace, limit = NOTES_PAGE): Promise<ProviderPage> => {
    const from =
      cursor === null ? { since: since ?? '1970-01-01T00:00:00.000Z', start: 0 } : notesPlace.parse(JSON.parse(cursor));
    const { start } = from;
    const request = { updated_since: toSeconds(from.since), sort: 'update_time ASC', start, limit };
    const answer = await ask(notes, () => notesApi.getNotes(request));
    const rows = answer.data ?? [];
    // v1 writes `2026-11-02 14:05:00`, in UTC.
    const last = instantOf(rows.at(-1)?.update_time?.replace(/^(\S+) (\S+)$/, '$1T$2Z'));
    const follows = answer.additional_data?.pagination?.more_items_in_collection === true && last !== null;
    const next =
      last !== null && last > from.since
        ? { since: last, start: 0 }
        : { since: from.since, start: start + rows.length };
    return {
      deals: [],
      deletedDealIds: [],
      notes: rows.map((row) => ({
        id: String(row.id),
        dealIds:
          row.active_flag === false || row.deal_id === null || row.deal_id === undefined ? [] : [String(row.deal_id)],
        html: textOf(row.content) ?? '',
      })),
      next: follows ? JSON.stringify(next) : null,
      modifiedUntil: last,
    };
  };

  const listOwners = async (): Promise<Map<string, string>> => {
    const { data } = await ask(users, () => usersApi.getUsers());
    return new Map((data ?? []).flatMap(({ id, email }) => (email ? [[String(id), email] as const] : [])));
  };

  return {
    lists: readsNotes ? ['deals', 'archived', 'notes'] : ['deals', 'archived'],
    listOwners,
    readPage: (list, at) => (list === 'notes' ? readNotes(at) : readDeals(list, at)),
    check: async () => {
      const start = { since: null, cursor: null };
      await listOwners();
      await readDeals('deals', start, 1);
      if (readsNotes) await readNotes(start, 1);
    },
    close: () => undefined,
  };
}

function isDeleted(row: Deal): boolean {
  return row.is_deleted === true || row.status === 'deleted';
}

function toDeal(row: Deal): ProviderDeal {
  const outcome = row.status === 'won' || row.status === 'lost' ? row.status : 'open';
  const probability = row.probability ?? null;
  return {
    externalId: String(row.id),
    outcome,
    title: textOf(row.title),
    amount: decimalOf(row.value),
    currency: textOf(row.currency),
    closeDate:
      textOf(row.close_time) ?? textOf(row.won_time) ?? textOf(row.lost_time) ?? textOf(row.expected_close_date),
    probability: probability === null ? null : Math.round(Math.min(Math.max(probability, 0), 100)),
    pipelineId: textOf(row.pipeline_id),
    stageId: textOf(row.stage_id),
    lostReason: outcome === 'lost' ? textOf(row.lost_reason) : null,
    ownerId: textOf(row.owner_id),
    // v2 names the last activity's id alone.
    lastActivityAt: null,
  };
}

/** RFC 3339 without fractions, as documented; rounded down, for the bound is inclusive. */
function toSeconds(iso: string): string {
  return `${iso.slice(0, 19)}Z`;
}

/** What the package lets through of a refusal: nothing but the body. So the body that it sees is this. */
interface Refusal {
  readonly refusal: ProviderError;
}

function readAnswer(body: unknown, headers: Readonly<Record<string, unknown>>, status?: number): unknown {
  if (status !== undefined && (status < 200 || status > 299)) {
    const reset = Number(headers['x-ratelimit-reset']);
    const waitMs = Number.isFinite(reset) && reset > 0 ? reset * 1000 : RATE_WINDOW_MS;
    return { refusal: errorOfStatus(status, headers, waitMs) } satisfies Refusal;
  }
  // A body that was cut; the package's error says so.
  return typeof body === 'string' ? parseExactly(body) : body;
}

/** JSON, with the amounts as the text that was sent: as a number, `12345678901234567.89` is another amount. */
function parseExactly(body: string): unknown {
  const keepSource = (name: string, value: unknown, context?: { source?: string }): unknown =>
    name === 'value' && typeof value === 'number' ? context?.source : value;
  return JSON.parse(body, keepSource as (name: string, value: unknown) => unknown);
}

async function ask<T extends z.ZodType>(shape: T, work: () => Promise<unknown>): Promise<z.output<T>> {
  let answer: unknown;
  try {
    answer = await work();
  } catch (error) {
    const refusal = (error as Partial<Refusal> | null)?.refusal;
    throw isProviderError(refusal) ? refusal : timeoutOr(error);
  }
  const read = shape.safeParse(answer);
  if (!read.success) throw providerError('invalid_response', { cause: read.error });
  return read.data;
}

function timeoutOr(error: unknown): ProviderError {
  const { code } = error as { code?: unknown };
  return code === 'ERR_CANCELED' ? providerError('timeout') : errorOfNetwork(error);
}

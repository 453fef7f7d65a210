/**
 * Pipedrive, through its package: deals from API v2; users and notes from v1, because v2 has none.
 *
 * v2 pages by a key of (update_time, id): a deal that changes between two pages moves to the end
 * and is read again. Its list has deleted deals, too, for 30 days. Archived deals still are deals,
 * but are a separate list. v1 pages notes by offset; so that no note is skipped, a page starts at
 * the modification time of the last note of the previous page.
 */
import type { v1, v2 } from 'pipedrive';
import { z } from 'zod';
import { tooLarge } from './answers.ts';
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
  type ProviderPage,
} from './provider.ts';
import { send } from './requests.ts';
import {
  addressOf,
  cursorOf,
  decimalOf,
  htmlOf,
  idOf,
  instantOf,
  parseExactly,
  textOf,
} from './values.ts';

const OWN_ADDRESS = 'https://api.pipedrive.com';
const DEALS_PAGE = 500;
const NOTES_PAGE = 100;
/** The length of a rate window. */
const RATE_WINDOW_MS = 2_000;

// A failure may come with status 200, too. Without its rows it must not pass for an empty list.
const success = z.literal(true);
const key = z.union([z.string(), z.number()]).nullish();
const text = z.string().nullish();
const deal = z.object({
  id: z.union([z.string(), z.number()]),
  title: text,
  // `parseExactly` keeps the number's text.
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
  success,
  data: z.array(deal),
  additional_data: z.object({ next_cursor: z.string().nullish() }).nullish(),
});
const note = z.object({
  id: z.number(),
  active_flag: z.boolean().nullish(),
  deal_id: key,
  content: text,
  update_time: text,
});
type Note = z.output<typeof note>;
const pagination = z.object({ more_items_in_collection: z.boolean().nullish() });
// An empty list of v1 is null.
const notes = z.object({
  success,
  data: z.array(note).nullable(),
  additional_data: z.object({ pagination: pagination.nullish() }).nullish(),
});
const users = z.object({
  success,
  data: z.array(z.object({ id: z.number(), email: text })).nullable(),
});
const notesPlace = z.strictObject({ since: z.string(), start: z.int() });

interface Session {
  readonly dealsApi: v2.DealsApi;
  readonly usersApi: v1.UsersApi;
  readonly notesApi: v1.NotesApi;
}

/** Sends a request, by the package or without it. `ask` reads what it returns or throws. */
type Call = (request: Readonly<Record<string, string | number>>) => Promise<unknown>;

export const pipedrive = defineProvider({
  credentials: tokenShape('Pipedrive: a personal API token.'),
  open: openPipedrive,
});

async function openPipedrive(
  token: string,
  { baseUrl, timeoutMs, answerMaxBytes, readsNotes }: ClientOptions,
): Promise<ProviderClient> {
  const address = (baseUrl ?? OWN_ADDRESS).replace(/\/+$/, '');
  const limits = { timeoutMs, answerMaxBytes };
  let session: Promise<Session> | null = null;
  const open = (): Promise<Session> => (session ??= openSession(token, { address, ...limits }));
  const callPlainly =
    (path: string): Call =>
    async (request) => {
      const query = new URLSearchParams(
        Object.entries(request).map(([name, value]) => [name, String(value)]),
      );
      const url = `${address}${path}?${query}`;
      const { status, headers, text: body } = await send(url, { 'x-api-token': token }, limits);
      if (isRefused(status)) throw refusalOf(status, headers);
      return readBody(body);
    };
  return {
    lists: readsNotes ? ['deals', 'archived', 'notes'] : ['deals', 'archived'],
    listOwners: async () => {
      const { usersApi } = await open();
      return listOwners(() => usersApi.getUsers());
    },
    readPage: async (list, at) => {
      const { dealsApi, notesApi } = await open();
      if (list === 'notes') return readNotes((request) => notesApi.getNotes(request), at);
      return readDeals(
        (request) =>
          list === 'archived' ? dealsApi.getArchivedDeals(request) : dealsApi.getDeals(request),
        at,
      );
    },
    check: async () => {
      const start = { since: null, cursor: null };
      await listOwners(callPlainly('/v1/users'));
      await readDeals(callPlainly('/api/v2/deals'), start, 1);
      if (readsNotes) await readNotes(callPlainly('/v1/notes'), start, 1);
    },
    // Each call ends by its own timeout.
    close: () => undefined,
  };
}

async function openSession(
  token: string,
  {
    address,
    timeoutMs,
    answerMaxBytes,
  }: { address: string } & Pick<ClientOptions, 'timeoutMs' | 'answerMaxBytes'>,
): Promise<Session> {
  const { v1: old, v2: current } = await import('pipedrive');
  const configure = <C extends v1.Configuration | v2.Configuration>(configuration: C): C => {
    configuration.baseOptions = {
      timeout: timeoutMs,
      // `timeout` starts again with each byte; the signal limits the whole exchange.
      get signal() {
        return AbortSignal.timeout(timeoutMs);
      },
      maxContentLength: answerMaxBytes,
      maxRedirects: 0,
      transformResponse: [readAnswer],
    };
    return configuration;
  };
  const v1Options = configure(new old.Configuration({ apiKey: token, basePath: `${address}/v1` }));
  const v2Options = configure(
    new current.Configuration({ apiKey: token, basePath: `${address}/api/v2` }),
  );
  return {
    dealsApi: new current.DealsApi(v2Options),
    usersApi: new old.UsersApi(v1Options),
    notesApi: new old.NotesApi(v1Options),
  };
}

async function readDeals(
  getDeals: Call,
  { since, cursor }: PagePlace,
  limit = DEALS_PAGE,
): Promise<ProviderPage> {
  const request = {
    status: 'open,won,lost,deleted',
    sort_by: 'update_time',
    sort_direction: 'asc',
    limit,
    ...(since === null ? {} : { updated_since: toSeconds(since) }),
    ...(cursor === null ? {} : { cursor }),
  };
  const answer = await ask(deals, () => getDeals(request));
  const rows = answer.data;
  return {
    deals: rows.filter((row) => !isDeleted(row)).map(toDeal),
    deletedDealIds: rows.filter(isDeleted).map((row) => idOf(row.id)),
    notes: [],
    next: cursorOf(answer.additional_data?.next_cursor),
    modifiedUntil: instantOf(rows.at(-1)?.update_time),
  };
}

async function readNotes(
  getNotes: Call,
  { since, cursor }: PagePlace,
  limit = NOTES_PAGE,
): Promise<ProviderPage> {
  const from =
    cursor === null
      ? { since: since ?? '1970-01-01T00:00:00.000Z', start: 0 }
      : notesPlace.parse(JSON.parse(cursor));
  const { start } = from;
  const request = { updated_since: toSeconds(from.since), sort: 'update_time ASC', start, limit };
  const answer = await ask(notes, () => getNotes(request));
  const rows = answer.data ?? [];
  // v1 writes `2026-11-02 14:05:00`, in UTC.
  const last = instantOf(rows.at(-1)?.update_time?.replace(/^(\S+) (\S+)$/, '$1T$2Z'));
  const hasMore = answer.additional_data?.pagination?.more_items_in_collection === true;
  if (hasMore && last === null) throw providerError('invalid_response');
  // The whole page has one time: only an offset leads on from there.
  const isStuck = last === null || last <= from.since;
  const next = isStuck
    ? { since: from.since, start: start + rows.length }
    : { since: last, start: 0 };
  return {
    deals: [],
    deletedDealIds: [],
    notes: rows.map((row) => ({
      id: idOf(row.id),
      dealIds: dealIdsOf(row),
      html: htmlOf(row.content),
    })),
    next: hasMore ? JSON.stringify(next) : null,
    modifiedUntil: last,
  };
}

async function listOwners(getUsers: Call): Promise<Map<string, string>> {
  const { data } = await ask(users, () => getUsers({}));
  return new Map(
    (data ?? []).flatMap(({ id, email }) => {
      const address = addressOf(email);
      return address === null ? [] : [[String(id), address] as const];
    }),
  );
}

/** A deleted note belongs to no deal. */
function dealIdsOf({ active_flag: isActive, deal_id: dealId }: Note): string[] {
  return isActive === false || dealId === null || dealId === undefined ? [] : [idOf(dealId)];
}

function isDeleted(row: Deal): boolean {
  return row.is_deleted === true || row.status === 'deleted';
}

function toDeal(row: Deal): ProviderDeal {
  const outcome = row.status === 'won' || row.status === 'lost' ? row.status : 'open';
  const probability = row.probability ?? null;
  return {
    externalId: idOf(row.id),
    outcome,
    title: textOf(row.title),
    amount: decimalOf(row.value),
    currency: textOf(row.currency),
    closeDate:
      textOf(row.close_time) ??
      textOf(row.won_time) ??
      textOf(row.lost_time) ??
      textOf(row.expected_close_date),
    probability: probability === null ? null : Math.round(Math.min(Math.max(probability, 0), 100)),
    pipelineId: textOf(row.pipeline_id),
    stageId: textOf(row.stage_id),
    lostReason: outcome === 'lost' ? textOf(row.lost_reason) : null,
    ownerId: textOf(row.owner_id),
    // v2 returns the last activity's id, but not its time.
    lastActivityAt: null,
  };
}

/** The API takes no fractions of a second. Rounded down: the bound is inclusive. */
function toSeconds(iso: string): string {
  return `${iso.slice(0, 19)}Z`;
}

/**
 * The package passes on nothing of a refused request but its body. So `readAnswer`, which also sees
 * status and headers, replaces the body by this.
 */
interface Refusal {
  readonly refusal: ProviderError;
}

function readAnswer(
  body: unknown,
  headers: Readonly<Record<string, unknown>>,
  status?: number,
): unknown {
  if (status !== undefined && isRefused(status))
    return { refusal: refusalOf(status, headers) } satisfies Refusal;
  // A response that was cut has no text. The package throws an error of its own then.
  return typeof body === 'string' ? readBody(body) : body;
}

function isRefused(status: number): boolean {
  return status < 200 || status > 299;
}

function refusalOf(status: number, headers: Readonly<Record<string, unknown>>): ProviderError {
  const reset = Number(headers['x-ratelimit-reset']);
  const waitMs = Number.isFinite(reset) && reset > 0 ? reset * 1000 : RATE_WINDOW_MS;
  return errorOfStatus(status, headers, waitMs);
}

function readBody(body: string): unknown {
  return parseExactly(body, ['value']);
}

async function ask<T extends z.ZodType>(
  shape: T,
  work: () => Promise<unknown>,
): Promise<z.output<T>> {
  let answer: unknown;
  try {
    answer = await work();
  } catch (error) {
    if (isProviderError(error)) throw error;
    const refusal = (error as Partial<Refusal> | null)?.refusal;
    throw isProviderError(refusal) ? refusal : timeoutOr(error);
  }
  const read = shape.safeParse(answer);
  if (!read.success) throw providerError('invalid_response', { cause: read.error });
  return read.data;
}

function timeoutOr(error: unknown): ProviderError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  // The package has no code of its own for this.
  if (/^maxContentLength\b/.test(String(message))) return tooLarge();
  return code === 'ERR_CANCELED' ? providerError('timeout') : errorOfNetwork(error);
}

/** The operations of the API as functions. Their types and names come from the OpenAPI document. */
import { requireBaseUrl } from './base-url.ts';
import { OPERATIONS, type operations } from './operations.ts';
import { toList, type List, type Page } from './paging.ts';
import { send, type ClientOptions, type PreparedCall, type RequestOptions } from './request.ts';
import { makeRetryBudget } from './retries.ts';

type Table = typeof OPERATIONS;

/** Whether a key opens the live team or its sandbox, by the word in the key. */
export type Mode = 'live' | 'test';

/** Every operation, by group: `client.members.list()`. */
export type Client = { readonly mode: Mode } & {
  readonly [Group in keyof Table]: {
    readonly [Name in keyof Table[Group]]: Table[Group][Name] extends readonly [
      infer Id extends keyof operations,
      ...unknown[],
    ]
      ? Call<operations[Id]>
      : never;
  };
};

/** The input has the parameters of the path and the query, or of the path and the body. */
type Call<O> =
  Record<never, never> extends InputOf<O>
    ? (input?: InputOf<O>, options?: RequestOptions) => ResultOf<O>
    : (input: InputOf<O>, options?: RequestOptions) => ResultOf<O>;

type InputOf<O> = Flat<ParametersOf<O, 'path'> & ParametersOf<O, 'query'> & BodyOf<O>>;
type Flat<T> = { [K in keyof T]: T[K] };
type ParametersOf<O, Place extends string> = O extends {
  readonly parameters: { readonly [K in Place]?: infer P };
}
  ? Given<Exclude<P, undefined>>
  : unknown;
/** Adds nothing for a place without parameters. */
type Given<P> = [P] extends [never] ? unknown : P;
type BodyOf<O> = O extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer B } };
}
  ? B
  : unknown;

type ResultOf<O> =
  OutputOf<O> extends { readonly data: readonly unknown[] }
    ? List<OutputOf<O>>
    : Promise<OutputOf<O>>;
type OutputOf<O> = O extends { readonly responses: infer R }
  ? R[keyof R] extends { readonly content: { readonly 'application/json': infer B } }
    ? B
    : never
  : never;

type Input = Readonly<Record<string, unknown>>;
type Row = readonly [id: string, method: string, path: string];

/**
 * Makes a client of one API key. It holds no connection, so it needs no end. Throws a `TypeError`
 * for a `baseUrl` that is none, and for an `apiKey` that cannot be one.
 */
export function createClient(given: ClientOptions): Client {
  requireApiKey(given.apiKey);
  const options = { ...given, baseUrl: requireBaseUrl(given.baseUrl) };
  const budget = makeRetryBudget(options.retryBudget);
  const session = { options, budget, announced: new Set<string>(), warned: new Set<string>() };
  const callerOf =
    ([, method, path]: Row) =>
    (input: Input = {}, requestOptions: RequestOptions = {}): Promise<unknown> => {
      const { idempotencyKey } = requestOptions;
      const call = (more: Input): Promise<unknown> =>
        send(
          prepare(options, method, path, { ...input, ...more }, idempotencyKey),
          session,
          requestOptions,
        );
      if (method !== 'GET') return call({});
      // What is no list has no entries either, and its type does not offer them.
      const read = (more: Input) => call(more) as Promise<Page<unknown>>;
      return toList(read({}), (cursor) => read({ cursor }));
    };
  const groups = Object.entries(OPERATIONS).map(([group, rows]) => [
    group,
    Object.fromEntries(
      Object.entries(rows as Record<string, Row>).map(([name, row]) => [name, callerOf(row)]),
    ),
  ]);
  return { mode: modeOf(options.apiKey), ...Object.fromEntries(groups) } as Client;
}

/** What is not a key is not shown, either: it may be another secret. */
export function requireApiKey(text: unknown): void {
  if (typeof text !== 'string' || text === '') throw new TypeError('apiKey is missing.');
  if (!/^[!-~]+$/.test(text))
    throw new TypeError('apiKey has a space, a line break or another character that no key has.');
}

export function modeOf(apiKey: string): Mode {
  return apiKey.startsWith('svck_test_') ? 'test' : 'live';
}

/** Distributes the input over path, query and body, and adds the headers. */
function prepare(
  { apiKey, baseUrl, language = 'en' }: ClientOptions,
  method: string,
  path: string,
  input: Input,
  idempotencyKey: string | undefined,
): PreparedCall {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const value = rest.get(name);
    // It would be the address of another operation: `fetch` resolves dots, encoded ones too.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} is missing.`);
    rest.delete(name);
    return encodeURIComponent(value);
  });
  // The API takes an empty key for none, so repeating the call could act twice. Headers lose the
  // spaces around a key, so it would be that of another action.
  if (idempotencyKey !== undefined && !/^[!-~]([ -~]{0,98}[!-~])?$/.test(idempotencyKey))
    throw new TypeError('idempotencyKey must have 1 to 100 characters of ASCII.');
  const isRead = method === 'GET' || method === 'DELETE';
  const hasBody = method === 'PATCH' || (!isRead && rest.size > 0);
  const query = isRead ? new URLSearchParams([...rest].map(pairOf)).toString() : '';
  return {
    method,
    operation: `${method} ${path}`,
    url: `${baseUrl}${filled}${query === '' ? '' : `?${query}`}`,
    headers: {
      authorization: `Bearer ${apiKey}`,
      'accept-language': language,
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...(method === 'POST' ? { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() } : {}),
    },
    body: hasBody ? JSON.stringify(Object.fromEntries(rest)) : null,
  };
}

function pairOf([name, value]: [string, unknown]): [string, string] {
  return [name, String(value)];
}

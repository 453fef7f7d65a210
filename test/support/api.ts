// Starts the API in this process (`startTestApi`), with real HTTP and a real database. It is
// stopped when the test file ends. `processes.ts` starts the real processes.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { Pool } from 'undici';
import { systemClock, type Clock } from '../../src/core/clock.ts';
import { NOTHING_ENDS } from '../../src/core/deprecation.ts';
import type { ObserveRefusal } from '../../src/core/limits.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { answerBrokenRequest } from '../../src/http/api/broken-request.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { createApp, type AppOptions } from '../../src/http/server.ts';
import { createGuardedServer, type ConnectionLimits } from '../../src/runtime/connections.ts';
import { loadSeed, type SeedResult } from '../../src/seed/load.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { atEnd } from './at-end.ts';
import {
  bySocket,
  cloneDatabase,
  createTestDatabase,
  isOnCitus,
  type TestDatabase,
} from './database.ts';
import { requireDocumentedResponse, type ApiResponse } from './response-contract.ts';

export type { ApiResponse } from './response-contract.ts';
import { waitToConnect } from './wire.ts';

/** The `APP_SECRET` of tests, also of the processes that they start. */
export const TEST_APP_SECRET = 'a secret of the tests, long enough to be one';

/** The `APP_AUTH_SECRET` of tests, also of the processes that they start. */
export const TEST_APP_AUTH_SECRET = 'another secret of the tests, long enough too';

/** Too high for a test to reach by accident. Tests of a limit set their own. */
export const NO_LIMIT = 1_000_000;
/** Longer than any statement of a test. What the product sends, its watchdog gives up before. */
const NO_TIMEOUT_MS = 120_000;

/** What a request has besides its key, method and path. */
export interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged. The content type is `application/json` unless `headers` sets another. */
  readonly rawBody?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/**
 * Sends one request. `path` is relative to the base path and includes the query. `key` is a
 * complete API key; null sends no Authorization header.
 */
export type Call = (
  key: string | null,
  method: string,
  path: string,
  options?: CallOptions,
) => Promise<ApiResponse>;

/** A running API with its own database. */
export interface TestApi {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** `url` with the base path. */
  readonly base: string;
  readonly port: number;
  /** What the server runs. */
  readonly app: ReturnType<typeof createApp>;
  readonly db: Database;
  readonly databaseUrl: string;
  /** Team id → key name → API key. */
  readonly keys: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Team id → endpoint id → signing secret. */
  readonly webhookSecrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Returns a key of a seeded team, by default `full`. Throws if the team has no such key. */
  key(teamId: string, name?: string): string;
  /**
   * Checks every response against the error contract and the published document. A 500 throws with
   * what was logged.
   */
  readonly call: Call;
  /** The lines that the API logged at level error. */
  readonly loggedErrors: readonly string[];
  stop(): Promise<void>;
}

/** How `startTestApi` sets up the API. */
export interface TestApiOptions {
  readonly seed: SeedFileInput;
  /** By default a new one of the run's server. */
  readonly database?: TestDatabase;
  readonly clock?: Clock;
  readonly keyLimitPerMinute?: number;
  readonly personLimitPerMinute?: number;
  readonly ipLimitPerMinute?: number;
  readonly allowPrivateTargets?: boolean;
  readonly trustProxy?: AppOptions['trustProxy'];
  /** The most requests that `call` sends at once; 8 by default. */
  readonly connections?: number;
  readonly services?: Partial<AppOptions['services']>;
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** Given to the server, the app and the database, as in a process. */
  readonly observeRefusal?: ObserveRefusal;
  readonly developmentTeamId?: string;
  /** Gets every line that the API logs; by default only errors are kept. */
  readonly onLog?: (line: string) => void;
  /** By default that of a process. A busy machine may take longer for a statement of any kind. */
  readonly quickStatementMs?: number;
  /** By default none that a test reaches, since tests prepare rows through the same pool. */
  readonly statementTimeoutMs?: number;
  /** Options that a real process gets from its environment or its own code. */
  readonly app?: Partial<
    Pick<
      AppOptions,
      | 'adminHostOrigins'
      | 'adminRefreshUrls'
      | 'publicUrl'
      | 'tokenKey'
      | 'endpoints'
      | 'deprecations'
      | 'placeMaxMs'
      | 'throttle'
      | 'countUse'
      | 'logRequest'
      | 'observe'
      | 'observeCall'
      | 'createAuthenticator'
    >
  >;
}

/**
 * Starts the API in this process, assembled as in src/api.ts, on a fresh database that holds
 * `seed`. Teams without a rate limit of their own have none.
 */
export async function startTestApi(options: TestApiOptions): Promise<TestApi> {
  const { database, seeded } = await prepareDatabase(options);
  const { quickStatementMs, statementTimeoutMs, observeRefusal } = options;
  const opened = openDatabase({
    url: bySocket(database.url),
    poolMax: 16,
    onError: () => undefined,
    ...(quickStatementMs !== undefined && { quickStatementMs }),
    statementTimeoutMs: statementTimeoutMs ?? NO_TIMEOUT_MS,
    ...(statementTimeoutMs !== undefined && { answerTimeoutMs: statementTimeoutMs + 5_000 }),
    ...(observeRefusal && { observeRefusal }),
  });
  const db = waitToConnect(opened);
  const { server, onBroken, ...connections } = createGuardedServer({
    limits: options.connectionLimits ?? {},
    ...(observeRefusal && { observeRefusal }),
  });
  const stop = once(async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((done) => server.close(done));
    await db.close();
    await database.drop();
    stopped();
  });
  const stopped = atEnd(stop);
  const port = await listen(server);
  const url = `http://127.0.0.1:${port}`;
  const loggedErrors: string[] = [];
  const app = createApp({ ...appOptions(options, { db, url, loggedErrors }), connections });
  server.on('request', app);
  onBroken(answerBrokenRequest(url));
  const keys = collect(seeded, 'api_keys');
  return {
    url,
    base: url + BASE_PATH,
    port,
    app,
    db,
    databaseUrl: database.url,
    keys,
    webhookSecrets: collect(seeded, 'webhook_endpoints'),
    key: (teamId, name = 'full') =>
      keys[teamId]?.[name] ?? fail(`the seed has no key ${name} of ${teamId}`),
    call: createCall(url, { loggedErrors, connections: options.connections ?? 8 }),
    loggedErrors,
    stop,
  };
}

/** A database with a seed, which nobody is connected to. */
interface Template {
  readonly database: TestDatabase;
  readonly seeded: SeedResult;
}

/** Seed as JSON → its template, or null after the first load. They end with the test file. */
const templates = new Map<string, Promise<Template> | null>();

/** Resolves with a database that holds the seed; by default a new one. */
async function prepareDatabase({ database, seed }: TestApiOptions): Promise<Template> {
  if (database) return { database, seeded: await loadTestSeed(database, seed) };
  const name = JSON.stringify(seed);
  const known = templates.get(name);
  if (known === undefined || isOnCitus()) {
    templates.set(name, null);
    atEnd(() => templates.delete(name));
    return seedNew(seed);
  }
  // The file starts an API with this seed again and again. To clone it takes a fifth of a load.
  const making = known ?? seedNew(seed);
  templates.set(name, making);
  if (known === null) atEnd(async () => (await making).database.drop());
  const { database: template, seeded } = await making;
  return { database: await cloneDatabase(template), seeded };
}

async function seedNew(seed: SeedFileInput): Promise<Template> {
  const database = await createTestDatabase();
  try {
    return { database, seeded: await loadTestSeed(database, seed) };
  } catch (error) {
    await database.drop();
    throw error;
  }
}

/**
 * Loads a seed with the `APP_SECRET` of tests. Teams without a rate limit of their own have none.
 */
export function loadTestSeed(
  database: Pick<TestDatabase, 'url'>,
  seed: SeedFileInput,
  options = { replace: false },
): Promise<SeedResult> {
  const teams = (seed.teams ?? []).map((team) => ({ rate_limit_per_min: NO_LIMIT, ...team }));
  return loadSeed(
    bySocket(database.url),
    { ...seed, teams },
    { ...options, appSecret: TEST_APP_SECRET },
  );
}

/** Returns a `Call` to the API at `url` over kept connections; see {@link TestApi.call}. */
export function createCall(
  url: string,
  options: { readonly connections?: number; readonly loggedErrors?: readonly string[] } = {},
): Call {
  const pool = new Pool(url, {
    connections: options.connections ?? 8,
    pipelining: 1,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });
  atEnd(() => pool.destroy());
  return async (key, method, path, { body, rawBody, headers = {} } = {}) => {
    const sent = rawBody ?? (body === undefined ? null : JSON.stringify(body));
    const given = await pool.request({
      method: method as 'GET',
      path: BASE_PATH + path,
      body: sent,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(sent === null ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    const text = await given.body.text();
    const response = {
      status: given.statusCode,
      headers: joinHeaders(given.headers),
      text,
      body: parse(text),
    };
    if (response.status === 500)
      throw new Error(`${method} ${path} → 500\n${options.loggedErrors?.at(-1) ?? text}`);
    requireDocumentedResponse({ method, path: path.replace(/\?.*$/s, '') }, response);
    return response;
  };
}

function appOptions(
  options: TestApiOptions,
  { db, url, loggedErrors }: { db: Database; url: string; loggedErrors: string[] },
): Omit<AppOptions, 'connections'> {
  return {
    db,
    logger: options.onLog
      ? pino({}, { write: options.onLog })
      : pino({ level: 'error' }, { write: (line) => loggedErrors.push(line) }),
    publicUrl: url,
    services: {
      clock: options.clock ?? systemClock,
      secrets: { current: TEST_APP_SECRET, previous: null },
      webhookAllowPrivateTargets: options.allowPrivateTargets ?? false,
      ...options.services,
    },
    limits: {
      keyPerMinute: options.keyLimitPerMinute ?? NO_LIMIT,
      personPerMinute: options.personLimitPerMinute ?? NO_LIMIT,
      ipPerMinute: options.ipLimitPerMinute ?? NO_LIMIT,
    },
    document: documentOf(url),
    deprecations: NOTHING_ENDS,
    observe: () => undefined,
    observeCall: () => undefined,
    observeRefusal: options.observeRefusal ?? (() => undefined),
    trustProxy: options.trustProxy ?? { kind: 'none' },
    tokenKey: { kind: 'secret', secret: TEST_APP_AUTH_SECRET },
    developmentTeamId: options.developmentTeamId ?? null,
    whyNotReady: async () => null,
    ...options.app,
  };
}

const SOME_URL = 'http://some-url.test';
let documentOfSomeUrl: string | null = null;

/** To make a document takes 50 ms, and hundreds of APIs differ in its URL alone. */
function documentOf(url: string): string {
  documentOfSomeUrl ??= JSON.stringify(openApiDocument(SOME_URL));
  return documentOfSomeUrl.replaceAll(SOME_URL, url);
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function collect(
  seeded: SeedResult,
  field: 'api_keys' | 'webhook_endpoints',
): Record<string, Record<string, string>> {
  return Object.fromEntries(
    Object.entries(seeded.teams).map(([teamId, team]) => [teamId, team[field]]),
  );
}

function joinHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | null = null;
  return () => (result ??= work());
}

function fail(message: string): never {
  throw new Error(message);
}

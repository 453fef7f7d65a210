/**
 * One attempt: resolve, check and pin the address, POST, read what is kept of the answer. Whatever happens is a result, never an exception: only our own faults
 * would be.
 *
 * A connection is kept and used again only for the same origin *and* the same checked address, so an attempt never goes to an address that was not checked for it.
 * A receiver may close a kept connection at any moment, also while a request is on its way to it. That is no fault of the receiver's: the request is made
 * once more, on a new connection, within the same attempt. (Should it have arrived after all, its `Svc-Event-Id` tells.) A new connection gets one chance.
 */
import { buildConnector, Client, errors } from 'undici';
import type { HostAddress } from '../core/host.ts';
import { parseRetryAfter } from './schedule.ts';
import { resolveTarget, type TargetOptions } from './target.ts';

export interface AttemptResult {
  readonly ok: boolean;
  readonly responseCode: number | null;
  readonly responseExcerpt: string | null;
  readonly responseMs: number;
  /** Why there was no complete answer, in a word; null when there was one. */
  readonly error: string | null;
  readonly retryAfterS: number | null;
}

export interface Sender {
  send(url: string, headers: Record<string, string>, body: string): Promise<AttemptResult>;
  close(): Promise<void>;
}

export interface SenderOptions extends TargetOptions {
  /** Over the whole attempt, from the lookup of the name to the last character that is kept. */
  readonly timeoutMs: number;
}

const EXCERPT_MAX_CHARACTERS = 1000;
/** A character takes four bytes of UTF-8 at most; a byte order mark, which is none, three. */
const EXCERPT_MAX_BYTES = EXCERPT_MAX_CHARACTERS * 4 + 3;
const KEEP_ALIVE_MS = 15_000;

/** One address of one origin, and the connections to it that nobody uses right now. */
interface Route {
  readonly key: string;
  readonly origin: string;
  readonly connect: ReturnType<typeof buildConnector>;
  readonly idle: Connection[];
}

/** undici's client for one request at a time; it connects when it is used, and again when its socket is gone. */
interface Connection {
  readonly client: Client;
  /** How often it has connected. */
  opened: number;
  idleSince: number;
}

interface Post {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly deadline: Deadline;
}

/** The end of an attempt's time, which ends whatever is on its way then. */
interface Deadline {
  isOver: boolean;
  /** Ends the request that is on its way; null: none is. */
  end: ((reason: Error) => void) | null;
}

export function createSender(options: SenderOptions): Sender {
  const routes = new Map<string, Route>();
  const open = new Set<Client>();
  const sweeper = setInterval(() => sweep(), KEEP_ALIVE_MS);
  sweeper.unref();

  const exchange = async (text: string, post: Omit<Post, 'path'>): Promise<Answer> => {
    const target = await resolveTarget(text, options);
    if (!target.ok) return { error: 'target_not_public' };
    const [address] = target.addresses;
    if (!address) return { error: 'target_not_public' };
    const route = routeTo(target.url, address);
    const path = target.url.pathname + target.url.search;
    return converse(route, { ...post, path }, route.idle.pop() ?? connection(route));
  };

  const converse = async (route: Route, post: Post, used: Connection): Promise<Answer> => {
    const openedBefore = used.opened;
    const response: Response = { statusCode: 0, retryAfter: undefined, chunks: [], size: 0 };
    try {
      const isWhole = await request(used.client, post, response);
      if (isWhole) keep(route, used);
      else discard(used);
      return { response };
    } catch (error) {
      discard(used);
      const wasKept = openedBefore > 0 && used.opened === openedBefore;
      const isStale = wasKept && response.statusCode === 0 && describe(error) === 'connection_closed';
      if (!isStale || post.deadline.isOver) throw error;
      return converse(route, post, connection(route));
    }
  };

  const routeTo = (url: URL, address: HostAddress): Route => {
    const key = `${url.origin} ${address.address}`;
    const known = routes.get(key);
    if (known) return known;
    const lookup = (_hostname: string, wanted: { all?: boolean }, done: (...result: unknown[]) => void): void =>
      wanted.all ? done(null, [address]) : done(null, address.address, address.family);
    // Later than the attempt's own timer, which does not end a connection that is being made.
    const timeout = options.timeoutMs + 1_000;
    const connect = buildConnector({ timeout, allowH2: false, lookup } as never);
    const made: Route = { key, origin: url.origin, connect, idle: [] };
    routes.set(key, made);
    return made;
  };

  const connection = ({ origin, connect }: Route): Connection => {
    const client = new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The attempt's own timer is exact; these go by half seconds, and may be early.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16_384,
      connect,
    });
    const made: Connection = { client, opened: 0, idleSince: 0 };
    client.on('connect', () => (made.opened += 1));
    open.add(client);
    return made;
  };

  const keep = (route: Route, used: Connection): void => {
    // The route may have been swept away meanwhile, and nobody would look for what is idle on it.
    if (routes.get(route.key) !== route) return discard(used);
    used.idleSince = performance.now();
    route.idle.push(used);
  };

  const discard = ({ client }: Connection): void => {
    open.delete(client);
    // Nothing is in flight on it that could still fail.
    void client.destroy();
  };

  /** Those that were used last are at the end, and are used first, so what is not needed any more grows old at the front. */
  const sweep = (): void => {
    const oldest = performance.now() - KEEP_ALIVE_MS;
    for (const [key, { idle }] of routes) {
      const young = idle.findIndex(({ idleSince }) => idleSince >= oldest);
      for (const old of idle.splice(0, young < 0 ? idle.length : young)) discard(old);
      if (idle.length === 0) routes.delete(key);
    }
  };

  return {
    send: async (url, headers, body) => {
      const startedAt = performance.now();
      const deadline: Deadline = { isOver: false, end: null };
      // Also what cannot be ended (a name that is being resolved) is waited for no longer.
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        const timeout = new Error('timeout');
        deadline.isOver = true;
        deadline.end?.(timeout);
        reject(timeout);
      }, options.timeoutMs);
      try {
        return toResult(await Promise.race([exchange(url, { headers, body, deadline }), late]), startedAt);
      } catch (error) {
        return toResult({ error: deadline.isOver ? 'timeout' : describe(error) }, startedAt);
      } finally {
        clearTimeout(timer);
      }
    },
    close: async () => {
      clearInterval(sweeper);
      await Promise.all([...open].map((client) => client.destroy()));
    },
  };
}

type Answer = { readonly response: Response } | { readonly error: string };

interface Response {
  /** 0 until there is one. */
  statusCode: number;
  retryAfter: string | string[] | undefined;
  readonly chunks: Buffer[];
  size: number;
}

/**
 * Sends the request and reads the first characters of the answer into `response`; resolves with whether that was all of it. The rest is not read, which costs
 * the connection. By undici's handler, because its streams and signals cost as much as the whole rest of a delivery.
 */
function request(client: Client, { path, headers, body, deadline }: Post, response: Response): Promise<boolean> {
  return new Promise((resolve, reject) => {
    client.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart: (controller) => {
          deadline.end = (reason) => controller.abort(reason);
          if (deadline.isOver) controller.abort(new Error('timeout'));
        },
        onResponseStart: (_controller, statusCode, answered) => {
          // 1xx is no answer yet.
          if (statusCode < 200) return;
          response.statusCode = statusCode;
          response.retryAfter = answered['retry-after'];
        },
        onResponseData: (controller, chunk) => {
          response.chunks.push(chunk);
          response.size += chunk.length;
          if (response.size <= EXCERPT_MAX_BYTES) return;
          resolve(false);
          controller.abort(new Error('the rest is not read'));
        },
        onResponseEnd: () => resolve(true),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

function toResult(answer: Answer, startedAt: number): AttemptResult {
  const responseMs = Math.round(performance.now() - startedAt);
  if ('error' in answer)
    return { ok: false, responseCode: null, responseExcerpt: null, responseMs, error: answer.error, retryAfterS: null };
  const { statusCode, retryAfter } = answer.response;
  const ok = statusCode >= 200 && statusCode <= 299;
  const retryAfterS = statusCode === 429 || statusCode === 503 ? parseRetryAfter(retryAfter, new Date()) : null;
  return {
    ok,
    responseCode: statusCode,
    responseExcerpt: excerptOf(answer.response),
    responseMs,
    error: null,
    retryAfterS,
  };
}

function excerptOf({ chunks }: Response): string {
  if (chunks.length === 0) return '';
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, EXCERPT_MAX_BYTES));
  return Array.from(text).slice(0, EXCERPT_MAX_CHARACTERS).join('').replaceAll('\0', '\uFFFD');
}

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_closed',
  EPIPE: 'connection_closed',
  UND_ERR_SOCKET: 'connection_closed',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
  UND_ERR_HEADERS_OVERFLOW: 'response_headers_too_large',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls_error',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
};

function describe(error: unknown): string {
  // It has no code of its own where the parser's number has no name.
  if (error instanceof errors.HTTPParserError) return 'invalid_response';
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CODES[code]) return CODES[code];
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/i.test(code)) return 'tls_error';
  return 'connection_failed';
}

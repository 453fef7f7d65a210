/**
 * One attempt: resolve, check and pin the address, POST, read what is kept of the answer. Whatever happens is a result, never an exception: only our own faults
 * would be.
 *
 * A connection is kept and used again only for the same origin *and* the same checked address, so an attempt never goes to an address that was not checked for it.
 */
import { Pool, type Dispatcher } from 'undici';
import type { HostAddress } from '../../core/host.ts';
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

const EXCERPT_MAX_CHARACTERS = 1000;
/** A character takes four bytes of UTF-8 at most. */
const EXCERPT_MAX_BYTES = EXCERPT_MAX_CHARACTERS * 4;
const IDLE_POOL_MS = 60_000;

interface PinnedPool {
  readonly pool: Pool;
  lastUsedAt: number;
  inUse: number;
}

export function createSender(options: TargetOptions & { readonly timeoutMs: number }): Sender {
  const pools = new Map<string, PinnedPool>();
  const sweeper = setInterval(() => closeIdle(pools), IDLE_POOL_MS);
  sweeper.unref();

  const exchange = async (text: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Answer> => {
    const target = await resolveTarget(text, options);
    if (!target.ok) return { error: 'target_not_public' };
    const [address] = target.addresses;
    if (!address) return { error: 'target_not_public' };
    const pinned = poolFor(pools, target.url, address, options.timeoutMs);
    pinned.inUse += 1;
    try {
      const path = target.url.pathname + target.url.search;
      const response = await pinned.pool.request({ method: 'POST', path, headers, body, signal });
      return { response, excerpt: await readExcerpt(response.body, signal) };
    } finally {
      pinned.inUse -= 1;
      pinned.lastUsedAt = Date.now();
    }
  };

  return {
    send: async (url, headers, body) => {
      const startedAt = performance.now();
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), options.timeoutMs);
      try {
        return toResult(await raceAbort(exchange(url, headers, body, controller.signal), controller.signal), startedAt);
      } catch (error) {
        return toResult({ error: controller.signal.aborted ? 'timeout' : describe(error) }, startedAt);
      } finally {
        clearTimeout(timer);
      }
    },
    close: async () => {
      clearInterval(sweeper);
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()));
    },
  };
}

type Answer = { readonly response: Dispatcher.ResponseData; readonly excerpt: string } | { readonly error: string };

/** Also what does not listen to the signal (a name that is being resolved) ends in time. */
function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error('timeout'));
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', onAbort));
}

function toResult(answer: Answer, startedAt: number): AttemptResult {
  const responseMs = Math.round(performance.now() - startedAt);
  if ('error' in answer) return { ok: false, responseCode: null, responseExcerpt: null, responseMs, error: answer.error, retryAfterS: null };
  const { statusCode, headers } = answer.response;
  const ok = statusCode >= 200 && statusCode <= 299;
  const retryAfterS = statusCode === 429 || statusCode === 503 ? parseRetryAfter(headers['retry-after']) : null;
  return { ok, responseCode: statusCode, responseExcerpt: answer.excerpt, responseMs, error: null, retryAfterS };
}

/** Seconds, or an HTTP date; null for anything else. */
function parseRetryAfter(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string') return null;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/** The first characters of the answer; the rest is not read, which costs the connection. */
async function readExcerpt(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (signal.aborted) break;
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > EXCERPT_MAX_BYTES) break;
  }
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, EXCERPT_MAX_BYTES));
  return [...text].slice(0, EXCERPT_MAX_CHARACTERS).join('').replaceAll('\0', '\uFFFD');
}

function poolFor(pools: Map<string, PinnedPool>, url: URL, address: HostAddress, timeoutMs: number): PinnedPool {
  const key = `${url.origin} ${address.address}`;
  const known = pools.get(key);
  if (known) return known;
  const lookup = (_hostname: string, lookupOptions: { all?: boolean }, done: (...result: unknown[]) => void): void =>
    lookupOptions.all ? done(null, [address]) : done(null, address.address, address.family);
  const pool = new Pool(url.origin, {
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 15_000,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: 16_384,
    connect: { timeout: timeoutMs, lookup } as never,
  });
  const made = { pool, lastUsedAt: Date.now(), inUse: 0 };
  pools.set(key, made);
  return made;
}

function closeIdle(pools: Map<string, PinnedPool>): void {
  for (const [key, { pool, lastUsedAt, inUse }] of pools) {
    if (inUse > 0 || Date.now() - lastUsedAt < IDLE_POOL_MS) continue;
    pools.delete(key);
    // Nothing is in flight on it, so there is nothing that could fail to close.
    void pool.destroy();
  }
}

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_closed',
  EPIPE: 'connection_closed',
  UND_ERR_SOCKET: 'connection_closed',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'response_headers_too_large',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
};

function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CODES[code]) return CODES[code];
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/i.test(code)) return 'tls_error';
  if (code.startsWith('HPE_')) return 'invalid_response';
  return 'connection_failed';
}

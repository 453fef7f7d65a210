/** What a code sample does: one request. The samples of all languages are written from it. */
import type { Site } from '../page.ts';
import type { Operation } from '../reference/operations.ts';

export interface SampleRequest {
  readonly method: string;
  readonly url: string;
  /** null: the request has no body. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** Whether the sample sends an `Idempotency-Key` that it makes. */
  readonly isIdempotent: boolean;
}

/** A language that samples are written in. */
export interface SampleLanguage {
  readonly id: string;
  readonly label: string;
  /** The name of the grammar that colours it. */
  readonly grammar: string;
  /** Returns a whole program that makes the request and prints the response. */
  readonly write: (request: SampleRequest) => string;
}

/** The body to try with a service that sends webhooks to the reader's own machine. */
const LOCAL_RECEIVER = 'http://localhost:4000/webhooks';

/**
 * The request with the examples of the operation: its path parameters, `limit`, its body. Other
 * query parameters only filter, so they are left out.
 */
export function sampleRequest(
  { method, path, parameters, body }: Operation,
  { apiUrl, allowsLocalReceivers }: Site,
): SampleRequest {
  const examples = new Map(parameters.map((one) => [one.name, one.example ?? one.name]));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(examples.get(name) ?? name),
  );
  const query = parameters.some(({ name }) => name === 'limit') ? '?limit=10' : '';
  const isLocal = allowsLocalReceivers && path === '/webhook-endpoints';
  return {
    method,
    url: `${apiUrl}${filled}${query}`,
    body: body === null ? null : { ...body.example, ...(isLocal ? { url: LOCAL_RECEIVER } : {}) },
    isIdempotent: method === 'POST',
  };
}

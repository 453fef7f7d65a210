/** Posts an event to a local receiver, with the headers of a webhook. */
import { createHmac } from 'node:crypto';
import { reasonOf } from './error-texts.ts';

/** As the service waits for a receiver. */
const TIMEOUT_MS = 10_000;
const EXCERPT_MAX_CHARACTERS = 1000;

/** An event as the API shows it. */
export interface ApiEvent {
  readonly id: string;
  readonly type: string;
  /** ISO, UTC. */
  readonly created_at: string;
}

/** What became of an event. */
export interface Forwarded {
  readonly event: ApiEvent;
  /** null: there was no answer, or half of one. */
  readonly status: number | null;
  /** Why there was none, such as `ECONNREFUSED`; else null. */
  readonly error: string | null;
  readonly ms: number;
  /** The beginning of what the receiver answered. */
  readonly response: string;
}

/** Whether the service would count the delivery as done. */
export function isAccepted({ status }: Forwarded): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Posts the event, and waits for the answer. */
export async function forward(event: ApiEvent, url: string, secret: string): Promise<Forwarded> {
  const body = JSON.stringify(event);
  const startedAt = performance.now();
  const answer = await post(url, body, signedHeaders(event.id, body, secret));
  return { event, ...answer, ms: Math.round(performance.now() - startedAt) };
}

async function post(
  url: string,
  body: string,
  headers: Record<string, string>,
): Promise<Pick<Forwarded, 'status' | 'error' | 'response'>> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // Webhooks do not follow redirects either.
    const request = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
    const response = await fetch(url, request);
    const text = (await response.text()).slice(0, EXCERPT_MAX_CHARACTERS);
    return { status: response.status, error: null, response: text };
  } catch (error) {
    return { status: null, error: reasonOf(error), response: '' };
  }
}

/** The signatures that the service makes: ours, and Standard Webhooks. */
function signedHeaders(id: string, body: string, secret: string): Record<string, string> {
  const t = Math.floor(Date.now() / 1000);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const standard = createHmac('sha256', key).update(`${id}.${t}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'TeamCustomerApi-Listen/1',
    'svc-signature': `t=${t},v1=${v1}`,
    'svc-event-id': id,
    'webhook-id': id,
    'webhook-timestamp': String(t),
    'webhook-signature': `v1,${standard}`,
  };
}

/** Posts an event to a local receiver, with the headers of a webhook. */
import { createHmac, randomBytes } from 'node:crypto';
import { reasonOf } from './errors.ts';

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

/** Makes a secret in the form of the service's. */
export function makeSecret(): string {
  for (;;) {
    const text = randomBytes(33).toString('base64');
    if (!/[+/]/.test(text)) return `whsec_${text}`;
  }
}

/** Posts the event. Returns what came back, as lines for a terminal. */
export async function forward(event: ApiEvent, url: string, secret: string): Promise<string> {
  const body = JSON.stringify(event);
  const startedAt = performance.now();
  const [status, answer] = await post(url, body, signedHeaders(event.id, body, secret));
  const ms = Math.round(performance.now() - startedAt);
  const what = `${event.created_at} ${event.type} ${event.id}`;
  return `${what} -> ${status} in ${ms} ms${indented(answer)}`;
}

async function post(
  url: string,
  body: string,
  headers: Record<string, string>,
): Promise<[status: string, answer: string]> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // Webhooks do not follow redirects either.
    const request = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
    const response = await fetch(url, request);
    return [String(response.status), await response.text()];
  } catch (error) {
    return [reasonOf(error), ''];
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

/** The beginning of a text on lines of its own, without what a terminal would obey. */
function indented(text: string): string {
  const shown = text
    .slice(0, EXCERPT_MAX_CHARACTERS)
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .trim();
  return shown === '' ? '' : `\n    ${shown.replaceAll('\n', '\n    ')}`;
}

// A CRM's server on 127.0.0.1. What is common to all providers is here; how a provider's API looks
// is in the file of its name.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import type { z } from 'zod';
import type { connectInput } from '../../../src/features/crm/connections/schema.ts';
import type { ProviderName } from '../../../src/features/crm/providers/registry.ts';

/** What `<name>.ts` exports as `fake`. */
export interface FakeProvider {
  /** What an admin sends as `credentials` to connect an account whose secret is `token`. */
  credentialsOf(token: string): unknown;
  /** Whether the request is signed in to the account whose secret is `token`. */
  accepts(token: string, request: FakeRequest): boolean;
  /** Whether the request is for a page of deals. */
  isDealsPage(request: FakeRequest): boolean;
  /** The body of a 200; null: there is no such path. */
  answer(crm: FakeCrm, request: FakeRequest): unknown;
}

export interface FakeDeal {
  readonly id: number;
  title?: string;
  /** As the provider would write it. */
  amount?: string | null;
  status?: 'open' | 'won' | 'lost';
  lostReason?: string;
  ownerId?: number;
  modified: string;
  deleted?: boolean;
  /** Removed without a trace: not among the deleted deals. */
  purged?: boolean;
}

export interface FakeNote {
  readonly id: number;
  dealId: number;
  html: string;
  modified: string;
  /**
   * `listed`: Pipedrive still lists it, with `active_flag` false. Its documentation has that field
   * for deleted notes but does not say whether the list leaves them out.
   */
  deleted?: boolean | 'listed';
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Parsed JSON, or the fields of a form. */
  readonly body: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
}

/** Answers instead of the provider by returning true. */
export type Interceptor = (
  request: FakeRequest,
  response: ServerResponse,
) => boolean | Promise<boolean>;

export interface FakeCrm {
  readonly name: ProviderName;
  readonly url: string;
  /** The account's secret; another value makes the credentials of existing connections invalid. */
  token: string;
  /** A page has at most so many entries, even if more are asked for. */
  pageMax: number;
  /** Pages are as large as `pageMax`, even if fewer entries are asked for. */
  ignoresLimit: boolean;
  readonly deals: Map<number, FakeDeal>;
  readonly notes: Map<number, FakeNote>;
  readonly owners: Map<number, string>;
  readonly requests: FakeRequest[];
  intercept: Interceptor | null;
  put(deal: FakeDeal): void;
  /** Requests for pages of deals. */
  pages(): FakeRequest[];
  /** The input of `admin.crm.connect`. */
  connectInput(): z.input<typeof connectInput>;
}

const started: { stop(): void }[] = [];
afterAll(() => {
  for (const server of started) server.stop();
});

export async function startCrm(name: ProviderName): Promise<FakeCrm> {
  const { fake } = (await import(`./${name}.ts`)) as { fake: FakeProvider };
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  started.push({
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const crm: FakeCrm = {
    name,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'the-token',
    pageMax: 1000,
    ignoresLimit: false,
    deals: new Map(),
    notes: new Map(),
    owners: new Map(),
    requests: [],
    intercept: null,
    put: (deal) => {
      crm.deals.set(deal.id, deal);
    },
    pages: () => crm.requests.filter((request) => fake.isDealsPage(request)),
    connectInput: () => {
      const credentials = fake.credentialsOf(crm.token);
      return { provider: name, credentials, base_url: crm.url } as z.input<typeof connectInput>;
    },
  };
  server.on('request', (request, response) => void serve({ crm, fake }, request, response));
  return crm;
}

async function serve(
  { crm, fake }: { crm: FakeCrm; fake: FakeProvider },
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '', crm.url);
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  const { headers, method = '' } = incoming;
  const body = parseBody(text, headers['content-type']);
  const request: FakeRequest = {
    method,
    path: url.pathname,
    query: url.searchParams,
    body,
    headers,
  };
  crm.requests.push(request);
  if (await crm.intercept?.(request, response)) return;
  if (!fake.accepts(crm.token, request))
    return answer(response, 401, { status: 'error', message: 'invalid token', success: false });
  const found = fake.answer(crm, request);
  answer(response, found === null ? 404 : 200, found ?? { message: 'no such route' });
}

function parseBody(text: string, contentType = ''): Record<string, unknown> {
  if (contentType.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(text));
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}

/** How many entries a page has if `asked` are asked for. */
export function pageSizeOf({ pageMax, ignoresLimit }: FakeCrm, asked: number): number {
  return ignoresLimit ? pageMax : Math.min(asked, pageMax);
}

/** A number in JSON, digit for digit. */
export function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

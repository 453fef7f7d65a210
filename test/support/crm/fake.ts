// A fake CRM: a server on 127.0.0.1 that answers like a provider's API. This file has what all
// providers share; the API of each provider is in the file of its name.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import type { connectInput } from '../../../src/features/crm/connections/schema.ts';
import type { ProviderName } from '../../../src/features/crm/providers/registry.ts';
import { atEnd } from '../at-end.ts';
import { hubspot } from './hubspot.ts';
import { pipedrive } from './pipedrive.ts';

/** A new provider needs a line here. */
const FAKES: Readonly<Record<ProviderName, FakeProvider>> = { hubspot, pipedrive };

/** How the fake of one provider differs from the others. */
export interface FakeProvider {
  /** The `credentials` that an admin sends to connect an account whose secret is `token`. */
  credentialsOf(token: string): unknown;
  /** Whether the request is authenticated for the account whose secret is `token`. */
  accepts(token: string, request: FakeRequest): boolean;
  /** Whether the request asks for a page of deals. */
  isDealsPage(request: FakeRequest): boolean;
  /** The body of the 200 response; null if there is no such path. */
  answer(crm: FakeCrm, request: FakeRequest): unknown;
}

/** A deal in the CRM, the same for all providers. */
export interface FakeDeal {
  readonly id: number;
  title?: string;
  /** A decimal number, as the provider writes it in JSON. */
  amount?: string | null;
  status?: 'open' | 'won' | 'lost';
  lostReason?: string;
  ownerId?: number;
  modified: string;
  /** The time by which HubSpot's search still sorts and filters it; none: `modified`. */
  indexed?: string;
  deleted?: boolean;
  /** Removed without a trace: not even listed among the deleted deals. */
  purged?: boolean;
}

/** A note of a deal in the CRM, the same for all providers. */
export interface FakeNote {
  readonly id: number;
  dealId: number;
  html: string;
  modified: string;
  /** As in `FakeDeal`. */
  indexed?: string;
  /**
   * `listed` means that Pipedrive still lists it, with `active_flag` false. Its documentation has
   * that field for deleted notes but does not say whether the list leaves them out.
   */
  deleted?: boolean | 'listed';
}

/** A request that the CRM received. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Parsed JSON, or the fields of a form. */
  readonly body: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
}

/** Sees each request first. Returns true if it has responded, so that the provider must not. */
export type Interceptor = (
  request: FakeRequest,
  response: ServerResponse,
) => boolean | Promise<boolean>;

/** A running fake CRM; tests change its contents and settings at any time. */
export interface FakeCrm {
  readonly name: ProviderName;
  readonly url: string;
  /** The account's secret. Changing it makes the credentials of existing connections invalid. */
  token: string;
  /** The most entries of a page, even if the request asks for more. */
  pageMax: number;
  /** Whether pages have `pageMax` entries even if the request asks for fewer. */
  ignoresLimit: boolean;
  readonly deals: Map<number, FakeDeal>;
  readonly notes: Map<number, FakeNote>;
  readonly owners: Map<number, string>;
  /** Those of users that were deactivated, which HubSpot lists apart. */
  readonly archivedOwners: Map<number, string>;
  readonly requests: FakeRequest[];
  intercept: Interceptor | null;
  put(deal: FakeDeal): void;
  /** Returns the requests for pages of deals. */
  pages(): FakeRequest[];
  /** Returns the input of `admin.crm.connect` for this CRM. */
  connectInput(): z.input<typeof connectInput>;
}

/** Starts an empty CRM of this provider. It is stopped when the test file ends. */
export async function startCrm(name: ProviderName): Promise<FakeCrm> {
  const fake = FAKES[name];
  // A busy machine loads a provider's package for longer than the five seconds after which a server
  // closes an idle connection. The next call would take that one, and fail.
  const server = createServer({ keepAliveTimeout: 300_000 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
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
    archivedOwners: new Map(),
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

/** Sends a JSON response, for interceptors. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}

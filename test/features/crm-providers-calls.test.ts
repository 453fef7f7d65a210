// How each call of every provider must fail: with the documented reason, and without the
// credentials in the error.
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { FailureReason } from '../../src/features/crm/providers/errors.ts';
import {
  serializeCredentials,
  type ProviderClient,
} from '../../src/features/crm/providers/provider.ts';
import { openProvider, PROVIDER_NAMES } from '../../src/features/crm/providers/registry.ts';
import { startWith } from '../support/crm/deals.ts';
import { answer } from '../support/crm/fake.ts';

interface Failure {
  readonly what: string;
  readonly reason: FailureReason;
  readonly fail: (response: ServerResponse) => unknown;
}

const JSON_TYPE = { 'content-type': 'application/json' };

const FAILURES: readonly Failure[] = [
  { what: 'a 401', reason: 'unauthorized', fail: (response) => answer(response, 401, {}) },
  { what: 'a 403', reason: 'forbidden', fail: (response) => answer(response, 403, {}) },
  { what: 'a 429', reason: 'rate_limited', fail: (response) => answer(response, 429, {}) },
  { what: 'a 5xx', reason: 'provider_error', fail: (response) => answer(response, 503, {}) },
  { what: 'no answer in time', reason: 'timeout', fail: () => undefined },
  { what: 'an answer that never ends', reason: 'timeout', fail: trickle },
  {
    what: 'a connection that is closed without an answer',
    reason: 'unreachable',
    fail: (response) => response.destroy(),
  },
  {
    what: 'a connection that is cut in the middle of a page',
    reason: 'unreachable',
    fail: (response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': '5000' });
      response.write('{"results":[{"id":"9"', () => response.destroy());
    },
  },
  {
    what: 'a body that is not JSON',
    reason: 'invalid_response',
    fail: (response) => response.writeHead(200, JSON_TYPE).end('{"results":[{"id":"9"'),
  },
  {
    what: 'a page of HTML',
    reason: 'invalid_response',
    fail: (response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Maintenance</html>'),
  },
  {
    what: 'an answer that is too large',
    reason: 'invalid_response',
    fail: (response) =>
      answer(response, 200, { results: [], success: true, data: [], rest: 'x'.repeat(300_000) }),
  },
  {
    // Whoever it leads to would get the credentials.
    what: 'a redirect',
    reason: 'invalid_response',
    fail: (response) => answer(response, 307, {}, { location: '/elsewhere' }),
  },
  {
    what: 'JSON of another shape',
    reason: 'invalid_response',
    fail: (response) => answer(response, 200, { items: [] }),
  },
];

/** Sends the beginning of a valid JSON, byte after byte, without an end. */
function trickle(response: ServerResponse): void {
  response.writeHead(200, JSON_TYPE);
  const endTrickling = systemClock.every(50, () => response.write(' '));
  response.on('close', endTrickling);
}

const OF_A_LIVE_TEAM = { teamId: 'team_a', at: new Date() };

/** A CRM that answers gets more time than it needs on any machine. */
const TIMEOUT_MS = { silent: 300, answering: 60_000 } as const;

describe.each(PROVIDER_NAMES)('%s: every call', (name) => {
  const SECRET = 'the-secret-0123456789';

  test.each(FAILURES)(
    'answered by $what fails as $reason, without the credentials in the error',
    async ({ reason, fail }) => {
      const crm = await startWith(name);
      crm.token = SECRET;
      crm.intercept = (_request, response) => {
        fail(response);
        return true;
      };
      const storedCredentials = serializeCredentials(crm.connectInput().credentials);
      const connection = {
        ...OF_A_LIVE_TEAM,
        provider: name,
        storedCredentials,
        baseUrl: crm.url,
        readsNotes: true,
      };
      const timeoutMs = TIMEOUT_MS[reason === 'timeout' ? 'silent' : 'answering'];
      const settings = { timeoutMs, allowBaseUrl: true, answerMaxBytes: 200_000 };
      const { lists } = await openProvider(settings, connection);
      const calls: ((client: ProviderClient) => Promise<unknown>)[] = [
        (client) => client.check(),
        (client) => client.listOwners(),
        ...lists.map(
          (list) => (client: ProviderClient) =>
            client.readPage(list, { since: null, cursor: null }),
        ),
      ];
      expect(calls.length).toBeGreaterThan(3);
      for (const call of calls) {
        const client = await openProvider(settings, connection);
        const error = await call(client).catch((thrown: unknown) => thrown);
        client.close();
        expect(error).toMatchObject({ name: 'ProviderError', reason });
        expect(inspect(error, { depth: null, showHidden: true })).not.toContain(SECRET);
      }
      expect(crm.requests.filter(({ path }) => path === '/elsewhere')).toEqual([]);
    },
  );
});

test.each(PROVIDER_NAMES)(
  '%s: an admin who connects waits for three calls at most',
  async (name) => {
    const crm = await startWith(name);
    crm.pageMax = 1;
    for (let n = 0; n < 10; n += 1) crm.owners.set(1000 + n, `owner${n}@crm.example`);
    const storedCredentials = serializeCredentials(crm.connectInput().credentials);
    const client = await openProvider(
      { timeoutMs: 60_000, allowBaseUrl: true },
      { ...OF_A_LIVE_TEAM, provider: name, storedCredentials, baseUrl: crm.url, readsNotes: true },
    );
    await client.check();
    client.close();
    expect(crm.requests.length).toBe(3);
  },
);

describe('a list without an end', () => {
  const open = async (name: (typeof PROVIDER_NAMES)[number], body: (asked: number) => object) => {
    const crm = await startWith(name);
    crm.intercept = (_request, response) => {
      answer(response, 200, body(crm.requests.length));
      return true;
    };
    const storedCredentials = serializeCredentials(crm.connectInput().credentials);
    const client = await openProvider(
      { timeoutMs: 60_000, allowBaseUrl: true },
      {
        ...OF_A_LIVE_TEAM,
        provider: name,
        storedCredentials,
        baseUrl: crm.url,
        readsNotes: true,
      },
    );
    return { crm, client };
  };
  const refused = { name: 'ProviderError', reason: 'invalid_response' };

  test.each([
    { what: 'whose cursor comes again', after: () => 'same', asked: 2 },
    { what: 'with a cursor for ever', after: (asked: number) => `after ${asked}`, asked: 200 },
  ])("of HubSpot's users, $what, is refused", async ({ after, asked }) => {
    const { crm, client } = await open('hubspot', (count) => ({
      results: [],
      // It gives up by itself at last, so that a client without a limit fails this test.
      ...(count < 300 && { paging: { next: { after: after(count) } } }),
    }));
    await expect(client.listOwners()).rejects.toMatchObject(refused);
    expect(crm.requests).toHaveLength(asked);
    client.close();
  });

  test.each([
    { name: 'hubspot', list: 'archived' },
    { name: 'pipedrive', list: 'deals' },
  ] as const)('of $name, whose pages lead back to an earlier one, is refused', async (row) => {
    const { client } = await open(row.name, (count) => ({
      results: [],
      paging: { next: { after: `after ${count % 2}` } },
      success: true,
      data: [],
      additional_data: { next_cursor: `after ${count % 2}` },
    }));
    let cursor: string | null = null;
    const readNext = async (): Promise<void> => {
      cursor = (await client.readPage(row.list, { since: null, cursor })).next;
    };
    await readNext();
    await readNext();
    await expect(readNext()).rejects.toMatchObject({ ...refused, refusedPlace: true });
    client.close();
  });
});

// Nobody could read on from there, in any run.
test.each(['{"since":"2026-11-20T11:00:00.000Z"}', '-1', ' ', 'x'])(
  'HubSpot: a place that cannot be read (%j) is refused, so that the round begins anew',
  async (cursor) => {
    const crm = await startWith('hubspot');
    const storedCredentials = serializeCredentials(crm.connectInput().credentials);
    const client = await openProvider(
      { timeoutMs: 60_000, allowBaseUrl: true },
      {
        ...OF_A_LIVE_TEAM,
        provider: 'hubspot',
        storedCredentials,
        baseUrl: crm.url,
        readsNotes: true,
      },
    );
    await expect(client.readPage('deals_by_id', { since: null, cursor })).rejects.toMatchObject({
      reason: 'invalid_response',
      refusedPlace: true,
    });
    expect(crm.requests).toEqual([]);
    client.close();
  },
);

// How a run must fail with every provider: with the documented reason, and without losing what it
// has read before. `crm-providers-calls.test.ts` has more ways in which a CRM may fail.
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { PROVIDER_NAMES } from '../../src/features/crm/providers/registry.ts';
import { useCrmSync } from '../support/crm-sync.ts';
import { ago, expected, makeDeals, MINUTE, NOW, startWith } from '../support/crm/deals.ts';
import { answer, type FakeCrm, type FakeRequest } from '../support/crm/fake.ts';
import { userId } from '../support/seed.ts';

const { api, clock, connect, connectionRow, events, rows, slept, stored, sync, syncLater } =
  useCrmSync();

describe.each(PROVIDER_NAMES)('%s: connecting', (name) => {
  test.each([
    { what: 'invalid credentials', field: 'credentials', status: 401 },
    { what: 'insufficient rights', field: 'credentials', status: 403 },
    { what: 'a CRM that does not work', field: 'provider', status: 503 },
  ])('refuses $what and stores nothing', async ({ field, status }) => {
    const crm = await startWith(name);
    crm.intercept = (_request, response) => {
      answer(response, status, {});
      return true;
    };
    const refused = await connect(crm).catch((error: unknown) => error);
    expect(refused).toMatchObject({ data: { problem: { code: 'validation_error', field } } });
    expect(await rows('select id from crm_connection')).toEqual([]);
  });
});

describe.each(PROVIDER_NAMES)('%s: a failure', (name) => {
  const failAtPage = (
    crm: FakeCrm,
    page: number,
    fail: (response: ServerResponse) => unknown,
  ): void => {
    crm.intercept = (request, response) => {
      if (crm.pages().length !== page || crm.pages().at(-1) !== request) return false;
      fail(response);
      return true;
    };
  };

  test.each([
    {
      what: 'invalid credentials',
      reason: 'unauthorized',
      fail: (response: ServerResponse) => answer(response, 401, {}),
    },
    {
      what: 'a 5xx',
      reason: 'provider_error',
      fail: (response: ServerResponse) => answer(response, 503, {}),
    },
    {
      what: 'a connection that is cut in the middle of a page',
      reason: 'unreachable',
      fail: (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
        response.write('{"results":[{"id":"9"', () => response.destroy());
      },
    },
    {
      what: 'a body that is no JSON',
      reason: 'invalid_response',
      fail: (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
    },
  ])(
    'by $what keeps the pages before it; the next run continues after them',
    async ({ reason, fail }) => {
      const crm = await startWith(name);
      const id = await connect(crm);
      failAtPage(crm, 2, fail);
      expect(await sync(id)).toBe('failed');
      expect(await stored(id)).toEqual(expected(crm).slice(0, 3));
      expect(await events()).toEqual([
        { team_id: 'team_a', connection_id: id, provider: name, reason },
      ]);
      const [, second] = crm.pages();
      crm.intercept = null;
      crm.requests.length = 0;
      clock.advance(MINUTE);
      expect(await sync(id)).toBe('done');
      expect(await stored(id)).toEqual(expected(crm));
      expect(crm.pages()[0]).toMatchObject({ body: second?.body });
      expect(String(crm.pages()[0]?.query)).toBe(String(second?.query));
    },
  );

  // The first run stops before it: whatever the second one asks for is not answered.
  test('by silence keeps the pages before it; the next run continues after them', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    const stop = new AbortController();
    crm.intercept = () => {
      if (crm.pages().length === 1) stop.abort();
      return false;
    };
    expect(await sync(id, { signal: stop.signal })).toBe('yielded');
    crm.intercept = () => true;
    expect(await sync(id, { settings: { timeoutMs: 100, allowBaseUrl: true } })).toBe('failed');
    expect(await stored(id)).toEqual(expected(crm).slice(0, 3));
    expect(await events()).toMatchObject([{ reason: 'timeout' }]);
    crm.intercept = null;
    crm.requests.length = 0;
    clock.advance(MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect(crm.pages()).toHaveLength(2);
  });

  // The run that has read the page before it asks for it, or the next one, where it goes on.
  test.each([
    [400, []],
    [410, []],
    [400, [503]],
  ])(
    'by a cursor that the CRM no longer knows (%i after %j) starts the round again',
    async (status, before) => {
      const crm = await startWith(name);
      const id = await connect(crm);
      const statuses = [...before, status];
      for (const [run, refusal] of statuses.entries()) {
        failAtPage(crm, 2 + run, (response) => answer(response, refusal, {}));
        expect(await sync(id)).toBe('failed');
        clock.advance(run * MINUTE + MINUTE);
      }
      expect((await events()).at(-1)).toMatchObject({ reason: 'invalid_response' });
      const [first] = crm.pages();
      crm.intercept = null;
      crm.requests.length = 0;
      expect(await sync(id)).toBe('done');
      expect(await stored(id)).toEqual(expected(crm));
      expect(crm.pages()[0]).toMatchObject({ body: first?.body });
      expect(String(crm.pages()[0]?.query)).toBe(String(first?.query));
    },
  );

  test('of our own during a page stores nothing of it and is reported as internal', async () => {
    const crm = await startWith(
      name,
      makeDeals(7, (index) => ({ title: index === 4 ? 'poison' : `Deal ${index + 1}` })),
    );
    const id = await connect(crm);
    await api().db.pool.query(
      `alter table crm_deal add constraint no_poison check (title <> 'poison')`,
    );
    await expect(sync(id)).rejects.toThrow(/no_poison/);
    expect(await stored(id)).toEqual(expected(crm).slice(0, 3));
    expect(await events()).toMatchObject([{ reason: 'internal' }]);
    await api().db.pool.query(`alter table crm_deal drop constraint no_poison`);
    clock.advance(MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('raises an event at each attempt, and backs off up to 15 minutes', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    crm.token = 'another';
    const waits: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      expect(await sync(id)).toBe('failed');
      const next = new Date(String((await connectionRow(id))['next_sync_at']));
      waits.push((next.getTime() - clock.now().getTime()) / MINUTE);
      clock.set(next);
    }
    expect(waits).toEqual([1, 2, 4, 8, 15, 15]);
    const failed = {
      team_id: 'team_a',
      connection_id: id,
      provider: name,
      reason: 'unauthorized',
    };
    expect(await events()).toEqual(waits.map(() => failed));
    crm.token = 'the-token';
    expect(await sync(id)).toBe('done');
    expect(await connectionRow(id)).toMatchObject({ failure_streak: 0, last_error: null });
    crm.token = 'another';
    await syncLater(id);
    expect(await events()).toHaveLength(7);
    expect(
      (
        await api().db.pool.query(
          `select action from audit_log where action = 'crm_connection.sync_failed'`,
        )
      ).rows,
    ).toHaveLength(7);
  });

  test('is not a rate limit: a short one is waited for, a long one postpones the run', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    failAtPage(crm, 2, (response) =>
      answer(response, 429, { message: 'limit' }, { 'retry-after': '3' }),
    );
    expect(await sync(id)).toBe('done');
    expect(slept).toEqual([3000]);
    expect(await stored(id)).toEqual(expected(crm));

    crm.put({ id: 30, amount: '1', modified: ago(-10) });
    for (let more = 31; more < 37; more += 1)
      crm.put({ id: more, amount: '1', modified: ago(-10 - (more - 30)) });
    crm.requests.length = 0;
    failAtPage(crm, 2, (response) =>
      answer(response, 429, { message: 'limit' }, { 'retry-after': '120' }),
    );
    clock.advance(30 * MINUTE);
    expect(await sync(id)).toBe('yielded');
    expect(await events()).toEqual([]);
    clock.advance(119_000);
    expect(await sync(id)).toBe('skipped');
    clock.advance(1_000);
    crm.intercept = null;
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('is no short limit that comes again and again either: it postpones the run', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    crm.intercept = (_request, response) => {
      if (crm.pages().length < 2) return false;
      answer(response, 429, { message: 'limit' }, { 'retry-after': '3' });
      return true;
    };
    const sleep = async (ms: number): Promise<void> => {
      slept.push(ms);
      // A run that has no end must fail here, not hang.
      if (slept.length > 20) crm.intercept = null;
    };
    expect(await sync(id, { sleep })).toBe('yielded');
    expect(slept).toEqual([3000, 3000, 3000, 3000, 3000]);
    expect(await events()).toEqual([]);
    crm.intercept = null;
    clock.advance(3_000);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('is not waited for by a worker that stops, which postpones the run', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    const stop = new AbortController();
    failAtPage(crm, 2, (response) => {
      stop.abort();
      answer(response, 429, { message: 'limit' }, { 'retry-after': '3' });
    });
    expect(await sync(id, { signal: stop.signal })).toBe('yielded');
    expect(slept).toEqual([]);
    crm.intercept = null;
    clock.advance(3_000);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test.each([
    { what: 'the first call', isLimited: () => true, calls: 1 },
    { what: 'the second page', isLimited: (crm: FakeCrm) => crm.pages().length > 1, calls: 3 },
  ])('is not asked for again by a worker that stops at $what', async ({ isLimited, calls }) => {
    const crm = await startWith(name);
    const id = await connect(crm);
    const stop = new AbortController();
    crm.intercept = (_request, response) => {
      if (!isLimited(crm)) return false;
      answer(response, 429, { message: 'limit' }, { 'retry-after': '3' });
      return true;
    };
    const sleep = async (): Promise<void> => stop.abort();
    expect(await sync(id, { signal: stop.signal, sleep })).toBe('yielded');
    const isOfFormerOwners = ({ query }: FakeRequest) => query.get('archived') === 'true';
    expect(crm.requests.filter((request) => !isOfFormerOwners(request))).toHaveLength(calls);
    expect(await events()).toEqual([]);
    expect(await connectionRow(id)).toMatchObject({ failure_streak: 0, last_error: null });
    crm.intercept = null;
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test("a limit at the first call is a failure, which respects the CRM's Retry-After", async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    crm.intercept = (_request, response) => {
      answer(response, 429, { message: 'limit' }, { 'retry-after': '3600' });
      return true;
    };
    expect(await sync(id)).toBe('failed');
    expect(await events()).toMatchObject([{ reason: 'rate_limited' }]);
    expect((await connectionRow(id))['next_sync_at']).toBe(
      new Date(NOW.getTime() + 60 * MINUTE).toISOString(),
    );
  });
});

test.each([
  ['the search', 'SECONDLY', 1_000],
  ['the account', 'TEN_SECONDLY_ROLLING', 10_000],
])('HubSpot: the limit of %s is waited for as long as it lasts', async (_of, policyName, ms) => {
  const crm = await startWith('hubspot');
  const id = await connect(crm);
  crm.intercept = (_request, response) => {
    if (crm.pages().length !== 2) return false;
    crm.intercept = null;
    answer(response, 429, { status: 'error', errorType: 'RATE_LIMIT', policyName });
    return true;
  };
  expect(await sync(id)).toBe('done');
  expect(slept).toEqual([ms]);
});

// The first is a time in seconds since 1970, which other CRMs write.
test.each(['1764370000', '1e300', '1e306'])(
  'Pipedrive: a limit of %s seconds puts the next run off for a day at most',
  async (reset) => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    crm.intercept = (_request, response) => {
      if (crm.pages().length !== 2) return false;
      answer(response, 429, {}, { 'x-ratelimit-reset': reset });
      return true;
    };
    expect(await sync(id)).toBe('yielded');
    expect((await connectionRow(id))['next_sync_at']).toBe(ago(-24 * 60));
  },
);

const DEALS_SEARCH = 'POST /crm/v3/objects/deals/search';
const DELETED_DEALS = 'GET /crm/v3/objects/deals';
const PIPEDRIVE_DEALS = 'GET /api/v2/deals';

// Our database holds none of these as an id. Changed, they would be other ids.
test.each([
  ['hubspot', 'deal', DEALS_SEARCH, (id: string) => ({ results: [{ id, properties: {} }] })],
  ['hubspot', 'deleted deal', DELETED_DEALS, (id: string) => ({ results: [{ id }] })],
  ['hubspot', 'note', 'POST /crm/v3/objects/notes/search', hubspotNote],
  ['hubspot', 'deal of a note', 'POST /crm/v3/associations/notes/deals/batch/read', noteOf],
  [
    'hubspot',
    'next page',
    DELETED_DEALS,
    (after: string) => ({ results: [], paging: { next: { after } } }),
  ],
  ['pipedrive', 'deal', PIPEDRIVE_DEALS, (id: string) => ({ success: true, data: [{ id }] })],
  [
    'pipedrive',
    'deleted deal',
    PIPEDRIVE_DEALS,
    (id: string) => ({ success: true, data: [{ id, is_deleted: true }] }),
  ],
  [
    'pipedrive',
    'deal of a note',
    'GET /v1/notes',
    (deal_id: string) => ({
      success: true,
      data: [{ id: 1, deal_id, content: 'Einwand: Zu teuer' }],
    }),
  ],
  [
    'pipedrive',
    'next page',
    PIPEDRIVE_DEALS,
    (next_cursor: string) => ({ success: true, data: [], additional_data: { next_cursor } }),
  ],
] as const)("%s: nonsense as the id of a %s is the CRM's fault", async (name, _of, call, body) => {
  const crm = await startWith(name);
  crm.notes.set(1, { id: 1, dealId: 1, html: 'Einwand: Zu teuer', modified: ago(1) });
  const id = await connect(crm, 'Einwand:');
  const nonsense = ['a\0b', 'a\ud800b', 'x'.repeat(4000), ''];
  for (const text of nonsense) {
    crm.intercept = ({ method, path }, response) => {
      if (`${method} ${path}` !== call) return false;
      answer(response, 200, body(text));
      return true;
    };
    expect(await sync(id)).toBe('failed');
    clock.advance(16 * MINUTE);
  }
  expect(await events()).toMatchObject(nonsense.map(() => ({ reason: 'invalid_response' })));
  crm.intercept = null;
  expect(await sync(id)).toBe('done');
  expect(await stored(id)).toEqual(expected(crm));
});

const FAILED = { success: false, error: 'try again', data: null, additional_data: null };
const DAY = 24 * 60 * MINUTE;

// The sweep at the end of a full round removes whatever the lists before it did not have.
test.each([
  ['pipedrive', PIPEDRIVE_DEALS, FAILED],
  ['pipedrive', PIPEDRIVE_DEALS, { success: true, data: null }],
  ['pipedrive', 'GET /api/v2/deals/archived', FAILED],
  ['pipedrive', 'GET /v1/notes', FAILED],
  ['pipedrive', 'GET /v1/notes', unfinishedNotes([{ id: 9, content: 'Einwand: Zu teuer' }])],
  ['pipedrive', 'GET /v1/notes', unfinishedNotes(null)],
  ['pipedrive', 'GET /v1/users', FAILED],
  ['hubspot', DEALS_SEARCH, { status: 'error', message: 'try again' }],
  ['hubspot', DEALS_SEARCH, { results: [], paging: { next: { after: '3' } } }],
  ['hubspot', DELETED_DEALS, { status: 'error', message: 'try again' }],
] as const)('%s: no list ends, and nothing is removed, by %s → %j', async (name, call, body) => {
  const crm = await startWith(
    name,
    makeDeals(7, () => ({ ownerId: 70 })),
  );
  crm.owners.set(70, 'member@a.test');
  crm.notes.set(1, { id: 1, dealId: 1, html: 'Einwand: Zu teuer', modified: ago(1) });
  const id = await connect(crm, 'Einwand:');
  const objections = (): Promise<unknown[]> =>
    rows(`select o.text, d.owner_user_id as owner
       from crm_objection o
       join crm_deal d on d.team_id = o.team_id and d.id = o.deal_id`);
  expect(await sync(id)).toBe('done');
  const before = await objections();
  expect(before).toHaveLength(1);

  clock.advance(DAY);
  crm.intercept = ({ method, path }, response) => {
    if (`${method} ${path}` !== call) return false;
    answer(response, 200, body);
    return true;
  };
  expect(await sync(id)).toBe('failed');
  expect(await events()).toMatchObject([{ reason: 'invalid_response' }]);
  expect(await stored(id)).toEqual(expected(crm));
  expect(await objections()).toEqual(before);
});

test('HubSpot: deals are read once a day even if the token may no longer read notes', async () => {
  const crm = await startWith('hubspot');
  const id = await connect(crm, 'Einwand:');
  await sync(id);
  crm.intercept = ({ path }, response) => {
    if (!path.includes('/notes/')) return false;
    answer(response, 403, {});
    return true;
  };
  clock.advance(DAY);
  expect(await sync(id)).toBe('failed');
  crm.put({ id: 2, title: 'Changed', modified: clock.now().toISOString() });
  // The round goes on where it was refused, until it is a day old.
  clock.advance(DAY - 1);
  expect(await sync(id)).toBe('failed');
  expect(await stored(id)).not.toEqual(expected(crm));
  clock.advance(2 * MINUTE);
  expect(await sync(id)).toBe('failed');
  clock.advance(5 * MINUTE);
  crm.requests.length = 0;
  expect(await sync(id)).toBe('failed');
  expect(await stored(id)).toEqual(expected(crm));
  expect(crm.pages()).toHaveLength(3);
  expect(await connectionRow(id)).toMatchObject({ last_error: 'forbidden', failure_streak: 4 });
  expect((await events()).at(-1)).toMatchObject({ reason: 'forbidden' });
});

test('HubSpot: a token that may read notes, but not their deals, is not sufficient', async () => {
  const crm = await startWith('hubspot');
  crm.notes.set(1, { id: 1, dealId: 1, html: 'Einwand: Zu teuer', modified: ago(1) });
  crm.intercept = ({ path }, response) => {
    if (!path.startsWith('/crm/v3/associations/')) return false;
    answer(response, 403, {});
    return true;
  };
  const problem = { code: 'validation_error', field: 'credentials' };
  await expect(connect(crm, 'Einwand:')).rejects.toMatchObject({ data: { problem } });
  // Without notes it is.
  expect(await connect(crm)).toMatch(/^crm_/);
});

// The next page would leave some out, and the sweep would remove those.
test.each([
  ['are those of the page before', ['1', '2', '3']],
  ['fall', ['9', '8']],
  ['come twice', ['5', '5']],
])('HubSpot: a page whose ids %s begins the round anew', async (_what, ids) => {
  const crm = await startWith('hubspot');
  const id = await connect(crm);
  await sync(id);
  clock.advance(DAY);
  crm.requests.length = 0;
  crm.intercept = (_request, response) => {
    if (crm.pages().length !== 2) return false;
    const results = ids.map((dealId) => ({ id: dealId, properties: {} }));
    answer(response, 200, { results, paging: { next: { after: '200' } } });
    return true;
  };
  expect(await sync(id)).toBe('failed');
  expect(await events()).toMatchObject([{ reason: 'invalid_response' }]);
  expect(await stored(id)).toEqual(expected(crm));
  const [first] = crm.pages();
  crm.intercept = null;
  crm.requests.length = 0;
  clock.advance(MINUTE);
  expect(await sync(id)).toBe('done');
  expect(crm.pages()[0]).toMatchObject({ body: first?.body });
});

// They were read by modification time, from where some deals may have been skipped.
test.each([
  '{"since":"2026-11-20T11:00:00.000Z"}',
  '{"at":"2026-11-20T11:00:00.000Z","afterId":"4"}',
])(
  'HubSpot: a round that the release before has left at %s begins anew, and nothing fails',
  async (cursor) => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const round = { startedAt: ago(1), full: true, list: 'deals', cursor, seen: { deals: ago(1) } };
    const state = { since: { deals: ago(1) }, fullAt: ago(5), round };
    await rows('update crm_connection set sync_state = $1', [state]);
    // After its first page it leaves the lane of short runs.
    expect(await sync(id)).toBe('yielded');
    expect(await sync(id)).toBe('done');
    expect(await events()).toEqual([]);
    expect(await stored(id)).toEqual(expected(crm));
  },
);

function unfinishedNotes(data: object[] | null): object {
  return {
    success: true,
    data,
    additional_data: { pagination: { more_items_in_collection: true } },
  };
}

function hubspotNote(id: string): object {
  const properties = { hs_note_body: 'Einwand: Zu teuer', hs_lastmodifieddate: ago(1) };
  return { results: [{ id, properties }] };
}

function noteOf(id: string): object {
  return { results: [{ from: { id: '1' }, to: [{ id, type: 'note_to_deal' }] }] };
}

test.each(PROVIDER_NAMES)("%s: an owner's email is kept without what is no text", async (name) => {
  const crm = await startWith(
    name,
    makeDeals(1, () => ({ ownerId: 70 })),
  );
  crm.owners.set(70, 'member\0@a.test');
  const id = await connect(crm);
  expect(await sync(id)).toBe('done');
  expect(await rows('select owner_user_id as owner from crm_deal')).toEqual([
    { owner: userId('a', 'member') },
  ]);
});

import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/db/client.ts';
import { decimalOf } from '../../src/features/crm/providers/values.ts';
import { scheduleDue } from '../../src/features/crm/sync/jobs.ts';
import { syncConnection, type SyncDependencies } from '../../src/features/crm/sync/sync-connection.ts';
import { startTestApi, startWorkerProcess, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';
import { answer, startCrm, type FakeCrm, type FakeDeal, type ProviderName } from '../support/crm-servers.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const MINUTE = 60_000;

let api: TestApi;
let clock: ReturnType<typeof fixedClock>;
let slept: number[];

beforeEach(async () => {
  clock = fixedClock(NOW);
  slept = [];
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    seed: makeSeed([
      makeTeam('a', {
        crm_connections: [],
        crm_deals: [],
        crm_objections: [],
        privacy: { member_detail_enabled: true },
      }),
    ]),
  });
});

/** A time of modification, so many minutes before the tests' now. */
const ago = (minutes: number): string => new Date(NOW.getTime() - minutes * MINUTE).toISOString();

function makeDeals(count: number, fields: (index: number) => Partial<FakeDeal> = () => ({})): FakeDeal[] {
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    amount: `${index + 1}.50`,
    modified: ago(1000 - index),
    ...fields(index),
  }));
}

async function startWith(name: ProviderName, deals: readonly FakeDeal[] = makeDeals(7)): Promise<FakeCrm> {
  const crm = await startCrm(name);
  crm.pageMax = 3;
  for (const deal of deals) crm.put(deal);
  return crm;
}

/** By the tests' clock, which the API goes by. */
async function signIn(): Promise<ReturnType<typeof appAs>> {
  return appAs(api, await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' }, clock.now()));
}

async function connect(crm: FakeCrm, marker?: string): Promise<string> {
  const app = await signIn();
  const { id } = await app.admin.crm.connect.mutate({
    provider: crm.name,
    credentials: crm.token,
    base_url: crm.url,
    ...(marker === undefined ? {} : { objection_marker: marker }),
  });
  crm.requests.length = 0;
  return id;
}

function sync(connectionId: string, overrides: Partial<SyncDependencies> = {}): ReturnType<typeof syncConnection> {
  const dependencies: SyncDependencies = {
    db: api.db,
    clock,
    secrets: { current: TEST_APP_SECRET, previous: null },
    settings: { timeoutMs: 5_000, allowBaseUrl: true },
    random: () => 0.5,
    sleep: async (ms) => {
      slept.push(ms);
    },
    ...overrides,
  };
  return syncConnection(dependencies, { teamId: 'team_a', connectionId });
}

/** The next regular round. */
function syncLater(connectionId: string): ReturnType<typeof syncConnection> {
  clock.advance(16 * MINUTE);
  return sync(connectionId);
}

const DEALS = `select external_id::int as id, title, amount, outcome, lost_reason from crm_deal where connection_id = $1 order by external_id::int`;

async function stored(connectionId: string): Promise<unknown[]> {
  return (await api.db.pool.query(DEALS, [connectionId])).rows;
}

/** What the provider has, as it is to be stored. */
function expected(crm: FakeCrm): unknown[] {
  const there = [...crm.deals.values()].filter((deal) => !deal.deleted && !deal.purged);
  return there
    .toSorted((a, b) => a.id - b.id)
    .map(({ id, title = `Deal ${id}`, amount = null, status: outcome = 'open', lostReason }) => ({
      id,
      title,
      amount,
      outcome,
      lost_reason: outcome === 'lost' ? (lostReason ?? null) : null,
    }));
}

async function connectionRow(id: string): Promise<Record<string, unknown>> {
  const { rows } = await api.db.pool.query(`select * from crm_connection where id = $1`, [id]);
  return rows[0] as Record<string, unknown>;
}

async function events(): Promise<unknown[]> {
  return (
    await api.db.pool.query(`select data from event where type = 'crm.sync.failed' order by created_at, id`)
  ).rows.map((row: { data: unknown }) => row.data);
}

async function list(path: string): Promise<Record<string, unknown>[]> {
  const { body } = await api.call(api.key('team_a'), 'GET', path);
  return (body as { data: Record<string, unknown>[] }).data;
}

describe.each(['hubspot', 'pipedrive'] as const)('%s: a round', (name) => {
  test('brings every deal of every page, and shows them over the API', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect(await list('/crm/deals')).toHaveLength(7);
    expect(await connectionRow(id)).toMatchObject({
      failure_streak: 0,
      last_error: null,
      last_synced_at: NOW.toISOString(),
      next_sync_at: new Date(NOW.getTime() + 15 * MINUTE).toISOString(),
      sync_token: null,
    });
  });

  test('brings all of more deals than a page holds that were modified at one moment', async () => {
    const crm = await startWith(
      name,
      makeDeals(11, (index) => (index < 9 ? { modified: ago(500) } : {})),
    );
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('then asks only for what was modified, and brings changes, new deals and deletions', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    await sync(id);
    const ids = new Map((await list('/crm/deals')).map((deal) => [deal['external_id'], deal['id']]));
    crm.put({ id: 2, title: 'Changed', amount: '99.90', status: 'won', modified: ago(-3) });
    crm.put({ id: 20, amount: null, modified: ago(-4) });
    for (const gone of [3, 4, 5, 6]) crm.put({ id: gone, modified: ago(-5), deleted: true });
    crm.requests.length = 0;
    expect(await syncLater(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect(crm.pages().length).toBeLessThan(5);
    const changed = (await list('/crm/deals')).find((deal) => deal['external_id'] === '2');
    expect(changed).toMatchObject({ id: ids.get('2'), outcome: 'won' });
    crm.put({ id: 3, title: 'Restored', modified: ago(-17) });
    await syncLater(id);
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('misses no deal when one changes between two pages', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    crm.intercept = () => {
      if (crm.pages().length === 2) crm.put({ id: 1, title: 'Changed meanwhile', amount: '5', modified: ago(0.1) });
      return false;
    };
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('removes once a day what was purged without a trace', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    await sync(id);
    crm.put({ id: 5, modified: ago(-1), purged: true });
    await syncLater(id);
    expect(await stored(id)).toHaveLength(7);
    clock.advance(24 * 60 * MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('keeps amounts digit for digit', async () => {
    const amounts = ['12345678901234567890.12', '0.1', '9007199254740993', '0.30000000000000004', '1e21', '-5.00'];
    const crm = await startWith(
      name,
      makeDeals(6, (index) => ({ amount: amounts[index] ?? null })),
    );
    const id = await connect(crm);
    await sync(id);
    const texts = (await stored(id)).map((row) => (row as { amount: string }).amount);
    expect(texts).toEqual([...amounts.slice(0, 4), '1000000000000000000000', '-5.00']);
  });

  test('matches owners to active members by email', async () => {
    const crm = await startWith(
      name,
      makeDeals(3, (index) => ({ ownerId: 70 + index })),
    );
    const { rows } = await api.db.pool.query(
      `select email from member where team_id = 'team_a' and id = 'mem_a_member'`,
    );
    crm.owners.set(70, (rows[0] as { email: string }).email.toUpperCase());
    crm.owners.set(71, 'nobody@elsewhere.test');
    const id = await connect(crm);
    await sync(id);
    const owners = (await list('/crm/deals')).toSorted((a, b) => Number(a['external_id']) - Number(b['external_id']));
    expect(owners.map((deal) => deal['owner_user_id'])).toEqual([userId('a', 'member'), null, null]);
  });

  test('makes objections of reasons for a loss, and of notes that begin with the marker', async () => {
    const crm = await startWith(name, [
      { id: 1, status: 'lost', lostReason: 'Das ist uns zu teuer', modified: ago(90) },
      { id: 2, status: 'lost', modified: ago(80) },
      { id: 3, modified: ago(70) },
    ]);
    crm.notes.set(5, {
      id: 5,
      dealId: 3,
      html: '<p>einwand: They have a better offer from a competitor</p>',
      modified: ago(60),
    });
    crm.notes.set(6, { id: 6, dealId: 3, html: '<p>Call on Monday</p>', modified: ago(50) });
    crm.notes.set(7, { id: 7, dealId: 2, html: 'Einwand:&nbsp;kein Bedarf &amp; keine Zeit', modified: ago(40) });
    crm.notes.set(8, { id: 8, dealId: 2, html: 'Einwand:', modified: ago(30) });
    const id = await connect(crm, 'Einwand:');
    await sync(id);
    const told = async () =>
      (await list('/crm/objections'))
        .map(({ category, text, lang }) => ({ category, text, lang }))
        .toSorted((a, b) => (String(a.text) < String(b.text) ? -1 : 1));
    expect(await told()).toEqual([
      { category: 'price', text: 'Das ist uns zu teuer', lang: 'de' },
      { category: 'competitor', text: 'They have a better offer from a competitor', lang: 'en' },
      { category: 'need', text: 'kein Bedarf & keine Zeit', lang: 'de' },
    ]);
    crm.put({ id: 1, status: 'open', modified: ago(-1) });
    crm.notes.set(5, { id: 5, dealId: 3, html: 'No objection any more', modified: ago(-2) });
    await syncLater(id);
    expect(await told()).toEqual([{ category: 'need', text: 'kein Bedarf & keine Zeit', lang: 'de' }]);
    crm.notes.set(7, { id: 7, dealId: 2, html: '', modified: ago(-2), deleted: true });
    clock.advance(24 * 60 * MINUTE);
    await sync(id);
    expect(await told()).toEqual([]);
  });
});

describe.each(['hubspot', 'pipedrive'] as const)('%s: a deal that the CRM shows late', (name) => {
  test('is brought when it was modified up to five minutes before the last round began', async () => {
    const crm = await startWith(name);
    crm.put({ id: 8, modified: ago(0) });
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    crm.put({ id: 20, modified: ago(5) });
    crm.put({ id: 21, modified: ago(0.5) });
    crm.requests.length = 0;
    expect(await syncLater(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    // Only the overlap is read once more.
    expect(crm.pages()).toHaveLength(1);
  });
});

describe('a note that is deleted in Pipedrive', () => {
  const NOTES = [
    { id: 5, text: 'zu teuer' },
    { id: 6, text: 'kein Bedarf' },
  ];

  /** Two accounts whose deals and notes have the same ids, each synchronized once. */
  async function connectTwo() {
    const accounts = [];
    for (const account of ['one', 'two']) {
      const crm = await startWith('pipedrive', [{ id: 1, modified: ago(90) }]);
      for (const { id, text } of NOTES)
        crm.notes.set(id, { id, dealId: 1, html: `Einwand: ${text} (${account})`, modified: ago(60) });
      const id = await connect(crm, 'Einwand:');
      await sync(id);
      accounts.push({ id, crm });
    }
    const [one] = accounts;
    if (!one) throw new Error('no account');
    return one;
  }
  const told = async () =>
    (await list('/crm/objections'))
      .map(({ id, text }) => ({ id, text }))
      .toSorted((a, b) => (String(a.text) < String(b.text) ? -1 : 1));
  const textsOf = (objections: { text: unknown }[]) => objections.map(({ text }) => text);

  test('takes its objection with it at the next round where it is listed as deleted, and no other', async () => {
    const { id, crm } = await connectTwo();
    const before = await told();
    expect(textsOf(before)).toEqual(['kein Bedarf (one)', 'kein Bedarf (two)', 'zu teuer (one)', 'zu teuer (two)']);
    for (const note of crm.notes.values()) note.modified = ago(-2);
    crm.notes.set(5, { id: 5, dealId: 1, html: 'Einwand: zu teuer (one)', modified: ago(-2), deleted: 'listed' });
    expect(await syncLater(id)).toBe('done');
    expect(await told()).toEqual(before.filter(({ text }) => text !== 'zu teuer (one)'));
  });

  test.each([
    ['no longer listed', true],
    ['listed with the time of its last change', 'listed'],
  ] as const)('and %s takes its objection with it once a day, and no other', async (_how, deleted) => {
    const { id, crm } = await connectTwo();
    const before = await told();
    crm.notes.set(5, { id: 5, dealId: 1, html: 'Einwand: zu teuer (one)', modified: ago(60), deleted });
    clock.advance(24 * 60 * MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await told()).toEqual(before.filter(({ text }) => text !== 'zu teuer (one)'));
  });
});

describe.each(['hubspot', 'pipedrive'] as const)('%s: a failure', (name) => {
  const failAtPage = (crm: FakeCrm, page: number, fail: (response: ServerResponse) => unknown): void => {
    crm.intercept = (request, response) => {
      if (crm.pages().length !== page || crm.pages().at(-1) !== request) return false;
      fail(response);
      return true;
    };
  };

  test.each([
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
      fail: (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
    },
    { what: 'silence', reason: 'timeout', fail: () => undefined },
  ])('by $what keeps the pages before it, and the next run goes on after them', async ({ reason, fail }) => {
    const crm = await startWith(name);
    const id = await connect(crm);
    failAtPage(crm, 2, fail);
    expect(await sync(id, { settings: { timeoutMs: 300, allowBaseUrl: true } })).toBe('failed');
    expect(await stored(id)).toEqual(expected(crm).slice(0, 3));
    expect(await events()).toEqual([{ team_id: 'team_a', connection_id: id, provider: name, reason }]);
    const [, second] = crm.pages();
    crm.intercept = null;
    crm.requests.length = 0;
    clock.advance(MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect(crm.pages()[0]).toMatchObject({ body: second?.body });
    expect(String(crm.pages()[0]?.query)).toBe(String(second?.query));
  });

  test('of our own, in the middle of a page, stores nothing of that page, and is told as such', async () => {
    const crm = await startWith(
      name,
      makeDeals(7, (index) => ({ title: index === 4 ? 'poison' : `Deal ${index + 1}` })),
    );
    const id = await connect(crm);
    await api.db.pool.query(`alter table crm_deal add constraint no_poison check (title <> 'poison')`);
    await expect(sync(id)).rejects.toThrow(/no_poison/);
    expect(await stored(id)).toEqual(expected(crm).slice(0, 3));
    expect(await events()).toMatchObject([{ reason: 'internal' }]);
    await api.db.pool.query(`alter table crm_deal drop constraint no_poison`);
    clock.advance(MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('raises one event a streak, backs off up to 15 minutes, and a success ends the streak', async () => {
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
    expect(await events()).toEqual([{ team_id: 'team_a', connection_id: id, provider: name, reason: 'unauthorized' }]);
    crm.token = 'the-token';
    expect(await sync(id)).toBe('done');
    expect(await connectionRow(id)).toMatchObject({ failure_streak: 0, last_error: null });
    crm.token = 'another';
    await syncLater(id);
    expect(await events()).toHaveLength(2);
    expect(
      (await api.db.pool.query(`select action from audit_log where action = 'crm_connection.sync_failed'`)).rows,
    ).toHaveLength(2);
  });

  test('a limit that ends soon is waited for; a longer one puts the rest off without a failure', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    failAtPage(crm, 2, (response) => answer(response, 429, { message: 'limit' }, { 'retry-after': '3' }));
    expect(await sync(id)).toBe('done');
    expect(slept).toEqual([3000]);
    expect(await stored(id)).toEqual(expected(crm));

    crm.put({ id: 30, amount: '1', modified: ago(-10) });
    for (let more = 31; more < 37; more += 1) crm.put({ id: more, amount: '1', modified: ago(-10 - (more - 30)) });
    crm.requests.length = 0;
    failAtPage(crm, 2, (response) => answer(response, 429, { message: 'limit' }, { 'retry-after': '120' }));
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

  test("a limit that is met at once is a failure, and the CRM's Retry-After is kept", async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    crm.intercept = (_request, response) => {
      answer(response, 429, { message: 'limit' }, { 'retry-after': '3600' });
      return true;
    };
    expect(await sync(id)).toBe('failed');
    expect(await events()).toMatchObject([{ reason: 'rate_limited' }]);
    expect((await connectionRow(id))['next_sync_at']).toBe(new Date(NOW.getTime() + 60 * MINUTE).toISOString());
  });
});

describe.each(['hubspot', 'pipedrive'] as const)('%s: whatever happens', (name) => {
  test.each([1, 2, 3])('what is stored becomes what the CRM has (%i)', { timeout: 60_000 }, async (seed) => {
    const random = createRandom(seed * 7919);
    const pick = (count: number): number => Math.floor(random() * count);
    const crm = await startWith(name, makeDeals(12));
    const id = await connect(crm);
    let created = 12;
    const mutate = (): void => {
      const deal: FakeDeal = {
        id: 1 + pick(created),
        title: `Changed ${pick(1000)}`,
        amount: `${pick(9999)}.25`,
        modified: clock.now().toISOString(),
      };
      const kind = pick(6);
      if (kind === 0) crm.put({ ...deal, id: (created += 1) });
      else if (kind === 1) crm.put({ ...deal, deleted: true });
      else if (kind === 2) crm.put({ ...deal, status: 'lost', lostReason: `Reason ${pick(9)}` });
      else crm.put(deal);
    };
    const disturb: NonNullable<FakeCrm['intercept']> = (_request, response) => {
      const kind = pick(14);
      if (kind < 3) mutate();
      if (kind === 3) answer(response, 502, {});
      else if (kind === 4) response.destroy();
      else if (kind === 5) answer(response, 429, {}, { 'retry-after': pick(2) === 0 ? '1' : '60' });
      else return false;
      return true;
    };
    for (let step = 0; step < 25; step += 1) {
      for (let count = pick(4); count > 0; count -= 1) mutate();
      crm.intercept = disturb;
      await sync(id);
      clock.advance((1 + pick(20)) * MINUTE);
      if (step % 5 !== 4) continue;
      crm.intercept = null;
      // The round that is under way, and one that begins after the last change.
      for (let done = 0; done < 2; clock.advance(61 * MINUTE)) if ((await sync(id)) === 'done') done += 1;
      expect(await stored(id)).toEqual(expected(crm));
      const lost = (await stored(id)).filter((row) => (row as { lost_reason: string | null }).lost_reason !== null);
      expect((await api.db.pool.query('select from crm_objection')).rowCount).toBe(lost.length);
    }
  });
});

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('one at a time', () => {
  test('two workers at once synchronize once', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const other = openDatabase({ url: api.databaseUrl, poolMax: 4, onError: () => undefined });
    try {
      const outcomes = await Promise.all([sync(id), sync(id, { db: other }), sync(id), sync(id, { db: other })]);
      expect(outcomes.toSorted()).toEqual(['done', 'skipped', 'skipped', 'skipped']);
      expect(crm.requests.filter(({ path }) => path.startsWith('/crm/v3/owners'))).toHaveLength(1);
      expect(await stored(id)).toEqual(expected(crm));
    } finally {
      await other.close();
    }
  });

  test('a run that was taken over, because it seemed dead, writes nothing any more', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    const second: string[] = [];
    crm.intercept = async () => {
      if (crm.pages().length !== 2 || second.length > 0) return false;
      clock.advance(3 * MINUTE);
      second.push('under way');
      second.push(await sync(id));
      crm.put({ id: 1, title: 'Only the second run may tell', modified: ago(-2) });
      return false;
    };
    expect(await sync(id)).toBe('lost');
    expect(second).toEqual(['under way', 'done']);
    const [first] = await stored(id);
    expect(first).toMatchObject({ title: 'Deal 1' });
  });

  test('a connection that is paused in the middle of a page keeps nothing of it', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const app = await signIn();
    crm.intercept = async () => {
      if (crm.pages().length === 2) await app.admin.crm.pause.mutate({ connection_id: id });
      return false;
    };
    expect(await sync(id)).toBe('lost');
    expect(await stored(id)).toHaveLength(3);
    expect(await list('/crm/deals')).toEqual([]);
    crm.intercept = null;
    expect(await syncLater(id)).toBe('skipped');
    await (await signIn()).admin.crm.resume.mutate({ connection_id: id });
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test.each(['hubspot', 'pipedrive'] as const)(
    'a round that a worker with a slow clock ends removes nothing that it has met (%s)',
    async (name) => {
      const crm = await startWith(name);
      for (const id of [5, 6]) crm.notes.set(id, { id, dealId: 1, html: `Einwand: ${id}`, modified: ago(60) });
      const id = await connect(crm, 'Einwand:');
      await sync(id);
      crm.put({ id: 7, modified: ago(-1), purged: true });
      crm.put({ id: 20, modified: ago(-1) });
      crm.notes.set(6, { id: 6, dealId: 1, html: 'Einwand: 6', modified: ago(60), deleted: true });
      clock.advance(25 * 60 * MINUTE);
      crm.intercept = () => {
        clock.advance(40_000);
        return false;
      };
      expect(await sync(id)).toBe('yielded');
      crm.intercept = null;
      const pages = crm.pages().length;
      const slow = fixedClock(new Date(clock.now().getTime() - 30 * MINUTE));
      expect(await sync(id, { clock: slow })).toBe('done');
      expect(crm.pages().length).toBeGreaterThan(pages);
      expect(await stored(id)).toEqual(expected(crm));
      expect((await list('/crm/objections')).map(({ text }) => text)).toEqual(['5']);
    },
  );

  test('the time at which a deal was last read does not go back, though the clock of the next worker is behind', async () => {
    const crm = await startWith('pipedrive', [{ id: 1, modified: ago(1) }]);
    const id = await connect(crm);
    clock.advance(30 * MINUTE);
    await sync(id);
    const before = await list('/crm/deals');
    crm.put({ id: 1, title: 'Changed', modified: ago(0) });
    await api.db.pool.query('update crm_connection set next_sync_at = $1', [NOW]);
    expect(await sync(id, { clock: fixedClock(new Date(NOW.getTime() + MINUTE)) })).toBe('done');
    expect(await list('/crm/deals')).toEqual(before.map((deal) => ({ ...deal, title: 'Changed' })));
    expect(before[0]?.['synced_at']).toBe(ago(-30));
  });

  test('never asks the network inside a transaction', async () => {
    const crm = await startWith('hubspot');
    const open: number[] = [];
    crm.intercept = async () => {
      const { rows } = await api.db.pool.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      );
      open.push(rows[0]?.count ?? -1);
      return false;
    };
    const id = await connect(crm, 'Einwand:');
    expect(await sync(id)).toBe('done');
    expect(open.length).toBeGreaterThan(8);
    expect(new Set(open)).toEqual(new Set([0]));
  });

  test('a long run gives its lane away and is gone on with', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    crm.intercept = () => {
      clock.advance(40_000);
      return false;
    };
    expect(await sync(id)).toBe('yielded');
    const pages = crm.pages().length;
    crm.intercept = null;
    expect(await sync(id)).toBe('done');
    expect(crm.pages().length).toBe(3);
    expect(pages).toBeLessThan(3);
    expect(await stored(id)).toEqual(expected(crm));
  });
});

test.each([
  ['12500', '12500'],
  ['-0.50', '-0.50'],
  ['.5', '0.5'],
  ['1.25E3', '1250'],
  ['1.25e-3', '0.00125'],
  ['1e21', '1000000000000000000000'],
  ['007.10', '7.10'],
  ['', null],
  ['.', null],
  ['12,50', null],
  ['NaN', null],
  [null, null],
])('the amount %s is kept as %s', (given, kept) => {
  expect(decimalOf(given)).toBe(kept);
});

describe('the worker', () => {
  test(
    'synchronizes what is due; killed in the middle, another goes on where it was',
    { timeout: 60_000 },
    async () => {
      clock.set(new Date());
      const crm = await startWith('hubspot', makeDeals(9));
      const id = await connect(crm);
      let isHeld = true;
      crm.intercept = async () => {
        while (isHeld && crm.pages().length === 2) await delay(20);
        return false;
      };
      const first = await startWorkerProcess(api.databaseUrl);
      while (crm.pages().length < 2) await delay(50);
      await first.kill('SIGKILL');
      isHeld = false;
      expect(await stored(id)).toHaveLength(3);
      crm.requests.length = 0;
      clock.set(new Date());
      expect(await sync(id)).toBe('skipped');
      clock.advance(3 * MINUTE);
      expect(await sync(id)).toBe('done');
      expect(await stored(id)).toEqual(expected(crm));
      expect(JSON.stringify(crm.pages()[0]?.body)).not.toContain('"value":"0"');
    },
  );

  test('enqueues one job for each connection that is due, and none while somebody is at it', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const jobs = async () =>
      (
        await api.db.pool.query(
          `select task_identifier, queue_name from graphile_worker.jobs where task_identifier = 'sync_crm_connection'`,
        )
      ).rows;
    await api.db.pool.query(`update crm_connection set sync_lease_until = $1`, [new Date(NOW.getTime() + 1000)]);
    await scheduleDue(api.db, clock.now());
    expect(await jobs()).toEqual([]);
    await api.db.pool.query(`update crm_connection set sync_lease_until = null`);
    await scheduleDue(api.db, clock.now());
    await scheduleDue(api.db, clock.now());
    expect(await jobs()).toHaveLength(1);
    await api.db.pool.query(`update team set status = 'suspended'`);
    expect(await sync(id)).toBe('skipped');
  });
});

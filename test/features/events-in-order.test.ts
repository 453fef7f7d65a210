// The list of events in the order in which they became visible: nothing is skipped, whenever it
// commits. Transactions are real ones, on connections of their own.
import type pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createClient, followEvents } from '../../src/client/index.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Db } from '../../src/db/client.ts';
import { listEvents } from '../../src/features/events/service.ts';
import { findLast, listInOrder } from '../../src/features/events/store.ts';
import { placeBatch } from '../../src/delivery/rounds.ts';
import { PLACES_LOCK_CLASS } from '../../src/delivery/beside-store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { openLoopDatabase, type LoopDatabase } from '../support/loop-database.ts';
import { explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { openWhereTeamIs } from '../support/shards.ts';
import { until } from '../support/until.ts';

const TEAMS = [
  'order',
  'late',
  'typed',
  'gone',
  'quiet',
  'short',
  'empty',
  'burst',
  'many',
  'foreign',
  'worker',
  'now',
  'shown',
  'follower',
];
const HOUR_MS = 3_600_000;

let api: TestApi;
/** What the loop of each team asks. */
let loops: Readonly<Record<string, Db>>;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed(TEAMS.map((name) => makeFullTeam(name, { webhook_endpoints: [] }))),
  });
  const opened: LoopDatabase[] = [];
  // One after the other: a busy machine is slow to begin a process of Postgres's for each.
  for (const name of TEAMS) opened.push(await openLoopDatabase(api.databaseUrl, `team_${name}`));
  loops = Object.fromEntries(opened.map(({ db }, place) => [TEAMS[place], db]));
  return async () => {
    await Promise.all(opened.map((one) => one.close()));
  };
});

const agoIso = (ms: number): string => new Date(Date.now() - ms).toISOString();

const INSERT = `insert into event (team_id, id, type, data, created_at, fanned_out_at)
  values ($1, $2, $3, '{}', $4, $5)`;

/** Stores an event as a worker leaves it after its fan-out. */
const store = (
  team: string,
  id: string,
  { type = 'training.completed', at = agoIso(0), by = api.db.pool as pg.Pool | pg.Client } = {},
) => by.query(INSERT, [team, id, type, at, at]);

/** Gives places as workers do, until none wait. */
const placeAll = async (limit = 100): Promise<void> => {
  for (const db of Object.values(loops)) while (await placeBatch(db, limit));
};

const connect = async (team: string): Promise<pg.Client> => {
  const client = await openWhereTeamIs(api.databaseUrl, team);
  onTestFinished(() => client.end());
  return client;
};

const ask = (team: string, query = '') =>
  api.call(api.key(team), 'GET', `/events?order=asc${query}`);
const list = async (team: string, query = '') => {
  const { status, body } = await ask(team, query);
  expect(status).toBe(200);
  return body as { data: { id: string }[]; next_cursor: string | null; next_after: string | null };
};
const idsOf = (page: { data: { id: string }[] }): string[] => page.data.map(({ id }) => id);

/** What `next_after` is at the end of the list. */
const endAt = (id: string): unknown =>
  expect.stringMatching(new RegExp(`^${id}\\.\\d{1,18}\\.\\d{4}-\\d{2}-\\d{2}$`));

/** Reads all behind `after`, page by page, as a client does. */
async function readOn(team: string, after: string | null, query = '') {
  const ids: string[] = [];
  const from = after === null ? '' : `&after=${after}`;
  let page = await list(team, `${from}${query}`);
  for (;;) {
    ids.push(...idsOf(page));
    if (page.next_cursor === null) return { ids, after: page.next_after };
    page = await list(team, `${from}${query}&cursor=${page.next_cursor}`);
  }
}

describe('GET /events?order=asc', () => {
  test('200: from the oldest on, and behind an event', async () => {
    for (const [index, id] of ['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5'].entries())
      await store('team_order', id, { at: agoIso((9 - index) * HOUR_MS) });
    await placeAll();
    expect(await list('team_order')).toEqual({
      data: ['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5'].map((id) =>
        expect.objectContaining({ id, type: 'training.completed', tenant_id: 'team_order' }),
      ),
      next_cursor: null,
      next_after: endAt('evt_5'),
    });
    const two = await list('team_order', '&after=evt_2&limit=2');
    expect(idsOf(two)).toEqual(['evt_3', 'evt_4']);
    expect(two).toMatchObject({ next_after: 'evt_4', next_cursor: expect.any(String) });
    expect(await readOn('team_order', null, '&limit=2')).toEqual({
      ids: ['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5'],
      after: endAt('evt_5'),
    });
    expect(await list('team_order', '&after=evt_5')).toEqual({
      data: [],
      next_cursor: null,
      next_after: endAt('evt_5'),
    });
    expect(await list('team_empty')).toEqual({ data: [], next_cursor: null, next_after: null });
  });

  test('200: an event that was inserted early and commits late comes all the same', async () => {
    const early = await connect('team_late');
    await early.query('begin');
    await store('team_late', 'evt_early', { at: agoIso(HOUR_MS), by: early });
    await store('team_late', 'evt_quick', { at: agoIso(0) });
    await placeAll();
    const first = await readOn('team_late', null);
    expect(first).toEqual({ ids: ['evt_quick'], after: endAt('evt_quick') });
    expect(await readOn('team_late', first.after)).toEqual({ ids: [], after: first.after });
    await early.query('commit');
    // The newest one is listed behind those that were seen, and no list by time would show it.
    await placeAll();
    const second = await readOn('team_late', first.after);
    expect(second).toEqual({ ids: ['evt_early'], after: endAt('evt_early') });
  });

  test('200: while one worker gives places, no other gives later ones of the team', async () => {
    await store('team_late', 'evt_slow_1');
    await store('team_late', 'evt_slow_2');
    await store('team_late', 'evt_slow_3', { at: agoIso(-HOUR_MS) });
    const { after } = await readOn('team_late', null);
    const slow = await connect('team_late');
    await slow.query('begin');
    await slow.query(
      `select pg_try_advisory_xact_lock(${PLACES_LOCK_CLASS}, hashtext('team_late'))`,
    );
    await slow.query(
      `update event
       set place = 1 + (select max(place) from event where team_id = 'team_late')
       where team_id = 'team_late' and id = 'evt_slow_1'`,
    );
    await store('team_order', 'evt_other');
    await placeAll(1);
    expect((await readOn('team_late', after)).ids).toEqual([]);
    // Other teams do not wait, although a batch has room for the first team's oldest event only.
    expect((await readOn('team_order', 'evt_5')).ids).toEqual(['evt_other']);
    await slow.query('commit');
    await placeAll();
    expect((await readOn('team_late', after)).ids).toEqual([
      'evt_slow_1',
      'evt_slow_2',
      'evt_slow_3',
    ]);
  });

  test('200: many writers and workers at once, and a reader who misses nothing', async () => {
    const EVENTS = 60;
    const { burst } = loops;
    if (!burst) throw new Error('no such team');
    const writers = await Promise.all([1, 2, 3].map(() => connect('team_burst')));
    let open = writers.length;
    const written = writers.map(async (client, writer) => {
      for (let number = 0; number < EVENTS; number += 1) {
        await client.query('begin');
        await store('team_burst', `evt_${writer}_${number}`, { by: client });
        await client.query('select pg_sleep($1)', [((number * 7 + writer * 3) % 5) / 1000]);
        await client.query(number % 10 === 9 ? 'rollback' : 'commit');
      }
      open -= 1;
    });
    const placed = [1, 2].map(async () => {
      while (open > 0) await placeBatch(burst, 7);
    });
    const seen: string[] = [];
    let after: string | null = null;
    while (open > 0) {
      const page: { ids: string[]; after: string | null } = await readOn('team_burst', after);
      seen.push(...page.ids);
      ({ after } = page);
    }
    await Promise.all([...written, ...placed]);
    await placeAll();
    seen.push(...(await readOn('team_burst', after)).ids);
    expect(seen).toHaveLength(new Set(seen).size);
    expect(seen).toHaveLength((EVENTS - EVENTS / 10) * writers.length);
  });

  test('200: after=now skips none that is committed later, whatever its time', async () => {
    const first = await list('team_now', '&after=now');
    expect(first).toEqual({ data: [], next_cursor: null, next_after: expect.any(String) });
    await store('team_now', 'evt_old', { at: agoIso(2 * HOUR_MS) });
    expect(await list('team_now', '&after=now')).toEqual(first);
    await placeAll();
    // Also where nothing had a place.
    expect(await readOn('team_now', first.next_after)).toEqual({
      ids: ['evt_old'],
      after: endAt('evt_old'),
    });
    await store('team_now', 'evt_shown');
    const { data, next_after } = await list('team_now', '&after=now&type=ping&limit=1');
    expect({ data, next_after }).toEqual({ data: [], next_after: endAt('evt_old') });
    // Its call read its clock before, and waited for a lock.
    await store('team_now', 'evt_late', { at: agoIso(HOUR_MS) });
    await placeAll();
    const late = ['evt_late', 'evt_shown'];
    expect((await readOn('team_now', next_after)).ids).toEqual(late);
    expect(await readOn('team_now', 'now')).toEqual({ ids: [], after: endAt('evt_shown') });
    // A cursor goes on where its page has ended.
    const { next_cursor } = await list('team_now', '&limit=1');
    expect(idsOf(await list('team_now', `&after=now&cursor=${next_cursor}`))).toEqual(late);
  });

  test('200: behind an event without a place comes what is committed later', async () => {
    await store('team_shown', 'evt_shown_1');
    // Nothing of the team has a place yet.
    const first = await list('team_shown', '&after=evt_shown_1');
    expect(first).toMatchObject({ data: [], next_after: endAt('evt_shown_1') });
    await store('team_shown', 'evt_late_1', { at: agoIso(HOUR_MS) });
    await placeAll();
    const second = await readOn('team_shown', first.next_after);
    expect(second.ids).toEqual(['evt_late_1', 'evt_shown_1']);
    expect((await readOn('team_shown', 'evt_shown_1')).ids).toEqual([]);

    await store('team_shown', 'evt_shown_2');
    const third = await list('team_shown', '&after=evt_shown_2&type=training.completed');
    expect(third).toMatchObject({ data: [], next_after: endAt('evt_shown_2') });
    await store('team_shown', 'evt_late_2', { at: agoIso(HOUR_MS) });
    await placeAll();
    const fourth = await readOn('team_shown', third.next_after);
    expect(fourth.ids).toEqual(['evt_late_2', 'evt_shown_2']);
  });

  test('followEvents begins with what is committed from now on, whatever its time', async () => {
    await store('team_follower', 'evt_old', { at: agoIso(2 * HOUR_MS) });
    await placeAll();
    await store('team_follower', 'evt_shown');
    const client = createClient({ apiKey: api.key('team_follower'), baseUrl: api.base });
    const begun = Promise.withResolvers<void>();
    const ended = new AbortController();
    const follow = async (): Promise<string[]> => {
      const ids: string[] = [];
      const options = { intervalMs: 20, onPlace: () => begun.resolve(), signal: ended.signal };
      for await (const { id } of followEvents(client, options))
        if (ids.push(id) > 0 && id === 'evt_end') break;
      return ids;
    };
    const followed = follow();
    onTestFinished(() => ended.abort());
    await begun.promise;
    await store('team_follower', 'evt_late', { at: agoIso(HOUR_MS) });
    await placeAll();
    await store('team_follower', 'evt_end');
    await placeAll();
    expect(await followed).toEqual(['evt_late', 'evt_shown', 'evt_end']);
  });

  test('200: one type, and what was looked at is not looked at again', async () => {
    for (const [index, type] of ['ping', 'member.joined', 'member.joined', 'ping'].entries())
      await store('team_typed', `evt_${index}`, { type, at: agoIso(HOUR_MS - index * 1000) });
    await placeAll();
    const joined = await list('team_typed', '&type=member.joined');
    expect(idsOf(joined)).toEqual(['evt_1', 'evt_2']);
    expect(joined).toMatchObject({ next_cursor: null, next_after: endAt('evt_3') });
    expect(await readOn('team_typed', null, '&type=member.joined&limit=1')).toEqual({
      ids: ['evt_1', 'evt_2'],
      after: endAt('evt_3'),
    });
    expect(await list('team_typed', '&type=member.joined&after=evt_2')).toMatchObject({
      data: [],
      next_after: endAt('evt_3'),
    });
  });

  test.each(['', '&type=ping'])('200: an empty page behind a cursor leads on%s', async (type) => {
    await api.db.pool.query(`delete from event where team_id = 'team_short'`);
    for (const id of ['evt_1', 'evt_2', 'evt_3']) await store('team_short', id, { type: 'ping' });
    await placeAll();
    const { next_cursor } = await list('team_short', `&limit=2${type}`);
    await api.db.pool.query(`delete from event where team_id = 'team_short' and id = 'evt_3'`);
    const empty = await list('team_short', `&limit=2${type}&cursor=${next_cursor}`);
    expect(empty).toEqual({ data: [], next_cursor: null, next_after: endAt('evt_2') });
    await store('team_short', 'evt_4', { type: 'ping' });
    await placeAll();
    expect((await readOn('team_short', empty.next_after, type)).ids).toEqual(['evt_4']);
  });

  test('200: a cursor outlives its event, and numbers are not given again', async () => {
    for (const id of ['evt_1', 'evt_2', 'evt_3']) await store('team_gone', id);
    await placeAll();
    const { next_cursor } = await list('team_gone', '&limit=2');
    await api.db.pool.query(`delete from event where team_id = 'team_gone'`);
    await store('team_gone', 'evt_4');
    await placeAll();
    const page = await list('team_gone', `&limit=2&cursor=${next_cursor}`);
    expect(page).toMatchObject({ data: [{ id: 'evt_4' }], next_after: endAt('evt_4') });
  });

  describe('the end of a reading', () => {
    const DAY_MS = 24 * HOUR_MS;
    const now = new Date('2026-11-02T23:59:59.999Z');
    const read = (after: string | null, daysLater = 0, limit = 2) =>
      listEvents(
        api.db,
        'team_quiet',
        { order: 'asc', limit, ...(after && { after }) },
        new Date(now.getTime() + daysLater * DAY_MS),
      );

    test('is read on behind for four weeks, whether or not its event is kept', async () => {
      for (const id of ['evt_1', 'evt_2', 'evt_3']) await store('team_quiet', id);
      await placeAll();
      // More follow: they may be nearly as old as their event, so nothing else is promised.
      expect(await read(null)).toMatchObject({ nextAfter: 'evt_2' });
      const { nextAfter: end = null } = await read('evt_2');
      expect(end).toEqual(endAt('evt_3'));
      expect(end?.endsWith('.2026-11-02')).toBe(true);
      await api.db.pool.query(`delete from event where team_id = 'team_quiet'`);
      await expect(read('evt_2')).rejects.toMatchObject({ fields: { field: 'after' } });
      await expect(read('evt_3')).rejects.toMatchObject({ fields: { field: 'after' } });

      // Whoever asks again moves the day.
      const later = await read(end, 28);
      expect(later).toEqual({
        rows: [],
        nextCursor: null,
        nextAfter: end?.replace('2026-11-02', '2026-11-30'),
      });
      await expect(read(end, 29)).rejects.toMatchObject({ fields: { field: 'after' } });
      expect(await read(later.nextAfter ?? null, 29)).toMatchObject({ rows: [] });

      for (const id of ['evt_4', 'evt_5', 'evt_6']) await store('team_quiet', id);
      await placeAll();
      const next = await read(later.nextAfter ?? null, 30);
      expect(next.rows.map(({ id }) => id)).toEqual(['evt_4', 'evt_5']);
      expect(next.nextAfter).toBe('evt_5');
    });

    test('is that of its event, as long as it is kept', async () => {
      const { nextAfter: end = null } = await read(null, 0, 3);
      expect(await read(end, 90)).toMatchObject({ rows: [], nextAfter: endAt('evt_6') });
    });

    test.each([
      'evt_5.1.2026-13-01',
      'evt_5.1234567890123456789.2026-11-02',
      'evt_6.1',
      'evt_6.1.2026-11-02.',
    ])('422: none is %s', async (after) => {
      await api.db.pool.query(`delete from event where team_id = 'team_quiet' and id = 'evt_5'`);
      await expect(read(after)).rejects.toMatchObject({ fields: { field: 'after' } });
    });
  });

  test('422: an event that was deleted, that never was, or of another team', async () => {
    await store('team_foreign', 'evt_theirs');
    await placeAll();
    const refused = await Promise.all(
      ['evt_1', 'evt_theirs', 'evt_none'].map(async (id) => ask('team_gone', `&after=${id}`)),
    );
    for (const { status, body } of refused) {
      expect({ status, ...body }).toMatchObject({ status: 422, field: 'after' });
      expect(body.detail).toContain('Start over without `after`');
      expect({ ...body, request_id: '' }).toEqual({ ...refused[0]?.body, request_id: '' });
    }
  });

  test.each([
    ['order=newest', 'order'],
    ['order=asc&since=2026-11-01T00:00:00Z', 'since'],
    ['after=evt_1', 'after'],
    ['order=desc&after=evt_1', 'after'],
    ['order=asc&type=member.join', 'type'],
  ])('422: %s', async (query, field) => {
    const refused = await api.call(api.key('team_order'), 'GET', `/events?${query}`);
    expect(refused).toMatchObject({ status: 422, body: { field } });
  });

  test('422: a cursor of the other order', async () => {
    const { next_cursor } = await list('team_order', '&limit=1');
    const key = api.key('team_order');
    const newest = await api.call(key, 'GET', `/events?cursor=${next_cursor}`);
    expect(newest).toMatchObject({ status: 422, body: { field: 'cursor' } });
    const { body } = await api.call(key, 'GET', '/events?limit=1');
    expect(body).not.toHaveProperty('next_after');
    expect(await ask('team_order', `&cursor=${body.next_cursor}`)).toMatchObject({ status: 422 });
    const made = Buffer.from('events_in_order|2026-11-01T00:00:00.000Z|x').toString('base64url');
    expect(await ask('team_order', `&cursor=${made}`)).toMatchObject({
      status: 422,
      body: { field: 'cursor' },
    });
  });
});

test('a worker gives places to events of calls, and to tests of endpoints', async () => {
  const worker = await startDeliveries(api, { clock: systemClock });
  onTestFinished(() => worker.stop());
  const key = api.key('team_worker');
  await api.call(key, 'POST', '/users', { body: { email: 'new@worker.test' } });
  await until(async () => (await list('team_worker')).data.length === 1);
  const { next_after } = await list('team_worker');
  await store('team_worker', 'evt_ping', { type: 'ping' });
  await until(async () => (await readOn('team_worker', next_after)).ids[0] === 'evt_ping');
  expect(worker.errors()).toEqual([]);
});

describe('reads a bounded part', () => {
  const MANY = 30_000;
  let client: pg.Client;
  beforeAll(async () => {
    client = await openWhereTeamIs(api.databaseUrl, 'team_many');
    await client.query(
      `insert into event (team_id, id, type, data, created_at, fanned_out_at, place)
       select 'team_many', 'evt_' || n,
         case when n % 29000 = 0 then 'ping' else 'member.joined' end, '{}',
         now() - n % 7 * interval '1 second', now(), n
       from generate_series(1, $1::int) n`,
      [MANY],
    );
    await store('team_many', 'evt_unplaced');
    await api.db.pool.query('vacuum analyze event');
    return () => client.end();
  });

  describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
    const at = { limit: 51, id: null, place: null };
    test.each([
      ['from the start', at, undefined, 201],
      ['behind an event', { ...at, id: 'evt_15000' }, undefined, 202],
      ['behind an event without a place', { ...at, id: 'evt_unplaced' }, undefined, 2],
      ['at the end', { ...at, id: `evt_${MANY}` }, undefined, 2],
      ['behind a place', { ...at, place: '15000' }, undefined, 201],
      ['of a frequent type', { ...at, id: 'evt_7' }, 'member.joined', 210],
      // What is looked through, once more for its end, and the start.
      ['of a rare type', { ...at, id: 'evt_7' }, 'ping', 20_010],
      ['of a type that is not there', at, 'crm.sync.failed', 20_010],
    ])('%s', async (_, start, type, most) => {
      const read = (recorder: Db) => listInOrder(recorder, 'team_many', start, { type });
      expect(rowsRead(await explain(client, read, mode))).toBeLessThanOrEqual(most);
    });
  });

  test.each<Mode>(['generic', 'custom'])('as its end, with a %s plan', async (mode) => {
    const read = (recorder: Db) => findLast(recorder, 'team_many');
    expect(rowsRead(await explain(client, read, mode))).toBe(1);
  });

  test('and leads on until all are found', async () => {
    const now = new Date('2026-11-02T23:59:59.999Z');
    const listPings = (query: { after?: string; cursor?: string }) =>
      listEvents(api.db, 'team_many', { ...query, order: 'asc', type: 'ping', limit: 50 }, now);
    let query: { after?: string; cursor?: string } = {};
    const found: string[] = [];
    for (let page = 1; page <= 3; page += 1) {
      const { rows, nextCursor, nextAfter } = await listPings(query);
      found.push(...rows.map(({ id }) => id));
      expect(nextCursor === null).toBe(false);
      expect(nextAfter).toBe(`evt_${page * 10_000}`);
      query = page === 1 ? { cursor: nextCursor ?? '' } : { after: nextAfter ?? '' };
    }
    expect(found).toEqual(['evt_29000']);
    expect(await listPings(query)).toEqual({
      rows: [],
      nextCursor: null,
      nextAfter: `evt_${MANY}.${MANY}.2026-11-02`,
    });
  });
});

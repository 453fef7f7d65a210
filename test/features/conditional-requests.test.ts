// Conditional requests: a caller who has a representation gets no body, and a change is not made to
// what somebody else has changed meanwhile.
import { Client } from 'pg';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { untilWaiting } from '../support/locks.ts';
import { makeFullTeam, makeMember, makeSeed } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

let api: TestApi;
const start = async (): Promise<void> => {
  const members = ['one', 'two'].map((name) => makeMember('a', name));
  const privacy = { member_detail_enabled: true };
  const seed = makeSeed([makeFullTeam('a', { members, privacy }), makeFullTeam('b')]);
  // Requests are counted by the minute, and none must begin between two of them.
  api = await startTestApi({ seed, clock: fixedClock(new Date()) });
};

const ask = (method: string, path: string, options: object = {}) =>
  api.call(api.key('team_a'), method, path, options);
const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } });
const tagOf = ({ headers }: ApiResponse): string => headers['etag'] ?? '';

/** Every kind of object that can be changed, with two changes of it. */
const OBJECTS: readonly (readonly [path: string, one: object, other: object])[] = [
  ['/assignments/asg_a', { note: 'eins – „zwei“ für 3 €' }, { note: 'other' }],
  ['/cases/cas_a', { title: 'Einwände üben' }, { title: 'other', fields: { b: 1, a: [2] } }],
  ['/users/mem_a_member', { role: 'admin' }, { role: 'member' }],
  ['/webhook-endpoints/whe_a', { description: 'one' }, { description: 'other' }],
];

/** The tag of a read of the object. */
async function currentTag(path: string): Promise<string> {
  const shown = await ask('GET', path);
  expect(shown.status).toBe(200);
  return tagOf(shown);
}

describe('If-None-Match', () => {
  beforeAll(start);

  test.each(['/users', '/users?limit=1', '/assignments/asg_a', '/me', '/analytics/team'])(
    'GET %s: 304 without a body to whoever has it, and it counts like any request',
    async (path) => {
      const first = await ask('GET', path);
      const tag = tagOf(first);
      const again = await ask('GET', path, { headers: { 'if-none-match': tag } });
      expect(again).toMatchObject({ status: 304, text: '' });
      expect(tagOf(again)).toBe(tag);
      const left = (one: ApiResponse) => Number(one.headers['ratelimit-remaining']);
      expect(left(again)).toBe(left(first) - 1);
      for (const other of [`W/${tag}`, `"x", ${tag}`, '*', tag.replace(/"$/, '.gzip"')])
        expect((await ask('GET', path, { headers: { 'if-none-match': other } })).status).toBe(304);
      for (const other of ['"x"', 'x', '', tag.slice(1), '"', 'W/*'])
        expect((await ask('GET', path, { headers: { 'if-none-match': other } })).status).toBe(200);
      const head = await ask('HEAD', path, { headers: { 'if-none-match': tag } });
      expect(head.status).toBe(304);
    },
  );

  test('is of the representation: another page, language or object has another tag', async () => {
    const tags = [
      await ask('GET', '/users'),
      await ask('GET', '/users?limit=1'),
      await ask('GET', '/catalog'),
      await ask('GET', '/catalog', { headers: { 'accept-language': 'en' } }),
      await ask('GET', '/cases/cas_a'),
    ].map(tagOf);
    expect(new Set(tags).size).toBe(tags.length);
  });

  test('tells nothing that privacy withholds: a changed address is the same version', async () => {
    const hide = (shown: boolean) =>
      api.db.pool.query(`update team set member_detail_enabled = $1 where id = 'team_a'`, [shown]);
    const rename = (email: string) =>
      api.db.pool.query(`update member set email = $1 where id = 'mem_a_one'`, [email]);
    const tag = async () => tagOf(await ask('GET', '/users/mem_a_one'));
    const open = await tag();
    await hide(false);
    const hidden = await tag();
    expect(hidden).not.toBe(open);
    await rename('new@a.test');
    expect(await tag()).toBe(hidden);
    await hide(true);
    expect(await tag()).not.toBe(open);
  });

  test('of a write, and of what does not exist, changes nothing', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await ask('PATCH', '/cases/cas_a', { headers, body: {} })).status).toBe(200);
    expect((await ask('GET', '/cases/cas_x', { headers })).status).toBe(404);
  });
});

describe('If-Match', () => {
  beforeAll(start);
  beforeEach(() => putSeedBack(api));

  test.each(OBJECTS)('%s: a change from the current version, and no other', async (path, a, b) => {
    const seen = await currentTag(path);
    const changed = await ask('PATCH', path, { body: a, ...ifMatch(seen) });
    expect(changed.status).toBe(200);
    expect(tagOf(changed)).not.toBe(seen);
    // It is that of the version afterwards; a read of a webhook endpoint has another one.
    const again = path.startsWith('/webhook') ? ask('PATCH', path, { body: {} }) : ask('GET', path);
    expect(tagOf(changed)).toBe(tagOf(await again));
    const before = await snapshot();
    const late = await ask('PATCH', path, { body: b, ...ifMatch(seen) });
    expect(late).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed', detail: expect.stringMatching(/Read the object again/) },
    });
    expect((await ask('DELETE', path, ifMatch(seen))).status).toBe(412);
    expect(await snapshot()).toEqual(before);
    const both = `"x", ${tagOf(changed)}`;
    expect((await ask('PATCH', path, { body: b, ...ifMatch(both) })).status).toBe(200);
    expect((await ask('DELETE', path, ifMatch(await currentTag(path)))).status).toBe(200);
    expect((await ask('DELETE', path, ifMatch(seen))).status).toBe(404);
  });

  test.each(OBJECTS)(
    '%s: without it, and with *, the last one wins as ever',
    async (path, a, b) => {
      expect((await ask('PATCH', path, { body: a })).status).toBe(200);
      expect((await ask('PATCH', path, { body: b, ...ifMatch('*') })).status).toBe(200);
      expect((await ask('DELETE', path, ifMatch('*'))).status).toBe(200);
    },
  );

  test.each(OBJECTS)('%s: of two at once exactly one is made', async (path, one, other) => {
    for (let round = 0; round < 8; round += 1) {
      const seen = ifMatch(await currentTag(path));
      const body = round % 2 === 0 ? one : other;
      // Both write the same, so only the lock tells them apart.
      const both = [
        { body, ...seen },
        { body, ...seen },
      ].map((given) => ask('PATCH', path, given));
      const statuses = (await Promise.all(both)).map(({ status }) => status);
      expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 412]);
    }
    const seen = ifMatch(await currentTag(path));
    const ends = await Promise.all([
      ask('DELETE', path, seen),
      ask('PATCH', path, { body: one, ...seen }),
    ]);
    const statuses = ends.map(({ status }) => status);
    expect([
      [200, 404],
      [412, 200],
    ]).toContainEqual(statuses);
  });

  test.each([
    ['/assignments/asg_a', `update assignment set note = coalesce(note, '') || '.'`],
    ['/cases/cas_a', `update training_case set title = title || '.'`],
    [
      '/users/mem_a_member',
      `update member set role = case role when 'admin' then 'member' else 'admin' end`,
    ],
    ['/webhook-endpoints/whe_a', `update webhook_endpoint set url = url || '.'`],
  ])('%s: sees a change that commits while it waits for the row', async (path, theirs) => {
    const [, body] = OBJECTS.find(([one]) => one === path) ?? [];
    const id = path.split('/')[2];
    const holder = new Client({ connectionString: api.databaseUrl });
    await holder.connect();
    onTestFinished(() => holder.end());
    for (const method of ['PATCH', 'DELETE']) {
      const seen = ifMatch(await currentTag(path));
      await holder.query('begin');
      await holder.query(`${theirs} where team_id = 'team_a' and id = $1`, [id]);
      const waiting = ask(method, path, { ...seen, ...(method === 'PATCH' && { body }) });
      await untilWaiting(api, 1);
      await holder.query('commit');
      expect((await waiting).status).toBe(412);
    }
  });

  test('does not depend on what deliveries and time change of a webhook endpoint', async () => {
    const path = '/webhook-endpoints/whe_a';
    const read = await currentTag(path);
    const seen = tagOf(await ask('PATCH', path, { body: {} }));
    await api.db.pool.query(`update webhook_endpoint set last_success_at = now()`);
    const body = { description: 'x' };
    // A read shows what deliveries have changed, so its tag is another one by now.
    expect((await ask('PATCH', path, { body, ...ifMatch(read) })).status).toBe(412);
    expect((await ask('PATCH', path, { body, ...ifMatch(seen) })).status).toBe(200);
  });

  test('works while details of members are withheld, with the tag of a change', async () => {
    await api.db.pool.query(`update team set member_detail_enabled = false where id = 'team_a'`);
    for (const [path, body] of OBJECTS.slice(0, 3)) {
      const shown = await ask('PATCH', path, { body });
      const again = await ask('PATCH', path, { body, ...ifMatch(tagOf(shown)) });
      expect([again.status, tagOf(again)]).toEqual([200, tagOf(shown)]);
    }
  });

  test('never matches a weak tag; one of a compressed response it does', async () => {
    const tag = await currentTag('/cases/cas_a');
    const patch = (given: string) => ask('PATCH', '/cases/cas_a', { body: {}, ...ifMatch(given) });
    expect((await patch(`W/${tag}`)).status).toBe(412);
    expect((await patch(tag.replace(/"$/, '.br"'))).status).toBe(200);
  });

  test.each(['x', '', '"a" "b"', '*, "a"', 'W/', '"', ',', '"a",, "b"'])(
    'that is no list of tags (%j) is an error, and changes nothing',
    async (given) => {
      const before = await snapshot();
      for (const [path, body] of OBJECTS) {
        const refused = await ask('PATCH', path, { body, ...ifMatch(given) });
        expect(refused).toMatchObject({
          status: 422,
          body: { field: 'If-Match', errors: [{ path: 'header.If-Match' }] },
        });
        expect((await ask('DELETE', path, ifMatch(given))).status).toBe(422);
      }
      expect(await snapshot()).toEqual(before);
    },
  );

  test("404: hides another team's object and a private case, whatever the tag is", async () => {
    for (const path of ['/cases/cas_b', '/cases/cas_a_private', '/cases/cas_x', '/users/mem_b_one'])
      for (const tag of ['*', '"x"']) {
        expect((await ask('DELETE', path, ifMatch(tag))).status).toBe(404);
        const body = path.startsWith('/users') ? { role: 'member' } : {};
        expect((await ask('PATCH', path, { body, ...ifMatch(tag) })).status).toBe(404);
      }
  });

  test('of a POST is ignored, so an Idempotency-Key acts as without it', async () => {
    const post = (tag: string) =>
      ask('POST', '/cases', {
        body: { user_id: 'usr_a_member' },
        headers: { 'idempotency-key': 'k', 'if-match': tag },
      });
    const first = await post('"x"');
    expect(first.status).toBe(201);
    expect(first.headers).not.toHaveProperty('etag');
    const again = await post('"y"');
    expect(again).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
  });

  test('and a PATCH with an Idempotency-Key, which only a POST has: the tag decides', async () => {
    const seen = await currentTag('/cases/cas_a');
    const patch = () =>
      ask('PATCH', '/cases/cas_a', {
        body: { title: 'once' },
        headers: { 'idempotency-key': 'k', 'if-match': seen },
      });
    expect([(await patch()).status, (await patch()).status]).toEqual([200, 412]);
  });

  test('is taken by every PATCH and DELETE of the API', () => {
    const changes = ENDPOINTS.filter(({ method }) => method === 'PATCH' || method === 'DELETE');
    expect(changes.filter(({ isConditional }) => !isConditional)).toEqual([]);
    // The sandbox itself is changed in test/features/sandbox-play.test.ts.
    const ofLive = changes.filter(({ mode }) => mode === null);
    const paths = new Set(ofLive.map(({ path }) => path));
    expect(paths.size).toBe(OBJECTS.length);
  });
});

/** What the calls could have changed. */
async function snapshot(): Promise<unknown[]> {
  const tables = [
    'assignment',
    'training_case',
    'member',
    'webhook_endpoint',
    'audit_log',
    'event',
  ];
  return Promise.all(
    tables.map(async (table) => {
      const { rows } = await api.db.pool.query(
        `select t::text as row from "${table}" t order by 1`,
      );
      return rows;
    }),
  );
}

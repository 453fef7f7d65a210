// Links by which keys are handed over: what the service keeps of them, and who opens them.
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { openerOf, seal, unseal, type Content } from '../../src/admin-ui/lib/sealing.ts';
import { fixedClock } from '../../src/core/clock.ts';
import { TEAM_LIMITS } from '../../src/core/team-limits.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAt, createKey, KEY_HOLDER, type App } from '../support/api-keys.ts';
import { codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const HOUR_MS = 3_600_000;
const START = new Date('2040-11-20T10:00:30.000Z');
const clock = fixedClock(START);
/** The host application may give a team an id of 200 characters, its members' ids included. */
const LONG = 'l'.repeat(150);
const TEAMS = ['a', 'b', 'list', 'full', 'race', 'closed', 'gone', 'audit', LONG];

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    clock,
    seed: makeSeed(
      TEAMS.map((name) => makeTeam(name, { members: [makeMember(name, 'holder', KEY_HOLDER)] })),
    ),
  });
});

const as = (team: string, name = 'holder'): Promise<App> => appAt(api, clock.now(), team, name);

interface Made {
  readonly id: string;
  readonly secret: string;
  readonly sealed: string;
  readonly content: Content;
  readonly keyId: string;
  readonly handover: Awaited<ReturnType<App['admin']['handovers']['create']['mutate']>>;
}

/** Makes a key and a link that hands it over, as the admin page does. */
async function handOver(team: string): Promise<Made> {
  const app = await as(team);
  const made = await createKey(app);
  const content = { secret: made.key, name: made.name };
  const link = await seal(content);
  const { id: handover_id, sealed } = link;
  const asked = { handover_id, key_id: made.id, sealed };
  const handover = await app.admin.handovers.create.mutate(asked);
  return { ...link, content, keyId: made.id, handover };
}

function post(body: Record<string, string> | string, headers = {}): Promise<Response> {
  const form = typeof body === 'string' ? body : new URLSearchParams(body);
  return fetch(`${api.url}/handover/open`, { method: 'POST', body: form, headers });
}

async function open(team: string, { secret }: Pick<Made, 'secret'>): Promise<Response> {
  return post({ team_id: `team_${team}`, opener: await openerOf(secret) });
}

/** What every answer to a link that opens nothing says, whatever the reason. */
async function refusalOf(response: Response): Promise<unknown> {
  const { request_id, ...body } = (await response.json()) as Record<string, unknown>;
  expect(request_id).toBe(response.headers.get('x-request-id'));
  return { status: response.status, body };
}

const REFUSAL = {
  status: 404,
  body: expect.objectContaining({ status: 404, code: 'not_found' }) as unknown,
};

const stateOf = async (team: string, { id }: Pick<Made, 'id'>) =>
  (await (await as(team)).admin.handovers.get.query({ handover_id: id })).state;

describe('a link', () => {
  test('opens once, and gives what was sealed', async () => {
    const made = await handOver('a');
    expect(made.handover).toEqual({
      id: made.id,
      key_id: made.keyId,
      created_by: memberId('a', 'holder'),
      created_at: START.toISOString(),
      expires_at: new Date(START.getTime() + HOUR_MS).toISOString(),
      opened_at: null,
      state: 'open',
    });
    const response = await open('a', made);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    const { sealed } = (await response.json()) as { sealed: string };
    expect(await unseal(made.secret, sealed)).toEqual(made.content);
    expect(await refusalOf(await open('a', made))).toEqual(REFUSAL);
    expect(await stateOf('a', made)).toBe('opened');
    expect((await api.call(made.content.secret, 'GET', '/users')).status).toBe(200);
  });

  test('of a team with a very long id opens, too', async () => {
    expect((await open(LONG, await handOver(LONG))).status).toBe(200);
  });

  test('leaves nothing in the database that opens it, and nothing sealed once opened', async () => {
    const made = await handOver('a');
    const rows = async () =>
      (await api.db.pool.query('select * from handover where id = $1', [made.id])).rows;
    const [row] = (await rows()) as { sealed: Buffer | null }[];
    const kept = JSON.stringify([row, row?.sealed?.toString('latin1')]);
    const opener = await openerOf(made.secret);
    expect(row?.sealed).not.toBe(null);
    for (const text of [made.secret, opener, made.content.secret, made.content.name])
      expect(kept).not.toContain(text);
    await open('a', made);
    expect(await rows()).toMatchObject([{ sealed: null, opened_at: START.toISOString() }]);
  });

  test('opens for one of twenty who ask at the same time', async () => {
    const made = await handOver('race');
    const responses = await Promise.all(Array.from({ length: 20 }, () => open('race', made)));
    const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([200, ...Array(19).fill(404)]);
    const opened = (await auditOf(api, 'team_race')).filter(
      ({ action }) => action === 'api_key.link_opened',
    );
    expect(opened).toHaveLength(1);
  });

  test('opens until its hour is over, and is answered like a wrong one afterwards', async () => {
    const [last, late] = [await handOver('a'), await handOver('a')];
    clock.advance(HOUR_MS - 1);
    expect((await open('a', last)).status).toBe(200);
    clock.advance(1);
    const answers = await Promise.all([
      open('a', late),
      open('a', last),
      open('a', { secret: randomBytes(32).toString('base64url') }),
      open('b', late),
      open('nobody', late),
    ]).then((all) => Promise.all(all.map(refusalOf)));
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(answers[0]).toEqual(REFUSAL);
    expect(await stateOf('a', late)).toBe('ended');
  });

  test('still opens when its key has ended, which then opens nothing', async () => {
    const made = await handOver('a');
    await (await as('a')).admin.apiKeys.revoke.mutate({ key_id: made.keyId });
    expect((await open('a', made)).status).toBe(200);
    expect((await api.call(made.content.secret, 'GET', '/users')).status).toBe(401);
  });

  test('of a suspended team waits until the team is active again', async () => {
    const made = await handOver('closed');
    const setStatus = (status: string) =>
      api.db.pool.query(`update team set status = $1 where id = 'team_closed'`, [status]);
    await setStatus('suspended');
    expect(await refusalOf(await open('closed', made))).toEqual(REFUSAL);
    await setStatus('ended');
    expect(await refusalOf(await open('closed', made))).toEqual(REFUSAL);
    await setStatus('active');
    expect((await open('closed', made)).status).toBe(200);
  });

  test('of a team that is being erased opens nothing', async () => {
    const made = await handOver('gone');
    await api.db.pool.query(
      `update team set status = 'ended', erasing_since = now() where id = 'team_gone'`,
    );
    expect(await refusalOf(await open('gone', made))).toEqual(REFUSAL);
  });
});

describe('the answer to a stranger', () => {
  test.each([
    ['no form', '', {}],
    ['no team', 'opener=x', {}],
    ['no opener', 'team_id=team_a', {}],
    ['two openers', `team_id=team_a&opener=x&opener=y`, {}],
    ['a team that Postgres cannot store', { team_id: 'team\0', opener: 'x'.repeat(43) }, {}],
    ['a long team', { team_id: 't'.repeat(5000), opener: 'x'.repeat(43) }, {}],
    ['JSON', '{"team_id":"team_a"}', { 'content-type': 'application/json' }],
  ])('with %s is that of a wrong link', async (_what, body, headers) => {
    expect(await refusalOf(await post(body, headers))).toEqual(REFUSAL);
  });

  test('with too much is a refusal', async () => {
    expect((await post({ team_id: 't'.repeat(20_000) })).status).toBe(413);
  });

  test('by another method is none, and uses nothing up', async () => {
    const made = await handOver('a');
    const query = new URLSearchParams({ team_id: 'team_a', opener: await openerOf(made.secret) });
    const statuses: Record<string, number> = {};
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
      statuses[method] = (await fetch(`${api.url}/handover/open?${query}`, { method })).status;
    expect(statuses).toEqual({ GET: 404, HEAD: 404, PUT: 404, DELETE: 404 });
    expect((await post(`?${query}`)).status).toBe(404);
    expect((await open('a', made)).status).toBe(200);
  });

  test('is limited by the address, before anything else is looked at', async () => {
    const limited = await startTestApi({
      clock,
      ipLimitPerMinute: 3,
      seed: makeSeed([makeTeam('a')]),
    });
    const ask = () => fetch(`${limited.url}/handover/open`, { method: 'POST' });
    const answers = [await ask(), await ask(), await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 429]);
    expect(answers[3]?.headers.get('retry-after')).toMatch(/^\d+$/);
    await limited.stop();
  });
});

describe('making a link', () => {
  test('can be repeated, and makes one', async () => {
    const { id, keyId, sealed, secret, handover } = await handOver('a');
    const app = await as('a');
    const asked = { handover_id: id, key_id: keyId, sealed };
    expect(await app.admin.handovers.create.mutate(asked)).toEqual(handover);
    await open('a', { secret });
    expect((await app.admin.handovers.create.mutate(asked)).state).toBe('opened');
    expect(await refusalOf(await open('a', { secret }))).toEqual(REFUSAL);
  });

  test('at the same time makes one', async () => {
    const app = await as('a');
    const { id: key_id, key, name } = await createKey(app);
    const { id: handover_id, sealed } = await seal({ secret: key, name });
    const asked = { handover_id, key_id, sealed };
    const made = await Promise.all(
      Array.from({ length: 5 }, () => app.admin.handovers.create.mutate(asked)),
    );
    expect(new Set(made.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  test('with the id of another link is a conflict, within the team', async () => {
    const [one, two] = [await handOver('a'), await handOver('b')];
    const asked = { handover_id: one.id, key_id: one.keyId, sealed: two.sealed };
    const [a, b] = [await as('a'), await as('b')];
    expect(await codeOf(a.admin.handovers.create.mutate(asked))).toBe('conflict');
    const ofB = { ...asked, key_id: two.keyId };
    expect(await codeOf(b.admin.handovers.create.mutate(ofB))).toBe('ok');
    expect(await stateOf('a', one)).toBe('open');
  });

  test.each([
    ['of another team', async () => (await handOver('b')).keyId],
    ['that nobody has', async () => 'key_nobody'],
  ])('for a key %s is refused', async (_what, keyIdOf) => {
    const { id: handover_id, sealed } = await seal({ secret: 's', name: 'n' });
    const asked = { handover_id, key_id: await keyIdOf(), sealed };
    expect(await codeOf((await as('a')).admin.handovers.create.mutate(asked))).toBe('not_found');
  });

  test.each([
    ['an id that is no hash', { handover_id: 'x'.repeat(42) }],
    ['nothing sealed', { sealed: '' }],
    ['too little sealed', { sealed: 'x'.repeat(37) }],
    ['too much sealed', { sealed: 'x'.repeat(1367) }],
    ['what is no base64url', { sealed: `${'x'.repeat(50)}=` }],
  ])('with %s is refused', async (_what, wrong) => {
    const { id, keyId, sealed } = await handOver('a');
    const asked = { handover_id: id, key_id: keyId, sealed, ...wrong };
    const call = (await as('a')).admin.handovers.create.mutate(asked);
    expect(await codeOf(call)).toBe('validation_error');
  });

  test('takes as much as may be sealed', async () => {
    const { keyId } = await handOver('a');
    const [handover_id, sealed] = [randomBytes(32), randomBytes(1024)];
    const asked = {
      handover_id: handover_id.toString('base64url'),
      key_id: keyId,
      sealed: sealed.toString('base64url'),
    };
    expect(await codeOf((await as('a')).admin.handovers.create.mutate(asked))).toBe('ok');
  });

  test('ends at the limit, also for many at the same time, until one has ended', async () => {
    const first = await handOver('full');
    await api.db.pool.query(
      `insert into handover
         (team_id, id, key_id, created_by, created_at, expires_at, sealed)
       select team_id, lpad(n::text, 43, '0'), key_id, created_by, created_at, expires_at, sealed
       from handover, generate_series(1, $2::int) n
       where id = $1`,
      [first.id, TEAM_LIMITS.openHandovers.live - 4],
    );
    const app = await as('full');
    const links = await Promise.all(Array.from({ length: 8 }, () => seal(first.content)));
    const make = ({ id: handover_id, sealed }: (typeof links)[number]) =>
      codeOf(app.admin.handovers.create.mutate({ handover_id, key_id: first.keyId, sealed }));
    const codes = await Promise.all(links.map(make));
    expect(codes.toSorted()).toEqual([
      ...Array(3).fill('ok'),
      ...Array(5).fill('validation_error'),
    ]);
    const [refused] = links.filter((_link, place) => codes[place] !== 'ok');
    if (!refused) throw new Error('none was refused');
    await app.admin.handovers.withdraw.mutate({ handover_id: first.id });
    expect(await make(refused)).toBe('ok');
    clock.advance(HOUR_MS);
    expect((await handOver('full')).handover.state).toBe('open');
  });
});

describe('withdrawing a link', () => {
  test('ends it, once', async () => {
    const made = await handOver('a');
    const app = await as('a');
    const asked = { handover_id: made.id };
    const withdrawn = await app.admin.handovers.withdraw.mutate(asked);
    expect(withdrawn).toMatchObject({ state: 'ended', expires_at: clock.now().toISOString() });
    expect(await refusalOf(await open('a', made))).toEqual(REFUSAL);
    clock.advance(1000);
    expect(await app.admin.handovers.withdraw.mutate(asked)).toEqual(withdrawn);
  });

  test('where a clock is ahead ends it for all, though it seems to have expired', async () => {
    const made = await handOver('a');
    const at = clock.now();
    clock.advance(HOUR_MS + 60_000);
    const app = await as('a');
    const { state, expires_at } = await app.admin.handovers.withdraw.mutate({
      handover_id: made.id,
    });
    expect({ state, expires_at }).toEqual({
      state: 'ended',
      expires_at: made.handover.expires_at,
    });
    clock.set(at);
    expect(await refusalOf(await open('a', made))).toEqual(REFUSAL);
  });

  test('says that it was opened before', async () => {
    const made = await handOver('a');
    await open('a', made);
    const app = await as('a');
    const { state } = await app.admin.handovers.withdraw.mutate({ handover_id: made.id });
    expect(state).toBe('opened');
  });

  test('and opening at the same time: one of the two happens', async () => {
    for (let round = 0; round < 10; round += 1) {
      const made = await handOver('race');
      const app = await as('race');
      const [opened, { state }] = await Promise.all([
        open('race', made),
        app.admin.handovers.withdraw.mutate({ handover_id: made.id }),
      ]);
      expect([opened.status, state]).toEqual(
        opened.status === 200 ? [200, 'opened'] : [404, 'ended'],
      );
    }
  });

  test('of another team finds none', async () => {
    const made = await handOver('b');
    const asked = { handover_id: made.id };
    const app = await as('a');
    expect(await codeOf(app.admin.handovers.withdraw.mutate(asked))).toBe('not_found');
    expect(await codeOf(app.admin.handovers.get.query(asked))).toBe('not_found');
    expect((await open('b', made)).status).toBe(200);
  });
});

test('the list shows links in any state, newest first, without what they hold', async () => {
  const app = await as('list');
  expect(await app.admin.handovers.list.query({})).toEqual({ data: [], next_cursor: null });
  const made: Made[] = [];
  for (let n = 0; n < 3; n += 1) {
    made.push(await handOver('list'));
    clock.advance(1000);
  }
  const [opened, withdrawn, kept] = made;
  if (!opened || !withdrawn || !kept) throw new Error('a link is missing');
  await open('list', opened);
  await app.admin.handovers.withdraw.mutate({ handover_id: withdrawn.id });
  const { data, next_cursor } = await app.admin.handovers.list.query({ limit: 2 });
  expect(data).toEqual([
    { ...kept.handover, key_name: kept.content.name },
    {
      ...withdrawn.handover,
      key_name: withdrawn.content.name,
      state: 'ended',
      expires_at: clock.now().toISOString(),
    },
  ]);
  const next = await app.admin.handovers.list.query({ cursor: next_cursor ?? '' });
  expect(next.data).toMatchObject([
    { id: opened.id, state: 'opened', opened_at: clock.now().toISOString() },
  ]);
  expect(next.next_cursor).toBe(null);
});

test('the audit log says who made a link, and when it was opened or withdrawn', async () => {
  const [opened, withdrawn] = [await handOver('audit'), await handOver('audit')];
  await open('audit', opened);
  await (await as('audit')).admin.handovers.withdraw.mutate({ handover_id: withdrawn.id });
  const entries = (await auditOf(api, 'team_audit')).filter(({ action }) => /link/.test(action));
  const byHolder = { actor_kind: 'user', actor_id: memberId('audit', 'holder') };
  const expires_at = opened.handover.expires_at;
  const [of, ofOther] = [{ handover_id: opened.id }, { handover_id: withdrawn.id }];
  expect(entries).toEqual(
    expect.arrayContaining([
      {
        ...byHolder,
        action: 'api_key.link_created',
        target_id: opened.keyId,
        details: { ...of, expires_at },
      },
      {
        actor_kind: 'system',
        actor_id: 'link',
        action: 'api_key.link_opened',
        target_id: opened.keyId,
        details: of,
      },
      {
        ...byHolder,
        action: 'api_key.link_withdrawn',
        target_id: withdrawn.keyId,
        details: ofOther,
      },
    ]),
  );
  expect(entries).toHaveLength(4);
  const page = await (await as('audit')).admin.auditLog.list.query({ actor_kind: 'system' });
  expect(page.data.map(({ action }) => action)).toEqual(['api_key.link_opened']);
});

describe('the page that opens a link', () => {
  test.each([
    ['de-DE,de;q=0.9,en;q=0.5', 'de', 'Geheimnis anzeigen'],
    ['en-GB,en;q=0.9', 'en', 'Show the secret'],
    ['de_DE', 'de', 'Geheimnis anzeigen'],
    ['*', 'en', 'Show the secret'],
    ['fr', 'en', 'Show the secret'],
  ])('is in the language of the reader: %s', async (accepted, language, text) => {
    const headers = { 'accept-language': accepted };
    const page = await fetch(`${api.url}/handover`, { headers });
    const html = await page.text();
    expect(html).toContain(`<html lang="${language}"`);
    expect(html).toContain(text);
    expect(html).toMatch(/<noscript>.*JavaScript.*<\/noscript>/);
    expect(page.headers.get('vary')).toContain('Accept-Language');
  });

  test('is kept by nobody, shown in no frame, and loads its own files only', async () => {
    const { headers, status } = await fetch(`${api.url}/handover`);
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-robots-tag')).toBe('noindex');
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
    const policy = headers.get('content-security-policy') ?? '';
    for (const part of [
      `default-src 'none'`,
      `script-src 'self'`,
      `connect-src 'self'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ])
      expect(policy).toContain(part);
    expect(headers.get('set-cookie')).toBe(null);
  });

  test('and its files are below the path of the service', async () => {
    const below = await startTestApi({
      seed: makeSeed([makeTeam('a')]),
      app: { publicUrl: 'https://x.test/svc' },
    });
    const html = await (await fetch(`${below.url}/handover`)).text();
    expect(html).toMatch(/src="\/svc\/admin\/assets\/handover-[\w-]+\.js"/);
    expect(html).toContain('href="/svc/docs"');
    expect(html).not.toContain('__');
    await below.stop();
  });
});

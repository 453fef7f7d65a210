import { beforeAll, describe, expect, test } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { decrypt } from '../../src/core/encryption.ts';
import { SUBSCRIBABLE_EVENTS } from '../../src/core/events.ts';
import { webhookSecretContext } from '../../src/features/webhook-endpoints/rules.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { auditOfTarget } from '../support/audit.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { countEndpoints, ENDPOINT_BODY, testResolver } from '../support/webhook-endpoints.ts';

const dns = testResolver();

let api: TestApi;
beforeAll(async () => {
  const endpoints = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: `whe_${index}`,
      url: 'https://hooks.example/',
    }));
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('a'),
      makeTeam('almost', { webhook_endpoints: endpoints(49) }),
      makeTeam('full', { webhook_endpoints: endpoints(50) }),
    ]),
    services: { lookup: dns.lookup },
  });
});

const call = (method: string, path: string, body?: unknown, team = 'a') =>
  api.call(api.key(`team_${team}`), method, path, body === undefined ? {} : { body });
const create = (fields: object = {}, team = 'a') =>
  call('POST', '/webhook-endpoints', { ...ENDPOINT_BODY, ...fields }, team);
const createWith = (key: string, fields: object = {}) =>
  api.call(api.key('team_a'), 'POST', '/webhook-endpoints', {
    body: { ...ENDPOINT_BODY, ...fields },
    headers: { 'idempotency-key': key },
  });
const count = (team = 'a') => countEndpoints(api, `team_${team}`);

describe('POST /webhook-endpoints', () => {
  test('201: makes an active endpoint; its secret is shown now and never again', async () => {
    const created = await create({ description: 'LMS' });
    expect(created).toMatchObject({
      status: 201,
      body: {
        ...ENDPOINT_BODY,
        description: 'LMS',
        status: 'active',
        api_version: '2026-11',
        last_success_at: null,
      },
    });
    const { id, secret } = created.body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9]{44}$/);
    expect(created.headers['location']).toBe(`/api/public/v1/webhook-endpoints/${id}`);
    const later = [
      await call('GET', '/webhook-endpoints'),
      await call('PATCH', `/webhook-endpoints/${id}`, { description: null }),
      await call('PATCH', `/webhook-endpoints/${id}`, {}),
    ];
    for (const { text } of later) expect(text).not.toContain('secret');
    expect(later[0]?.body.data.find((item: { id: string }) => item.id === id)).toEqual({
      ...created.body,
      secret: undefined,
    });
  });

  test('201: the stored secret is encrypted and decrypts in this row only', async () => {
    const { id, secret } = (await create()).body;
    const { rows } = await api.db.pool.query(
      'select secret_encrypted as sealed, * from webhook_endpoint where id = $1',
      [id],
    );
    expect(JSON.stringify(rows) + rows[0].sealed.toString('latin1')).not.toContain(secret);
    const secrets = { current: TEST_APP_SECRET, previous: null };
    expect(decrypt(rows[0].sealed, secrets, webhookSecretContext('team_a', id))).toBe(secret);
    expect(() => decrypt(rows[0].sealed, secrets, webhookSecretContext('team_b', id))).toThrow(
      'unable to authenticate data',
    );
  });

  test('201: the audit entry has the host, but no path, query or secret', async () => {
    const { id, secret } = (await create()).body;
    const audit = await auditOfTarget(api, id);
    expect(audit).toEqual([
      {
        action: 'webhook_endpoint.created',
        details: { host: 'hooks.example', events: ENDPOINT_BODY.events },
      },
    ]);
    expect(JSON.stringify(audit)).not.toContain(secret);
  });

  test('201: keeps each event type once, in the order of their first mention', async () => {
    const events = [
      'member.removed',
      'training.completed',
      'member.removed',
      'crm.sync.failed',
      'training.completed',
    ];
    expect((await create({ events })).body.events).toEqual([
      'member.removed',
      'training.completed',
      'crm.sync.failed',
    ]);
    expect((await create({ events: SUBSCRIBABLE_EVENTS })).body.events).toEqual(
      SUBSCRIBABLE_EVENTS,
    );
  });

  test.each([
    [[]],
    [['ping']],
    [['training.completed', 'ping']],
    [['training.finished']],
    [['Training.completed']],
    [['__proto__']],
  ])('422: refuses the events %j', async (events) => {
    const before = await count();
    expect(await create({ events })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'events' },
    });
    expect(await count()).toBe(before);
  });

  test.each([
    ['http://hooks.example/', 'url_not_https'],
    ['https://inside.example/', 'url_not_public'],
    ['https://nowhere.example/', 'url_not_public'],
    ['https://127.0.0.1/', 'url_not_public'],
    ['https://[::1]/', 'url_not_public'],
    ['https://2130706433/', 'url_not_public'],
    ['https://localhost/', 'url_not_public'],
    ['https://169.254.169.254/', 'url_not_public'],
    ['https://me@hooks.example/', 'url_has_credentials'],
    ['https://me:pw@hooks.example/', 'url_has_credentials'],
    ['https://hooks.example/#a', 'url_has_fragment'],
    ['https://hooks.example/a b', 'url_invalid_characters'],
    ['https://hooks.example:99999/', 'url_malformed'],
    ['https:///me:pw@hooks.example/', 'url_malformed'],
    ['hooks.example', 'url_not_https'],
    ['', 'url_not_https'],
    [`https://hooks.example/${'x'.repeat(2048)}`, 'url_too_long'],
  ])('422: refuses the target %s, and says why: %s', async (url, reason) => {
    const before = await count();
    const refused = await create({ url });
    expect(refused).toMatchObject({
      status: 422,
      body: {
        code: 'validation_error',
        field: 'url',
        errors: [{ path: 'body.url', code: reason }],
      },
    });
    // The admin page says it in its own words.
    expect([en.reasons[reason], de.reasons[reason]]).toEqual([
      expect.any(String),
      expect.any(String),
    ]);
    expect(refused.text).not.toContain('10.0.0.5');
    expect(await count()).toBe(before);
  });

  test('201: a public literal address is not looked up', async () => {
    dns.asked.length = 0;
    expect((await create({ url: 'https://93.184.216.34/hook' })).status).toBe(201);
    expect(dns.asked).toEqual([]);
  });

  test.each([
    ['no url', { url: undefined }, 'body.url'],
    ['no events', { events: undefined }, 'body.events'],
    ['events as text', { events: 'training.completed' }, 'body.events'],
    ['a secret', { secret: 'whsec_mine' }, 'body.secret'],
    ['a status', { status: 'disabled' }, 'body.status'],
  ])('422: refuses %s', async (_what, fields, path) => {
    expect(await create(fields)).toMatchObject({ status: 422, body: { errors: [{ path }] } });
  });

  test('201: a description of which nothing can be seen is none', async () => {
    expect((await create({ description: ' \u200b' })).body.description).toBeNull();
  });

  test('422: a team has at most 50 endpoints', async () => {
    expect(await create({}, 'full')).toMatchObject({
      status: 422,
      body: { field: 'url', errors: [{ code: 'too_many_endpoints' }] },
    });
    expect(await count('full')).toBe(50);
    expect((await call('DELETE', '/webhook-endpoints/whe_7', undefined, 'full')).status).toBe(200);
    expect((await create({}, 'full')).status).toBe(201);
  });

  test('exactly one of two creations that race for the last place succeeds', async () => {
    const release = await holdLock(api, `select from team where id = 'team_almost' for update`);
    const racing = Promise.all([create({}, 'almost'), create({}, 'almost')]);
    await untilWaiting(api, 2);
    await release();
    expect((await racing).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 422,
    ]);
    expect(await count('almost')).toBe(50);
  });

  test('no transaction is open during the lookup, also with an Idempotency-Key', async () => {
    const open: number[] = [];
    dns.before = async () => {
      const { rows } = await api.db.pool.query(
        `select count(*)::int as n
         from pg_stat_activity
         where datname = current_database() and state like 'idle in transaction%'`,
      );
      open.push(rows[0].n);
    };
    await create();
    await createWith('outside');
    await call('PATCH', `/webhook-endpoints/${(await create()).body.id}`, {
      url: 'https://new.example/',
    });
    dns.before = async () => undefined;
    expect(open).toEqual([0, 0, 0, 0]);
  });

  test('a replay returns the first response with its secret, without a lookup', async () => {
    const first = await createWith('replayed');
    const before = await count();
    dns.asked.length = 0;
    dns.down = true;
    const second = await createWith('replayed');
    dns.down = false;
    expect(second).toMatchObject({ status: 201, text: first.text });
    expect(second.headers).toMatchObject({
      'idempotency-replayed': 'true',
      location: first.headers['location'],
    });
    expect(dns.asked).toEqual([]);
    expect(await count()).toBe(before);
    const { rows } = await api.db.pool.query(
      `select encrypted, body from idempotency_record where key = 'replayed'`,
    );
    expect(rows[0].encrypted).toBe(true);
    expect(rows[0].body.toString('latin1')).not.toContain(first.body.secret);
    expect(await createWith('replayed', { description: 'other' })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
  });

  test('a refused target is replayed, although the name resolves by now', async () => {
    dns.down = true;
    const first = await createWith('refused');
    dns.down = false;
    const second = await createWith('refused');
    expect(first).toMatchObject({ status: 422, body: { field: 'url' } });
    expect(second).toMatchObject({
      status: 422,
      text: first.text,
      headers: { 'idempotency-replayed': 'true' },
    });
    expect((await createWith('refused again')).status).toBe(201);
  });

  test('no refusal is kept for a name server that gave no answer', async () => {
    dns.silent = true;
    const refused = await createWith('silent');
    dns.silent = false;
    expect(refused).toMatchObject({
      status: 422,
      body: { field: 'url', errors: [{ path: 'body.url', code: 'url_not_resolved' }] },
    });
    expect((await createWith('silent')).status).toBe(201);
  });

  test('what is wrong besides is kept, whatever the name server says', async () => {
    dns.silent = true;
    const first = await createWith('silent and wrong', { events: ['ping'] });
    dns.silent = false;
    const again = await createWith('silent and wrong', { events: ['ping'] });
    expect(first.body.errors).toHaveLength(2);
    expect(again).toMatchObject({
      text: first.text,
      headers: { 'idempotency-replayed': 'true' },
    });
  });

  test('two calls with one Idempotency-Key during the lookup make one endpoint', async () => {
    const before = await count();
    const gate = Promise.withResolvers<void>();
    dns.asked.length = 0;
    dns.before = () => gate.promise;
    const racing = Promise.all([createWith('twice'), createWith('twice')]);
    while (dns.asked.length < 2) await new Promise((done) => setImmediate(done));
    dns.before = async () => undefined;
    gate.resolve();
    const answers = await racing;
    const first = answers.find(
      ({ status, headers }) => status === 201 && headers['idempotency-replayed'] === undefined,
    );
    const other = answers.find((answer) => answer !== first);
    expect(first?.status).toBe(201);
    const outcome = other?.status === 409 ? other.body.code : other?.text;
    expect(['conflict', first?.text]).toContain(outcome);
    expect(await count()).toBe(before + 1);
  });

  test('where private targets are allowed, http and every address pass', async () => {
    const lenient = await startTestApi({
      seed: makeSeed([makeTeam('c')]),
      allowPrivateTargets: true,
      services: { lookup: dns.lookup },
    });
    const createAt = (url: string) =>
      lenient.call(lenient.key('team_c'), 'POST', '/webhook-endpoints', {
        body: { ...ENDPOINT_BODY, url },
      });
    const unresolved = 'https://nowhere.example/';
    for (const url of ['http://127.0.0.1:9/hook', 'http://localhost/', unresolved])
      expect((await createAt(url)).status).toBe(201);
    expect(await createAt('ftp://x/')).toMatchObject({ body: { field: 'url' } });
    await lenient.stop();
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import type { Lookup } from '../../src/core/dns-lookup.ts';
import { decrypt } from '../../src/core/encryption.ts';
import { SUBSCRIBABLE_EVENTS } from '../../src/core/events.ts';
import { webhookSecretContext } from '../../src/features/webhook-endpoints/rules.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';

const PUBLIC = [{ address: '93.184.216.34', family: 4 }];
const NAMES: Record<string, { address: string; family: number }[]> = {
  'hooks.example': PUBLIC,
  'new.example': PUBLIC,
  'inside.example': [...PUBLIC, { address: '10.0.0.5', family: 4 }],
};

/** The resolver of the tests: which names it was asked for, and what it does first. */
const dns = { asked: [] as string[], before: async (): Promise<void> => undefined, down: false };
const lookup: Lookup = async (hostname) => {
  dns.asked.push(hostname);
  await dns.before();
  const found = dns.down ? undefined : NAMES[hostname];
  if (!found) throw new Error('ENOTFOUND');
  return found;
};

let api: TestApi;
beforeAll(async () => {
  const endpoints = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: `whe_${index}`,
      url: 'https://hooks.example/',
    }));
  api = await startTestApi({
    seed: makeSeed([
      makeFullTeam('a', { webhook_endpoints: [] }),
      makeFullTeam('b'),
      makeTeam('almost', { webhook_endpoints: endpoints(49) }),
      makeTeam('full', { webhook_endpoints: endpoints(50) }),
    ]),
    services: { lookup },
  });
});

const BODY = {
  url: 'https://hooks.example/in?token=t0p',
  events: ['training.completed', 'member.joined'],
};
const call = (method: string, path: string, body?: unknown, team = 'a') =>
  api.call(api.key(`team_${team}`), method, path, body === undefined ? {} : { body });
const create = (fields: object = {}, team = 'a') =>
  call('POST', '/webhook-endpoints', { ...BODY, ...fields }, team);
const newEndpoint = async (fields: object = {}): Promise<string> => (await create(fields)).body.id;
const createWith = (key: string, fields: object = {}) =>
  api.call(api.key('team_a'), 'POST', '/webhook-endpoints', {
    body: { ...BODY, ...fields },
    headers: { 'idempotency-key': key },
  });

async function auditOf(targetId: string) {
  const { rows } = await api.db.pool.query(
    'select action, details from audit_log where target_id = $1 order by id',
    [targetId],
  );
  return rows;
}

async function countEndpoints(teamId = 'team_a'): Promise<number> {
  const { rows } = await api.db.pool.query(
    'select count(*)::int as n from webhook_endpoint where team_id = $1',
    [teamId],
  );
  return rows[0].n;
}

describe('POST /webhook-endpoints', () => {
  test('201: an active endpoint with its secret, which is shown here and never again', async () => {
    const created = await create({ description: 'LMS' });
    expect(created).toMatchObject({
      status: 201,
      body: {
        ...BODY,
        description: 'LMS',
        status: 'active',
        api_version: '2026-11',
        last_success_at: null,
      },
    });
    const { id, secret } = created.body;
    expect(secret).toMatch(/^whsec_[\w-]{43}$/);
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

  test('201: the secret is stored encrypted, for this row only', async () => {
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

  test("201: the audit entry tells the host, and nothing of the URL's path and query or the secret", async () => {
    const { id, secret } = (await create()).body;
    const audit = await auditOf(id);
    expect(audit).toEqual([
      {
        action: 'webhook_endpoint.created',
        details: { host: 'hooks.example', events: BODY.events },
      },
    ]);
    expect(JSON.stringify(audit)).not.toContain(secret);
  });

  test('201: repeated event types collapse, in the order in which they were first named', async () => {
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
  ])('422: the events %j', async (events) => {
    const before = await countEndpoints();
    expect(await create({ events })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'events' },
    });
    expect(await countEndpoints()).toBe(before);
  });

  test.each([
    'http://hooks.example/',
    'https://inside.example/',
    'https://nowhere.example/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://2130706433/',
    'https://localhost/',
    'https://169.254.169.254/',
    'https://me@hooks.example/',
    'https://hooks.example/#a',
    'hooks.example',
    '',
    `https://hooks.example/${'x'.repeat(2048)}`,
  ])('422: the target %s', async (url) => {
    const before = await countEndpoints();
    const refused = await create({ url });
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'url' },
    });
    expect(refused.text).not.toContain('10.0.0.5');
    expect(await countEndpoints()).toBe(before);
  });

  test('201: a public literal address needs no resolver', async () => {
    dns.asked.length = 0;
    expect((await create({ url: 'https://93.184.216.34/hook' })).status).toBe(201);
    expect(dns.asked).toEqual([]);
  });

  test.each([
    ['no url', { url: undefined }, 'body.url'],
    ['no events', { events: undefined }, 'body.events'],
    ['events as text', { events: 'training.completed' }, 'body.events'],
    ['a secret of its own', { secret: 'whsec_mine' }, 'body.secret'],
    ['a status', { status: 'disabled' }, 'body.status'],
  ])('422: %s', async (_what, fields, path) => {
    expect(await create(fields)).toMatchObject({ status: 422, body: { errors: [{ path }] } });
  });

  test('422: a team with 50 endpoints gets no more', async () => {
    expect(await create({}, 'full')).toMatchObject({ status: 422, body: { field: 'url' } });
    expect(await countEndpoints('team_full')).toBe(50);
    expect((await call('DELETE', '/webhook-endpoints/whe_7', undefined, 'full')).status).toBe(200);
    expect((await create({}, 'full')).status).toBe(201);
  });

  test('of two creations racing for the last place exactly one wins', async () => {
    const blocker = await api.db.pool.connect();
    await blocker.query(`begin; select from team where id = 'team_almost' for update`);
    const racing = Promise.all([create({}, 'almost'), create({}, 'almost')]);
    await untilWaiting(2);
    await blocker.query('rollback');
    blocker.release();
    expect((await racing).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 422,
    ]);
    expect(await countEndpoints('team_almost')).toBe(50);
  });

  test('the name is resolved while no transaction is open, with an Idempotency-Key too', async () => {
    const open: number[] = [];
    dns.before = async () => {
      const { rows } = await api.db.pool.query(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      );
      open.push(rows[0].n);
    };
    await create();
    await createWith('outside');
    await call('PATCH', `/webhook-endpoints/${await newEndpoint()}`, {
      url: 'https://new.example/',
    });
    dns.before = async () => undefined;
    expect(open).toEqual([0, 0, 0, 0]);
  });

  test('a replay answers the first response with its secret, and asks no resolver', async () => {
    const first = await createWith('replayed');
    const before = await countEndpoints();
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
    expect(await countEndpoints()).toBe(before);
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

  test('a refused target is the response of the operation: it is replayed, although the name resolves by now', async () => {
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

  test('two calls with one Idempotency-Key, both waiting for the resolver, make one endpoint', async () => {
    const before = await countEndpoints();
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
    expect(await countEndpoints()).toBe(before + 1);
  });

  test('with private targets allowed, http and any address pass, resolved or not', async () => {
    const lenient = await startTestApi({
      seed: makeSeed([makeTeam('c')]),
      allowPrivateTargets: true,
      services: { lookup },
    });
    for (const url of [
      'http://127.0.0.1:9/hook',
      'http://localhost/',
      'https://nowhere.example/',
    ]) {
      expect(
        (
          await lenient.call(lenient.key('team_c'), 'POST', '/webhook-endpoints', {
            body: { ...BODY, url },
          })
        ).status,
      ).toBe(201);
    }
    expect(
      await lenient.call(lenient.key('team_c'), 'POST', '/webhook-endpoints', {
        body: { ...BODY, url: 'ftp://x/' },
      }),
    ).toMatchObject({ body: { field: 'url' } });
    await lenient.stop();
  });
});

describe('GET /webhook-endpoints', () => {
  test("200: all of the team's, newest first, and no other team's", async () => {
    const [older, newer] = [await newEndpoint(), await newEndpoint()];
    const { body } = await call('GET', '/webhook-endpoints');
    const ids = body.data.map((item: { id: string }) => item.id);
    expect(ids.slice(0, 2)).toEqual([newer, older]);
    expect(ids).not.toContain('whe_b');
    expect(Object.keys(body)).toEqual(['data']);
  });

  test('403: every operation needs webhooks:manage', async () => {
    const key = api.key('team_a', 'users:read');
    const asked = [
      ['GET', '/webhook-endpoints'],
      ['POST', '/webhook-endpoints'],
      ['PATCH', '/webhook-endpoints/x'],
      ['DELETE', '/webhook-endpoints/x'],
    ] as const;
    for (const [method, path] of asked) {
      expect(
        await api.call(
          key,
          method,
          path,
          method === 'GET' || method === 'DELETE' ? {} : { body: {} },
        ),
      ).toMatchObject({ status: 403, body: { required_scope: 'webhooks:manage' } });
    }
  });
});

describe('PATCH /webhook-endpoints/{endpoint_id}', () => {
  const patch = (id: string, body: object) => call('PATCH', `/webhook-endpoints/${id}`, body);

  test('200: changes what it names and leaves the rest, the secret included', async () => {
    const id = await newEndpoint({ description: 'Old' });
    const sealed = await sealedOf(id);
    expect(
      await patch(id, {
        url: 'https://new.example/x?k=v',
        events: ['crm.sync.failed', 'crm.sync.failed'],
      }),
    ).toMatchObject({
      status: 200,
      body: {
        id,
        url: 'https://new.example/x?k=v',
        events: ['crm.sync.failed'],
        description: 'Old',
        status: 'active',
      },
    });
    expect((await patch(id, { description: null })).body.description).toBeNull();
    expect(await sealedOf(id)).toEqual(sealed);
    expect((await auditOf(id)).slice(1)).toEqual([
      {
        action: 'webhook_endpoint.updated',
        details: { fields: ['url', 'events'], host: 'new.example', events: ['crm.sync.failed'] },
      },
      { action: 'webhook_endpoint.updated', details: { fields: ['description'] } },
    ]);
  });

  test('200: disabled by hand, and active again after failures, which forgets since when it failed', async () => {
    const id = await newEndpoint();
    expect((await patch(id, { status: 'disabled' })).body.status).toBe('disabled');
    await api.db.pool.query(
      `update webhook_endpoint set status = 'disabled_failures', failing_since = now() where id = $1`,
      [id],
    );
    expect((await patch(id, { description: 'still paused' })).body.status).toBe(
      'disabled_failures',
    );
    expect(await failingSince(id)).not.toBeNull();
    expect((await patch(id, { status: 'active' })).body.status).toBe('active');
    expect(await failingSince(id)).toBeNull();
  });

  test('200: an empty body changes nothing, asks no resolver and leaves no trace', async () => {
    const id = await newEndpoint();
    dns.asked.length = 0;
    expect(await patch(id, {})).toMatchObject({ status: 200, body: { id, url: BODY.url } });
    expect(dns.asked).toEqual([]);
    expect(await auditOf(id)).toHaveLength(1);
  });

  test.each([
    [{ status: 'disabled_failures' }, 'status'],
    [{ status: 'paused' }, 'status'],
    [{ events: [] }, 'events'],
    [{ events: ['ping'] }, 'events'],
    [{ url: 'https://inside.example/' }, 'url'],
    [{ url: 'http://hooks.example/' }, 'url'],
    [{ url: 'https://10.0.0.1/', status: 'disabled' }, 'url'],
  ])('422: %j is refused as a whole', async (body, field) => {
    const id = await newEndpoint();
    expect(await patch(id, body)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field },
    });
    expect(await patch(id, {})).toMatchObject({
      body: { url: BODY.url, events: BODY.events, status: 'active' },
    });
  });

  test('422: null where nothing can be cleared, and fields that are not to be set', async () => {
    const id = await newEndpoint();
    for (const name of ['url', 'events', 'status', 'secret', 'api_version']) {
      expect(await patch(id, { [name]: null })).toMatchObject({
        status: 422,
        body: { errors: [{ path: `body.${name}` }] },
      });
    }
  });

  test.each(['whe_b', 'whe_unknown'])("404: %s, another team's or unknown", async (id) => {
    for (const body of [{}, { status: 'disabled' }, { url: 'https://new.example/' }])
      expect(await patch(id, body)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const { rows } = await api.db.pool.query(
      `select url, status from webhook_endpoint where id = 'whe_b'`,
    );
    expect(rows).toEqual([{ url: 'https://example.com/hook', status: 'active' }]);
  });

  async function sealedOf(id: string): Promise<unknown> {
    const { rows } = await api.db.pool.query(
      'select secret_encrypted from webhook_endpoint where id = $1',
      [id],
    );
    return rows[0].secret_encrypted;
  }

  async function failingSince(id: string): Promise<unknown> {
    const { rows } = await api.db.pool.query(
      'select failing_since from webhook_endpoint where id = $1',
      [id],
    );
    return rows[0].failing_since;
  }
});

describe('DELETE /webhook-endpoints/{endpoint_id}', () => {
  test('200: the endpoint and its waiting deliveries are gone; the event itself stays', async () => {
    const [id, other] = [await newEndpoint(), await newEndpoint()];
    await api.db.pool.query(
      `insert into event (team_id, id, type, data, created_at) values ('team_a', 'evt_1', 'member.joined', '{}', now())`,
    );
    for (const endpointId of [id, other]) {
      await api.db.pool.query(
        `insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at) values ('team_a', $1, $2, 'evt_1', 'member.joined', now(), now())`,
        [`whd_${endpointId}`, endpointId],
      );
    }
    expect(await call('DELETE', `/webhook-endpoints/${id}`)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    const { rows } = await api.db.pool.query(
      `select endpoint_id, (select count(*)::int from event where id = 'evt_1') as events from webhook_delivery where event_id = 'evt_1'`,
    );
    expect(rows).toEqual([{ endpoint_id: other, events: 1 }]);
    expect((await auditOf(id)).at(-1)).toEqual({ action: 'webhook_endpoint.deleted', details: {} });
    expect((await call('DELETE', `/webhook-endpoints/${id}`)).status).toBe(404);
  });

  test("404: another team's endpoint stays", async () => {
    expect((await call('DELETE', '/webhook-endpoints/whe_b')).status).toBe(404);
    expect(await countEndpoints('team_b')).toBe(1);
  });
});

/** Until so many statements of this database wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (;;) {
    const { rows } = await api.db.pool.query(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (rows[0].n >= count) return;
  }
}

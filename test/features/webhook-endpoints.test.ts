import { beforeAll, describe, expect, test } from 'vitest';
import { removeDeletedEndpoint } from '../../src/features/webhook-deliveries/removal.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { auditOfTarget } from '../support/audit.ts';
import { clockAhead } from '../support/clocks.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { countEndpoints, ENDPOINT_BODY, testResolver } from '../support/webhook-endpoints.ts';

const dns = testResolver();

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeFullTeam('a', { webhook_endpoints: [] }), makeFullTeam('b')]),
    services: { lookup: dns.lookup },
    // A grace period ends by the clock of the database, which the tests' is.
    clock: clockAhead(20_000),
  });
});

const call = (method: string, path: string, body?: unknown) =>
  api.call(api.key('team_a'), method, path, body === undefined ? {} : { body });
const newEndpoint = async (fields: object = {}): Promise<string> =>
  (await call('POST', '/webhook-endpoints', { ...ENDPOINT_BODY, ...fields })).body.id;

describe('GET /webhook-endpoints', () => {
  test("200: lists all of the team's endpoints, newest first, and no others", async () => {
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
      ['GET', '/webhook-endpoints/x'],
      ['PATCH', '/webhook-endpoints/x'],
      ['DELETE', '/webhook-endpoints/x'],
    ] as const;
    for (const [method, path] of asked) {
      const options = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
      expect(await api.call(key, method, path, options)).toMatchObject({
        status: 403,
        body: { required_scope: 'webhooks:manage' },
      });
    }
  });
});

describe('GET /webhook-endpoints/{endpoint_id}', () => {
  test('200: shows the endpoint as the list does, without its secret', async () => {
    const id = await newEndpoint({ description: 'One' });
    const { status, body } = await call('GET', `/webhook-endpoints/${id}`);
    expect({ status, body }).toMatchObject({ status: 200, body: { id, description: 'One' } });
    expect(body).not.toHaveProperty('secret');
    const list = (await call('GET', '/webhook-endpoints')).body.data as { id: string }[];
    expect(list.find((one) => one.id === id)).toEqual(body);
  });

  test('404: of another team, or unknown', async () => {
    for (const id of ['whe_b', 'whe_none'])
      expect(await call('GET', `/webhook-endpoints/${id}`)).toMatchObject({ status: 404 });
  });
});

describe('PATCH /webhook-endpoints/{endpoint_id}', () => {
  const patch = (id: string, body: object) => call('PATCH', `/webhook-endpoints/${id}`, body);

  test('200: changes only the fields it names, never the secret', async () => {
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
    expect((await auditOfTarget(api, id)).slice(1)).toEqual([
      {
        action: 'webhook_endpoint.updated',
        details: { fields: ['url', 'events'], host: 'new.example', events: ['crm.sync.failed'] },
      },
      { action: 'webhook_endpoint.updated', details: { fields: ['description'] } },
    ]);
  });

  test('200: disables; other fields leave a paused endpoint as it is', async () => {
    const id = await newEndpoint();
    expect((await patch(id, { status: 'disabled' })).body.status).toBe('disabled');
    await api.db.pool.query(
      `update webhook_endpoint
       set status = 'disabled_failures', failing_since = now(),
         hourly_failures = array[now()]
       where id = $1`,
      [id],
    );
    expect((await patch(id, { description: 'still paused' })).body.status).toBe(
      'disabled_failures',
    );
    expect(await failingSince(id)).not.toBeNull();
  });

  test.each(['active', 'disabled', 'disabled_failures'])(
    '200: the status active forgets since when it failed, whatever it was: %s',
    async (before) => {
      const id = await newEndpoint();
      await api.db.pool.query(
        `update webhook_endpoint
         set status = $2, failing_since = now(), hourly_failures = array[now()]
         where id = $1`,
        [id, before],
      );
      expect((await patch(id, { status: 'active' })).body.status).toBe('active');
      expect(await failingSince(id)).toBeNull();
    },
  );

  test.each([
    ['', null],
    [' \u200b ', null],
    [' Ours ', 'Ours'],
  ])('200: stores the description %j as %j', async (given, description) => {
    const id = await newEndpoint();
    expect((await patch(id, { description: 'Before' })).body.description).toBe('Before');
    expect((await patch(id, { description: given })).body.description).toBe(description);
  });

  test('200: an empty body changes nothing, looks up nothing and logs nothing', async () => {
    const id = await newEndpoint();
    dns.asked.length = 0;
    expect(await patch(id, {})).toMatchObject({
      status: 200,
      body: { id, url: ENDPOINT_BODY.url },
    });
    expect(dns.asked).toEqual([]);
    expect(await auditOfTarget(api, id)).toHaveLength(1);
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
      body: { url: ENDPOINT_BODY.url, events: ENDPOINT_BODY.events, status: 'active' },
    });
  });

  test('422: refuses null for required fields, and fields that cannot be set', async () => {
    const id = await newEndpoint();
    for (const name of ['url', 'events', 'status', 'secret', 'api_version']) {
      expect(await patch(id, { [name]: null })).toMatchObject({
        status: 422,
        body: { errors: [{ path: `body.${name}` }] },
      });
    }
  });

  test.each(['whe_b', 'whe_unknown'])("404: hides %s (another team's, unknown)", async (id) => {
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
      `select coalesce(failing_since, hourly_failures[1]) as failing_since
       from webhook_endpoint
       where id = $1`,
      [id],
    );
    return rows[0].failing_since;
  }
});

describe('POST /webhook-endpoints/{endpoint_id}/rotate-secret', () => {
  const rotate = (id: string, body: object, key = api.key('team_a')) =>
    api.call(key, 'POST', `/webhook-endpoints/${id}/rotate-secret`, { body });

  test('200: returns a new secret once, and until when the old one is valid', async () => {
    const created = (await call('POST', '/webhook-endpoints', ENDPOINT_BODY)).body;
    const before = Date.now();
    const rotated = await rotate(created.id, { grace_s: 3600 });
    const after = Date.now();
    const { secret, earlier_secrets_until: until, ...rest } = rotated.body;
    expect(rotated.status).toBe(200);
    expect({ ...rest, secret: created.secret }).toEqual(created);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9]{44}$/);
    expect(secret).not.toBe(created.secret);
    expect(Date.parse(until)).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(Date.parse(until)).toBeLessThanOrEqual(after + 3_600_000);
    const { body, text } = await call('GET', '/webhook-endpoints');
    expect(text).not.toContain('"secret"');
    const listed = body.data.find(({ id }: { id: string }) => id === created.id);
    expect(listed).toEqual({ ...rest, earlier_secrets_until: until });
    expect((await auditOfTarget(api, created.id)).at(-1)).toEqual({
      action: 'webhook_endpoint.secret_rotated',
      details: { grace_s: 3600 },
    });
  });

  test('200: without a grace period no earlier secret is kept', async () => {
    const id = await newEndpoint();
    await rotate(id, { grace_s: 60 });
    expect((await rotate(id, { grace_s: 0 })).body).not.toHaveProperty('earlier_secrets_until');
    const { rows } = await api.db.pool.query(
      `select earlier_secrets_encrypted as kept, earlier_secrets_until as until
       from webhook_endpoint
       where id = $1`,
      [id],
    );
    expect(rows).toEqual([{ kept: null, until: null }]);
  });

  test('200: a repeated call returns the same secret, and rotates once', async () => {
    const id = await newEndpoint();
    const again = () =>
      api.call(api.key('team_a'), 'POST', `/webhook-endpoints/${id}/rotate-secret`, {
        body: { grace_s: 60 },
        headers: { 'idempotency-key': `rotate-${id}` },
      });
    const first = await again();
    expect((await again()).text).toBe(first.text);
    expect((await auditOfTarget(api, id)).map(({ action }) => action)).toEqual([
      'webhook_endpoint.created',
      'webhook_endpoint.secret_rotated',
    ]);
  });

  const damage = (id: string, column: string) =>
    api.db.pool.query(`update webhook_endpoint set ${column} = $2 where id = $1`, [
      id,
      Buffer.from('no key opens this'),
    ]);

  test.each(['secret_encrypted', 'earlier_secrets_encrypted'])(
    '409 with Retry-After: no key opens %s, unless all earlier ones end at once',
    async (column) => {
      const id = await newEndpoint();
      await rotate(id, { grace_s: 60 });
      await damage(id, column);
      const refused = await rotate(id, { grace_s: 60 });
      expect(refused).toMatchObject({
        status: 409,
        body: { code: 'conflict', retry_after: 1, detail: expect.stringContaining('grace_s 0') },
      });
      expect(await auditOfTarget(api, id)).toHaveLength(2);
      expect(await rotate(id, { grace_s: 0 })).toMatchObject({
        status: 200,
        body: { secret: expect.stringMatching(/^whsec_/) },
      });
      expect(await rotate(id, { grace_s: 60 })).toMatchObject({ status: 200 });
    },
  );

  test('404: of another team, as of none', async () => {
    const foreign = await rotate('whe_b', { grace_s: 0 });
    expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test.each([[{}], [{ grace_s: -1 }], [{ grace_s: 604_801 }], [{ grace_s: '60' }]])(
    '422: %j',
    async (body) => {
      const id = await newEndpoint();
      expect(await rotate(id, body)).toMatchObject({
        status: 422,
        body: { field: 'grace_s' },
      });
      expect(await auditOfTarget(api, id)).toHaveLength(1);
    },
  );
});

describe('DELETE /webhook-endpoints/{endpoint_id}', () => {
  test('200: removes the endpoint, and enqueues the removal of its deliveries only', async () => {
    const [id, other] = [await newEndpoint(), await newEndpoint()];
    await api.db.pool.query(
      `insert into event (team_id, id, type, data, created_at)
       values ('team_a', 'evt_1', 'member.joined', '{}', now())`,
    );
    for (const endpointId of [id, other]) {
      await api.db.pool.query(
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at)
         values ('team_a', $1, $2, 'evt_1', 'member.joined', now(), now())`,
        [`whd_${endpointId}`, endpointId],
      );
    }
    expect(await call('DELETE', `/webhook-endpoints/${id}`)).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    const jobs = await api.db.pool.query(
      `select payload
       from pending_job
       where task = 'remove_deliveries'`,
    );
    expect(jobs.rows).toEqual([{ payload: { teamId: 'team_a', endpointId: id } }]);
    await removeDeletedEndpoint(api.db, { teamId: 'team_a', endpointId: id });
    const { rows } = await api.db.pool.query(
      `select endpoint_id, (select count(*)::int from event where id = 'evt_1') as events
       from webhook_delivery
       where event_id = 'evt_1'`,
    );
    expect(rows).toEqual([{ endpoint_id: other, events: 1 }]);
    expect((await auditOfTarget(api, id)).at(-1)).toEqual({
      action: 'webhook_endpoint.deleted',
      details: {},
    });
    expect((await call('DELETE', `/webhook-endpoints/${id}`)).status).toBe(404);
  });

  test("404: another team's endpoint stays", async () => {
    expect((await call('DELETE', '/webhook-endpoints/whe_b')).status).toBe(404);
    expect(await countEndpoints(api, 'team_b')).toBe(1);
  });
});

import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { Removal } from '../../src/features/crm/sync/jobs.ts';
import { removeRows } from '../../src/features/crm/sync/removal.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { syncAtOnce } from '../support/crm-sync.ts';
import { answer, startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

type App = Awaited<ReturnType<typeof appAsMember>>;

let api: TestApi;
let app: App;
let crm: FakeCrm;

beforeAll(async () => {
  api = await startTestApi({
    allowPrivateTargets: true,
    seed: makeSeed([
      makeTeam('a', { crm_connections: [], crm_deals: [], crm_objections: [] }),
      makeTeam('b', { crm_connections: [], crm_deals: [], crm_objections: [] }),
    ]),
  });
});
beforeEach(async () => {
  await putSeedBack(api);
  app = await appAsMember(api, 'a', 'owner');
  crm = await startCrm('pipedrive');
  crm.token = 'secret-token-0123456789';
  for (let id = 1; id <= 3; id += 1)
    crm.put({
      id,
      status: 'lost',
      lostReason: 'Too expensive',
      amount: '1',
      modified: '2026-10-01T00:00:00.000Z',
    });
});

type ConnectInput = Parameters<App['admin']['crm']['connect']['mutate']>[0];

const connect = (fields: Partial<Extract<ConnectInput, { credentials: string }>> = {}) =>
  app.admin.crm.connect.mutate({
    provider: 'pipedrive',
    credentials: crm.token,
    base_url: crm.url,
    ...fields,
  });

const sync = (connectionId: string, teamId = 'team_a') =>
  syncAtOnce({ db: api.db, clock: systemClock }, { teamId, connectionId });

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return (await api.db.pool.query(text)).rows as Record<string, unknown>[];
}

async function listed(path: string): Promise<number> {
  const { body } = await api.call(api.key('team_a'), 'GET', path);
  return (body as { data: unknown[] }).data.length;
}

const audit = async () =>
  (await auditOf(api, 'team_a')).map(({ action, actor_id }) => `${action} ${actor_id}`);

describe('connecting', () => {
  test('stores the connection, due at once, and returns it without its token', async () => {
    const made = await connect({ objection_marker: ' Einwand: ' });
    expect(made).toMatchObject({
      provider: 'pipedrive',
      status: 'active',
      objection_marker: 'Einwand:',
      last_error: null,
    });
    expect(await app.admin.crm.list.query({})).toEqual({ data: [made] });
    expect(await rows(`select task from pending_job`)).toEqual([{ task: 'schedule_crm_syncs' }]);
    expect(await audit()).toEqual(['crm_connection.connected mem_a_owner']);
    expect(await sync(made.id)).toBe('done');
    const [after] = (await app.admin.crm.list.query({})).data;
    expect(after).toMatchObject({ failure_streak: 0, last_error: null, syncing: false });
    expect(after?.last_synced_at).not.toBeNull();
  });

  test('the token is encrypted: no plain text in database, responses or logs', async () => {
    const made = await connect();
    crm.token = 'another';
    await sync(made.id);
    const texts: string[] = [
      JSON.stringify(await app.admin.crm.list.query({})),
      ...api.loggedErrors,
    ];
    for (const table of ['crm_connection', 'audit_log', 'event', 'pending_job'])
      texts.push(JSON.stringify(await rows(`select to_jsonb(t) as row from ${table} t`)));
    const hex = Buffer.from('secret-token-0123456789').toString('hex');
    for (const text of texts) {
      expect(text).not.toContain('secret-token-0123456789');
      expect(text).not.toContain(hex);
    }
  });

  test('a stored token cannot be decrypted in another connection', async () => {
    const [one, two] = [await connect(), await connect()];
    const [stored] = await rows(
      `select credentials_encrypted from crm_connection where id = '${one.id}'`,
    );
    await api.db.pool.query('update crm_connection set credentials_encrypted = $1 where id = $2', [
      stored?.['credentials_encrypted'],
      two.id,
    ]);
    expect(await sync(two.id)).toBe('failed');
    expect((await rows(`select data from event`)).map((row) => row['data'])).toMatchObject([
      { connection_id: two.id, reason: 'credentials_unreadable' },
    ]);
  });

  test.each([
    { what: 'a token that the CRM refuses', field: 'credentials', status: 401 },
    { what: 'a token that may not read deals', field: 'credentials', status: 403 },
    { what: 'a CRM that is away', field: 'provider', status: 503 },
  ])('refuses $what, and stores nothing', async ({ field, status }) => {
    crm.intercept = (_request, response) => {
      answer(response, status, { success: false });
      return true;
    };
    const refused = await connect().catch(
      (error: unknown) => error as { data: { problem: unknown } },
    );
    expect(refused).toMatchObject({ data: { problem: { code: 'validation_error', field } } });
    expect(await rows(`select id from crm_connection`)).toEqual([]);
    expect(await audit()).toEqual([]);
  });

  test('asks HubSpot with the token as a bearer', async () => {
    const hubspot = await startCrm('hubspot');
    const made = await connect({
      provider: 'hubspot',
      credentials: 'the-token',
      base_url: hubspot.url,
    });
    expect(made.provider).toBe('hubspot');
    expect(
      hubspot.requests.every(({ headers }) => headers.authorization === 'Bearer the-token'),
    ).toBe(true);
    expect(hubspot.requests.length).toBeGreaterThan(1);
  });

  test('refuses invalid tokens, unknown providers or fields, an eleventh connection', async () => {
    expect(await codeOf(connect({ credentials: 'a\nb' }))).toBe('validation_error');
    expect(await codeOf(connect({ provider: 'salesforce' as 'hubspot' }))).toBe('validation_error');
    expect(await codeOf(connect({ ['nonsense' as 'base_url']: 'x' }))).toBe('validation_error');
    for (let count = 0; count < 10; count += 1) await connect();
    expect(await codeOf(connect())).toBe('validation_error');
    expect(await rows(`select id from crm_connection`)).toHaveLength(10);
  });

  test('allows another base URL only in development and tests', async () => {
    const strict = await startTestApi({
      seed: makeSeed([makeTeam('a', { crm_connections: [], crm_deals: [], crm_objections: [] })]),
    });
    const owner = await appAsMember(strict, 'a', 'owner');
    const wanted = { provider: 'pipedrive', credentials: crm.token, base_url: crm.url } as const;
    expect(await codeOf(owner.admin.crm.connect.mutate(wanted))).toBe('validation_error');
    expect(crm.requests).toEqual([]);
  });
});

describe('replacing the token', () => {
  const OTHER = 'other-secret-9876543210';
  const replace = (connectionId: string, credentials = OTHER) =>
    app.admin.crm.replaceCredentials.mutate({
      connection_id: connectionId,
      provider: 'pipedrive',
      credentials,
    });

  test('lets a failing connection work again, at once, from the beginning', async () => {
    const { id } = await connect();
    await sync(id);
    crm.token = OTHER;
    await app.admin.crm.syncNow.mutate({ connection_id: id });
    expect(await sync(id)).toBe('failed');
    // What the other account does not have is removed by the next round.
    crm.deals.delete(3);
    await api.db.pool.query('delete from pending_job');
    const replaced = await replace(id);
    expect(replaced).toMatchObject({ id, status: 'active', last_error: null, failure_streak: 0 });
    expect(Date.parse(replaced.next_sync_at ?? '')).toBeLessThanOrEqual(Date.now());
    expect(await rows(`select task from pending_job`)).toEqual([{ task: 'schedule_crm_syncs' }]);
    expect((await audit()).at(-1)).toBe('crm_connection.credentials_replaced mem_a_owner');
    expect(await sync(id)).toBe('done');
    expect(await listed('/crm/deals')).toBe(2);
  });

  test('takes the connection from a run that still uses the former token', async () => {
    const { id } = await connect();
    let isReplaced = false;
    crm.intercept = async (request, response) => {
      if (isReplaced || !request.path.includes('deals')) return false;
      isReplaced = true;
      crm.intercept = null;
      crm.token = OTHER;
      await replace(id);
      answer(response, 401, { success: false });
      return true;
    };
    expect(await sync(id)).toBe('lost');
    expect((await app.admin.crm.list.query({})).data).toMatchObject([
      { last_error: null, failure_streak: 0, syncing: false },
    ]);
    expect(await rows(`select type from event`)).toEqual([]);
  });

  test.each([
    { what: 'a token that the CRM refuses', field: 'credentials', status: 401 },
    { what: 'a token that may not read deals', field: 'credentials', status: 403 },
    { what: 'a CRM that is away', field: 'provider', status: 503 },
  ])('refuses $what, and keeps the former one', async ({ field, status }) => {
    const { id } = await connect();
    const before = await rows(`select credentials_encrypted from crm_connection`);
    crm.intercept = (_request, response) => {
      answer(response, status, { success: false });
      return true;
    };
    const refused = await replace(id).catch(
      (error: unknown) => error as { data: { problem: unknown } },
    );
    expect(refused).toMatchObject({ data: { problem: { code: 'validation_error', field } } });
    expect(await rows(`select credentials_encrypted from crm_connection`)).toEqual(before);
    expect(await audit()).toEqual(['crm_connection.connected mem_a_owner']);
    crm.intercept = null;
    expect(await sync(id)).toBe('done');
  });

  test('leaves no plain text of the token in database, responses or logs', async () => {
    const { id } = await connect();
    crm.token = OTHER;
    const texts = [JSON.stringify(await replace(id))];
    crm.token = 'a third one';
    await replace(id, `${OTHER}x`).catch((error: unknown) =>
      texts.push(String(error), JSON.stringify(error)),
    );
    await sync(id);
    texts.push(...api.loggedErrors);
    for (const table of ['crm_connection', 'audit_log', 'event', 'pending_job'])
      texts.push(JSON.stringify(await rows(`select to_jsonb(t) as row from ${table} t`)));
    const hex = Buffer.from(OTHER).toString('hex');
    expect(texts).toHaveLength(7);
    for (const text of texts) {
      expect(text).not.toContain(OTHER);
      expect(text).not.toContain(hex);
    }
  });

  test('needs the connection: neither paused ones start, nor those of others exist', async () => {
    const { id } = await connect();
    crm.token = OTHER;
    await app.admin.crm.pause.mutate({ connection_id: id });
    expect(await replace(id)).toMatchObject({ status: 'paused', next_sync_at: null });
    const wanted = { connection_id: id, provider: 'hubspot', credentials: 'x' } as const;
    expect(await codeOf(app.admin.crm.replaceCredentials.mutate(wanted))).toBe('validation_error');
    const [other, member] = [
      await appAsMember(api, 'b', 'owner'),
      await appAsMember(api, 'a', 'member'),
    ];
    crm.requests.length = 0;
    expect(await codeOf(other.admin.crm.replaceCredentials.mutate(wanted))).toBe('not_found');
    expect(await codeOf(member.admin.crm.replaceCredentials.mutate(wanted))).toBe('forbidden');
    await app.admin.crm.disconnect.mutate({ connection_id: id });
    expect(await codeOf(replace(id))).toBe('not_found');
    // The CRM is asked only for connections that exist.
    expect(crm.requests).toEqual([]);
  });
});

describe('a connection', () => {
  test('hides its deals and objections while it is paused, and shows them afterwards', async () => {
    const { id } = await connect();
    await sync(id);
    expect([await listed('/crm/deals'), await listed('/crm/objections')]).toEqual([3, 3]);
    expect(await app.admin.crm.pause.mutate({ connection_id: id })).toMatchObject({
      status: 'paused',
      next_sync_at: null,
    });
    await app.admin.crm.pause.mutate({ connection_id: id });
    expect([await listed('/crm/deals'), await listed('/crm/objections')]).toEqual([0, 0]);
    expect(await codeOf(app.admin.crm.syncNow.mutate({ connection_id: id }))).toBe('conflict');
    const resumed = await app.admin.crm.resume.mutate({ connection_id: id });
    expect(resumed.status).toBe('active');
    expect(resumed.next_sync_at).not.toBeNull();
    expect([await listed('/crm/deals'), await listed('/crm/objections')]).toEqual([3, 3]);
    expect(await audit()).toEqual([
      'crm_connection.connected mem_a_owner',
      'crm_connection.paused mem_a_owner',
      'crm_connection.resumed mem_a_owner',
    ]);
  });

  test('tells whether it has credentials: without them it cannot be synchronized', async () => {
    const [kept, bare] = [await connect(), await connect()];
    // As seeded connections are, which nobody has given a token.
    await api.db.pool.query(
      'update crm_connection set credentials_encrypted = null, next_sync_at = null where id = $1',
      [bare.id],
    );
    const { data } = await app.admin.crm.list.query({});
    const told = Object.fromEntries(data.map((one) => [one.id, one.has_credentials]));
    expect(told).toEqual({ [kept.id]: true, [bare.id]: false });
    expect(await codeOf(app.admin.crm.syncNow.mutate({ connection_id: bare.id }))).toBe('conflict');
    const replaced = await app.admin.crm.replaceCredentials.mutate({
      connection_id: bare.id,
      provider: 'pipedrive',
      credentials: crm.token,
    });
    expect(replaced.has_credentials).toBe(true);
    expect(await codeOf(app.admin.crm.syncNow.mutate({ connection_id: bare.id }))).toBe('ok');
  });

  test('is synchronized at once when asked to', async () => {
    const { id } = await connect();
    await sync(id);
    expect(await sync(id)).toBe('skipped');
    await app.admin.crm.syncNow.mutate({ connection_id: id });
    expect(await sync(id)).toBe('done');
  });

  test('shows its last failure, the number of failures and the next attempt', async () => {
    const { id } = await connect();
    crm.token = 'another';
    const before = Date.now();
    await sync(id);
    const [failed] = (await app.admin.crm.list.query({})).data;
    expect(failed).toMatchObject({
      last_error: 'unauthorized',
      failure_streak: 1,
      last_synced_at: null,
    });
    expect(Date.parse(failed?.next_sync_at ?? '')).toBeGreaterThan(before + 30_000);
  });

  test('that is disconnected hides its rows, loses its token and is removed by a job', async () => {
    const { id } = await connect();
    await sync(id);
    await api.db.pool.query(
      `insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
       select 'team_a', 'd' || n, $1, 'x' || n, 'open', now()
       from generate_series(1, 1200) n`,
      [id],
    );
    expect(await app.admin.crm.disconnect.mutate({ connection_id: id })).toEqual({ ok: true });
    expect([await listed('/crm/deals'), await listed('/crm/objections')]).toEqual([0, 0]);
    expect(await app.admin.crm.list.query({})).toEqual({ data: [] });
    expect(
      await rows(`select credentials_encrypted, sync_state, status from crm_connection`),
    ).toEqual([{ credentials_encrypted: null, sync_state: null, status: 'disconnected' }]);
    expect(await codeOf(app.admin.crm.resume.mutate({ connection_id: id }))).toBe('not_found');
    expect(await codeOf(app.admin.crm.disconnect.mutate({ connection_id: id }))).toBe('not_found');
    expect(
      await rows(
        `select task
         from pending_job
         where task = 'remove_crm_connection'`,
      ),
    ).toHaveLength(1);
    await removeRows(api.db, { teamId: 'team_a', connectionId: id }, { runMs: 100_000 });
    expect(
      await rows(
        `select 1 from crm_deal
         union all select 1 from crm_objection
         union all select 1 from crm_connection`,
      ),
    ).toEqual([]);
  });

  test('is removed further by the next job, from where the one before stopped', async () => {
    const { id } = await connect();
    await api.db.pool.query(
      `insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
       select 'team_a', 'd' || n, $1, 'x' || n, 'open', now()
       from generate_series(1001, 2200) n`,
      [id],
    );
    await app.admin.crm.disconnect.mutate({ connection_id: id });
    const ends: (string | undefined)[] = [];
    for (;;) {
      const { rows: taken } = await api.db.pool.query<{ payload: Removal }>(
        `delete from pending_job where task = 'remove_crm_connection' returning payload`,
      );
      const [job] = taken;
      if (!job) break;
      await removeRows(api.db, job.payload, { signal: AbortSignal.abort() });
      ends.push(job.payload.after);
    }
    expect(ends).toEqual([undefined, 'x1500', 'x2000', 'x2200']);
    expect(await rows('select id from crm_connection')).toEqual([]);
  });

  test('is not removed by a job while it is connected', async () => {
    const { id } = await connect();
    await sync(id);
    await removeRows(api.db, { teamId: 'team_a', connectionId: id });
    expect(await listed('/crm/deals')).toBe(3);
  });

  test('of another team is not found', async () => {
    const { id } = await connect();
    const other = await appAsMember(api, 'b', 'owner');
    for (const name of ['pause', 'resume', 'syncNow', 'disconnect'] as const)
      expect(await codeOf(other.admin.crm[name].mutate({ connection_id: id }))).toBe('not_found');
    expect(await other.admin.crm.list.query({})).toEqual({ data: [] });
    expect(await sync(id, 'team_b')).toBe('skipped');
  });

  test('is for admins only', async () => {
    const [admin, member] = [
      await appAsMember(api, 'a', 'admin'),
      await appAsMember(api, 'a', 'member'),
    ];
    expect(await codeOf(admin.admin.crm.list.query({}))).toBe('ok');
    expect(await codeOf(member.admin.crm.list.query({}))).toBe('forbidden');
  });
});

// CRM connections of a sandbox: they lead to a simulated account, and to no address at all.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { isAbsolute } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { openProvider, PROVIDER_NAMES } from '../../src/features/crm/providers/registry.ts';
import { scheduleDue } from '../../src/features/crm/sync/service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf } from '../support/app.ts';
import { syncAtOnce } from '../support/crm-sync.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

const START = new Date();
const clock = fixedClock(START);
const TEAM = 'team_a:sandbox';
const OWN = 'crm_sandbox';

/** The hosts that this process looked up or connected to. Postgres and the API are on this one. */
const hosts: string[] = [];
subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: Socket };
  socket.once('lookup', (_error, _address, _family, host: string) => void hosts.push(host));
  socket.once('connectionAttempt', (host: string) => void hosts.push(host));
});
const otherHosts = () =>
  hosts.filter((host) => !['127.0.0.1', '::1', 'localhost'].includes(host) && !isAbsolute(host));

let api: TestApi;
let key: string;
let app: Awaited<ReturnType<typeof appInSandbox>>;
beforeAll(async () => {
  api = await startTestApi({ clock, allowPrivateTargets: true, seed: makeSeed([makeTeam('a')]) });
  key = await openSandbox(api, 'a', 'typical', clock.now());
  app = await appInSandbox(api, 'a', 'owner', clock.now());
});
beforeEach(async () => {
  clock.set(START);
  hosts.length = 0;
  await putSeedBack(api);
});

const sync = (connectionId: string) =>
  syncAtOnce({ db: api.db, clock }, { teamId: TEAM, connectionId });
const list = async (path: string): Promise<Record<string, unknown>[]> =>
  ((await api.call(key, 'GET', path)).body as { data: Record<string, unknown>[] }).data;
const connection = async (id: string) =>
  (await app.admin.crm.list.query({})).data.find((found) => found.id === id);

describe.each(PROVIDER_NAMES)('a connection to %s in a sandbox', (provider) => {
  it('is read from the simulated account, without a socket to anywhere', async () => {
    await app.admin.crm.disconnect.mutate({ connection_id: OWN });
    const made = await app.admin.crm.connect.mutate({
      provider,
      credentials: 'whatever-token',
      objection_marker: 'Objection:',
    });
    expect(made).toMatchObject({ provider, status: 'active', has_credentials: true });
    expect(await sync(made.id)).toBe('done');
    expect((await list('/crm/deals')).map(({ outcome }) => String(outcome)).toSorted()).toEqual([
      'lost',
      'open',
      'open',
      'open',
      'won',
    ]);
    expect((await list('/crm/objections')).map(({ category }) => category)).toHaveLength(3);
    // The same again, and nothing twice.
    await app.admin.crm.syncNow.mutate({ connection_id: made.id });
    expect(await sync(made.id)).toBe('done');
    expect(await list('/crm/deals')).toHaveLength(5);
    expect(await connection(made.id)).toMatchObject({ last_error: null, failure_streak: 0 });
    expect(otherHosts()).toEqual([]);
  });

  it('fails by certain tokens, and works again with another one', async () => {
    const connect = (credentials: string) =>
      app.admin.crm.connect.mutate({ provider, credentials });
    await expect(connect('reject')).rejects.toMatchObject({
      data: { problem: { errors: [{ code: 'token_rejected' }] } },
    });
    const { id } = await connect('fail');
    expect(await sync(id)).toBe('failed');
    expect(await connection(id)).toMatchObject({ last_error: 'provider_error', failure_streak: 1 });
    const { rows } = await api.db.pool.query(
      `select team_id, data -> 'reason' as reason from event where type = 'crm.sync.failed'`,
    );
    expect(rows).toEqual([{ team_id: TEAM, reason: 'provider_error' }]);
    const replace = (credentials: string) =>
      app.admin.crm.replaceCredentials.mutate({ connection_id: id, provider, credentials });
    expect(await codeOf(replace('reject'))).toBe('validation_error');
    await replace('better');
    expect(await sync(id)).toBe('done');
    expect(otherHosts()).toEqual([]);
  });

  it('has no address, even where live teams may name one', async () => {
    const wanted = { provider, credentials: 'x', base_url: 'http://127.0.0.1:9' };
    expect(await codeOf(app.admin.crm.connect.mutate(wanted))).toBe('validation_error');
    const settings = { timeoutMs: 60_000, allowBaseUrl: true };
    const stored = { provider, storedCredentials: 'x', readsNotes: true, at: clock.now() };
    await expect(
      openProvider(settings, { ...stored, teamId: TEAM, baseUrl: 'http://127.0.0.1:9' }),
    ).rejects.toMatchObject({ code: 'validation_error' });
  });
});

describe("the scenario's own connection", () => {
  it('finds every deal and objection again, with the ids that guides name', async () => {
    const before = { deals: await list('/crm/deals'), objections: await list('/crm/objections') };
    expect(before.deals.map(({ id }) => String(id)).toSorted()).toEqual(
      [1, 2, 3, 4, 5].map((n) => `deal_sandbox_${n}`),
    );
    expect(before.objections).toHaveLength(4);
    await app.admin.crm.syncNow.mutate({ connection_id: OWN });
    expect(await sync(OWN)).toBe('done');
    expect(await list('/crm/deals')).toEqual(before.deals);
    expect(await list('/crm/objections')).toEqual(before.objections);
    // A day later it is due by itself, and the sweep finds nothing to remove.
    clock.advance(25 * 3_600_000);
    expect(await sync(OWN)).toBe('done');
    expect((await list('/crm/deals')).map(({ id }) => id)).toEqual(
      before.deals.map(({ id }) => id),
    );
  });

  it('keeps its credentials encrypted for this team alone', async () => {
    const { rows } = await api.db.pool.query<{ text: string }>(
      `select encode(credentials_encrypted, 'escape') as text
       from crm_connection where team_id = $1 and id = $2`,
      [TEAM, OWN],
    );
    expect(rows[0]?.text).not.toContain('sandbox');
  });
});

it('gives synchronizations of sandboxes a queue of their own', async () => {
  await api.db.pool.query(
    `insert into crm_connection
       (team_id, id, provider, created_at, credentials_encrypted, next_sync_at)
     select team_id, id || n, 'hubspot', now(), 'x', $1::timestamptz - interval '1 hour'
     from (values ('${TEAM}', 'flood'), ('team_a', 'live')) as of (team_id, id),
       generate_series(1, 150) n`,
    [clock.now()],
  );
  await scheduleDue(api.db, clock);
  const { rows } = await api.db.pool.query(
    `select j.payload ->> 'teamId' as team, count(*)::int as jobs,
       count(*) filter (where q.queue_name = 'crm_sync_sandboxes')::int as apart
     from graphile_worker._private_jobs j
     join graphile_worker._private_job_queues q on q.id = j.job_queue_id
     group by 1
     order by 1`,
  );
  expect(rows).toEqual([
    { team: 'team_a', jobs: 1, apart: 0 },
    { team: TEAM, jobs: 1, apart: 1 },
  ]);
});

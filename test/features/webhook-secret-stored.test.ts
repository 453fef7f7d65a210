// The signing secret of a webhook endpoint is shown once: whether anybody has stored it.
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

const BODY = { url: 'http://127.0.0.1:9/hook', events: ['member.joined' as const] };
const CREATED = '2040-11-20T10:00:00.000Z';
const clock = fixedClock(new Date(CREATED));

let api: TestApi;
beforeAll(async () => {
  const seeded = { id: 'whe_seeded', url: BODY.url, events: BODY.events };
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    seed: makeSeed(['a', 'b'].map((name) => makeTeam(name, { webhook_endpoints: [seeded] }))),
  });
});

/** A client of a member of `team_<team>`. */
async function as(team: string, name = 'admin') {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  return appAs(api, await tokenOf(identity, clock.now()));
}

/** Creates an endpoint in the app. */
async function create(team = 'a') {
  clock.set(new Date(CREATED));
  const { id, secret = '' } = await (await as(team)).v1.webhooks.createEndpoint.mutate(BODY);
  return { id, secret };
}

/** Replaces the secret in the app, an hour later. */
async function rotate(id: string, team = 'a') {
  clock.advance(3_600_000);
  const app = await as(team);
  const input = { endpoint_id: id, grace_s: 60 };
  const { secret = '' } = await app.v1.webhooks.rotateSecret.mutate(input);
  return { secret, at: clock.now().toISOString() };
}

const refusal = (field: string, code = 'validation_error') => ({
  data: { problem: { code, field } },
});

async function confirm(id: string, secret: string, team = 'a') {
  const app = await as(team);
  return app.admin.webhooks.confirmStored.mutate({ endpoint_id: id, secret });
}

/** What the page reads of the endpoint. */
async function since(id: string, team = 'a'): Promise<string | null | undefined> {
  const { data } = await (await as(team)).admin.deliveries.health.query({});
  return data.find(({ endpoint_id }) => endpoint_id === id)?.secret_unconfirmed_since;
}

const confirmations = async (id: string, team = 'a') =>
  (await auditOf(api, `team_${team}`)).filter(
    ({ action, target_id }) => action === 'webhook_endpoint.secret_stored' && target_id === id,
  );

const call = (path: string, body: object) => api.call(api.key('team_a'), 'POST', path, { body });

describe('the secret of an endpoint', () => {
  test('that a person has made waits for a confirmation, in no response of the API', async () => {
    const { id, secret } = await create();
    expect(await since(id)).toBe(CREATED);
    const { text } = await api.call(api.key('team_a'), 'GET', `/webhook-endpoints/${id}`);
    expect(text).not.toMatch(/unconfirmed|stored/);
    expect(await confirm(id, secret)).toEqual({ ok: true });
    expect(await since(id)).toBeNull();
    expect(await confirmations(id)).toMatchObject([
      { actor_kind: 'user', actor_id: 'mem_a_admin', details: {} },
    ]);
  });

  test('that a person has replaced waits anew, confirmed before or not', async () => {
    const { id, secret } = await create();
    const { at } = await rotate(id);
    expect(await since(id)).toBe(at);
    const third = await rotate(id);
    expect(await since(id)).toBe(third.at);
    await confirm(id, third.secret);
    const fourth = await rotate(id);
    expect(fourth.secret).not.toBe(secret);
    expect(await since(id)).toBe(fourth.at);
  });

  test('that a program has made or replaced needs none, nor does one of a seed', async () => {
    const made = await call('/webhook-endpoints', BODY);
    expect(made.status).toBe(201);
    expect(await since((made.body as { id: string }).id)).toBeNull();
    expect(await since('whe_seeded')).toBeNull();
    const { id } = await create();
    const rotated = await call(`/webhook-endpoints/${id}/rotate-secret`, { grace_s: 0 });
    expect(rotated.status).toBe(200);
    expect(await since(id)).toBeNull();
  });

  test('is the same one after another change of the endpoint', async () => {
    const { id } = await create();
    clock.advance(1000);
    const app = await as('a');
    await app.v1.webhooks.updateEndpoint.mutate({ endpoint_id: id, description: 'Planner' });
    expect(await since(id)).toBe(CREATED);
  });
});

describe('a confirmation', () => {
  test('changes nothing the second time', async () => {
    const { id, secret } = await create();
    await confirm(id, secret);
    await confirm(id, secret);
    expect(await confirmations(id)).toHaveLength(1);
  });

  test('acts once if two come together', async () => {
    const { id, secret } = await create();
    const release = await holdLock(
      api,
      `select from webhook_endpoint where team_id = 'team_a' and id = '${id}' for update`,
    );
    const both = [confirm(id, secret), confirm(id, secret)];
    await untilWaiting(api, 2);
    await release();
    expect(await Promise.all(both)).toEqual([{ ok: true }, { ok: true }]);
    expect(await since(id)).toBeNull();
    expect(await confirmations(id)).toHaveLength(1);
  });

  test('of a secret that was replaced meanwhile is refused, though it still signs', async () => {
    const { id, secret } = await create();
    const { at, secret: present } = await rotate(id);
    for (const wrong of [secret, '', present.slice(0, -1), `${present}0`])
      await expect(confirm(id, wrong)).rejects.toMatchObject(refusal('secret'));
    expect(await since(id)).toBe(at);
    expect(await confirmations(id)).toEqual([]);
    await confirm(id, present);
    await expect(confirm(id, secret)).rejects.toMatchObject(refusal('secret'));
    expect(await confirmations(id)).toHaveLength(1);
  });

  test('of a secret that no key opens comes again later', async () => {
    const { id, secret } = await create();
    await api.db.pool.query(`update webhook_endpoint set secret_encrypted = $2 where id = $1`, [
      id,
      Buffer.from('no key opens this'),
    ]);
    await expect(confirm(id, secret)).rejects.toMatchObject({
      data: { problem: { code: 'conflict', retry_after: 1 } },
    });
    expect(await confirmations(id)).toEqual([]);
  });

  test('that waits for a rotation finds its secret replaced', async () => {
    const { id, secret } = await create();
    const release = await holdLock(
      api,
      `select from webhook_endpoint where team_id = 'team_a' and id = '${id}' for update`,
    );
    const rotated = rotate(id);
    await untilWaiting(api, 1);
    const confirmed = Promise.allSettled([confirm(id, secret)]);
    await untilWaiting(api, 2);
    await release();
    expect(await confirmed).toMatchObject([{ status: 'rejected', reason: refusal('secret') }]);
    expect(await since(id)).toBe((await rotated).at);
  });

  test("is refused for another team's endpoint as for none, and to members", async () => {
    const { id, secret } = await create();
    for (const [endpoint, team] of [
      [id, 'b'],
      ['whe_none', 'a'],
    ] as const)
      await expect(confirm(endpoint, secret, team)).rejects.toMatchObject(
        refusal('endpoint_id', 'not_found'),
      );
    const member = await as('a', 'member');
    const refused = member.admin.webhooks.confirmStored.mutate({ endpoint_id: id, secret });
    expect(await codeOf(refused)).toBe('forbidden');
    expect(await since(id)).toBe(CREATED);
  });
});

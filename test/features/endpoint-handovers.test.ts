// Links by which the signing secrets of webhook endpoints are handed over.
import { beforeAll, describe, expect, test } from 'vitest';
import {
  contentOf,
  hashOf,
  openerOf,
  seal,
  unseal,
  type Content,
} from '../../src/admin-ui/lib/sealing.ts';
import { fixedClock } from '../../src/core/clock.ts';
import { TEAM_LIMITS } from '../../src/core/team-limits.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAt, createKey, KEY_HOLDER, type App } from '../support/api-keys.ts';
import { codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const HOUR_MS = 3_600_000;
const START = new Date('2040-11-20T10:00:30.000Z');
const URL_OF_HOOK = 'http://127.0.0.1:9/hook?of=team';
const clock = fixedClock(START);
const TEAMS = ['a', 'b', 'list', 'full', 'race', 'audit', 'gone'];

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    seed: makeSeed(
      TEAMS.map((name) => makeTeam(name, { members: [makeMember(name, 'holder', KEY_HOLDER)] })),
    ),
  });
});

/** As an admin, who needs no right besides. */
const as = (team: string, name = 'admin'): Promise<App> => appAt(api, clock.now(), team, name);

interface Issued {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
}

async function createEndpoint(team: string): Promise<Issued> {
  const app = await as(team);
  const made = await app.v1.webhooks.createEndpoint.mutate({
    url: URL_OF_HOOK,
    events: ['member.joined'],
  });
  return { id: made.id, url: made.url, secret: made.secret ?? '' };
}

async function rotate(team: string, { id }: Pick<Issued, 'id'>, graceS = 3600): Promise<Issued> {
  const app = await as(team);
  const input = { endpoint_id: id, grace_s: graceS };
  const made = await app.v1.webhooks.rotateSecret.mutate(input);
  return { id, url: made.url, secret: made.secret ?? '' };
}

interface Sealed {
  readonly secret: string;
  readonly content: Content;
  readonly asked: {
    handover_id: string;
    endpoint_id: string;
    secret_hash: string;
    sealed: string;
  };
}

/** What the admin page sends for a link, and what it keeps. */
async function sealFor(issued: Issued): Promise<Sealed> {
  const content = contentOf(issued);
  const { secret, id, sealed } = await seal(content);
  const secret_hash = await hashOf(issued.secret);
  return {
    secret,
    content,
    asked: { handover_id: id, endpoint_id: issued.id, secret_hash, sealed },
  };
}

async function handOver(team: string, given?: Issued) {
  const issued = given ?? (await createEndpoint(team));
  const link = await sealFor(issued);
  const handover = await (await as(team)).admin.endpointHandovers.create.mutate(link.asked);
  return { ...link, issued, handover, id: handover.id };
}

async function open(team: string, { secret }: Pick<Sealed, 'secret'>): Promise<Response> {
  const body = new URLSearchParams({ team_id: `team_${team}`, opener: await openerOf(secret) });
  return fetch(`${api.url}/handover/open`, { method: 'POST', body });
}

const statusOf = async (team: string, link: Pick<Sealed, 'secret'>): Promise<number> =>
  (await open(team, link)).status;

const stateOf = async (team: string, { id }: { readonly id: string }): Promise<string> =>
  (await (await as(team)).admin.endpointHandovers.get.query({ handover_id: id })).state;

const linksOf = async (team: string) =>
  (await auditOf(api, `team_${team}`)).filter(({ action }) => action.includes('.link_'));

describe('a link to the secret of an endpoint', () => {
  test('opens once, and gives what was sealed', async () => {
    const made = await handOver('a');
    expect(made.handover).toEqual({
      id: made.id,
      endpoint_id: made.issued.id,
      created_by: memberId('a', 'admin'),
      created_at: clock.now().toISOString(),
      expires_at: new Date(clock.now().getTime() + HOUR_MS).toISOString(),
      opened_at: null,
      state: 'open',
    });
    const response = await open('a', made);
    expect(response.status).toBe(200);
    const { sealed } = (await response.json()) as { sealed: string };
    expect(await unseal(made.secret, sealed)).toEqual({
      secret: made.issued.secret,
      name: URL_OF_HOOK,
      kind: 'endpoint',
    });
    expect(await statusOf('a', made)).toBe(404);
    expect(await stateOf('a', made)).toBe('opened');
  });

  test('leaves nothing in the database that opens it, nor the secret', async () => {
    const made = await handOver('a');
    const { rows } = await api.db.pool.query('select * from handover where id = $1', [made.id]);
    const kept = JSON.stringify(rows);
    for (const text of [made.secret, await openerOf(made.secret), made.issued.secret, URL_OF_HOOK])
      expect(kept).not.toContain(text);
    expect(kept).not.toContain(made.asked.secret_hash);
  });

  test('opens for one of twenty who ask at the same time', async () => {
    const made = await handOver('race');
    const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf('race', made)));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, ...Array(19).fill(404)]);
    const actions = (await linksOf('race')).map(({ action }) => action);
    expect(actions.filter((one) => one === 'webhook_endpoint.link_opened')).toHaveLength(1);
  });

  test('opens until its hour is over', async () => {
    const [last, late] = [await handOver('a'), await handOver('a')];
    clock.advance(HOUR_MS - 1);
    expect(await statusOf('a', last)).toBe(200);
    clock.advance(1);
    expect(await statusOf('a', late)).toBe(404);
    expect(await stateOf('a', late)).toBe('ended');
  });

  test('that was opened confirms nothing: the admin does that', async () => {
    const made = await handOver('a');
    await open('a', made);
    const app = await as('a');
    const since = async () =>
      (await app.admin.deliveries.health.query({})).data.find(
        ({ endpoint_id }) => endpoint_id === made.issued.id,
      )?.secret_unconfirmed_since;
    expect(await since()).toBe(made.handover.created_at);
    const { id: endpoint_id, secret } = made.issued;
    await app.admin.webhooks.confirmStored.mutate({ endpoint_id, secret });
    expect(await since()).toBe(null);
  });
});

describe('a link to a secret that was replaced', () => {
  test.each([0, 3600])('opens nothing, with %i seconds of grace', async (graceS) => {
    const made = await handOver('a');
    const next = await rotate('a', made.issued, graceS);
    expect(await statusOf('a', made)).toBe(404);
    expect(await stateOf('a', made)).toBe('ended');
    expect(await statusOf('a', await handOver('a', next))).toBe(200);
  });

  test('keeps its end if it had ended before, and stays opened if it was', async () => {
    const issued = await createEndpoint('a');
    const [expired, opened] = [await handOver('a', issued), await handOver('a', issued)];
    await open('a', opened);
    clock.advance(HOUR_MS);
    await rotate('a', issued);
    const app = await as('a');
    const get = (id: string) => app.admin.endpointHandovers.get.query({ handover_id: id });
    expect(await get(expired.id)).toEqual({ ...expired.handover, state: 'ended' });
    expect((await get(opened.id)).state).toBe('opened');
  });

  test('where a clock is ahead cannot be opened where it is not', async () => {
    const made = await handOver('a');
    const at = clock.now();
    clock.advance(HOUR_MS + 60_000);
    await rotate('a', made.issued);
    clock.set(at);
    expect(await statusOf('a', made)).toBe(404);
  });

  test('to that of another endpoint, or of another team, still opens', async () => {
    const [a, other, b] = [await handOver('a'), await handOver('a'), await handOver('b')];
    await rotate('a', a.issued);
    expect([await statusOf('a', other), await statusOf('b', b)]).toEqual([200, 200]);
  });

  test('cannot be made any more', async () => {
    const issued = await createEndpoint('a');
    const link = await sealFor(issued);
    await rotate('a', issued);
    await expect(
      (await as('a')).admin.endpointHandovers.create.mutate(link.asked),
    ).rejects.toMatchObject({
      data: { problem: { code: 'validation_error', field: 'secret_hash' } },
    });
  });

  test('is not made by whoever waits for the one who replaces it', async () => {
    const issued = await createEndpoint('race');
    const link = await sealFor(issued);
    // Both wait for the endpoint's row, the rotation before the creation.
    const release = await holdLock(
      api,
      `select from webhook_endpoint where team_id = 'team_race' and id = '${issued.id}' for update`,
    );
    const rotated = rotate('race', issued);
    await untilWaiting(api, 1);
    const app = await as('race');
    const made = codeOf(app.admin.endpointHandovers.create.mutate(link.asked));
    await untilWaiting(api, 2);
    await release();
    await rotated;
    expect(await made).toBe('validation_error');
    expect(await statusOf('race', link)).toBe(404);
  });

  test('is opened or not, if somebody opens it while another replaces the secret', async () => {
    for (let round = 0; round < 5; round += 1) {
      const made = await handOver('race');
      const [status] = await Promise.all([statusOf('race', made), rotate('race', made.issued)]);
      expect(await stateOf('race', made)).toBe(status === 200 ? 'opened' : 'ended');
      expect(await statusOf('race', made)).toBe(404);
    }
  });
});

describe('a deleted endpoint', () => {
  test('takes its links with it, in any state', async () => {
    const issued = await createEndpoint('gone');
    const [unopened, opened] = [await handOver('gone', issued), await handOver('gone', issued)];
    await open('gone', opened);
    const app = await as('gone');
    await app.v1.webhooks.removeEndpoint.mutate({ endpoint_id: issued.id });
    expect(await statusOf('gone', unopened)).toBe(404);
    const asked = { handover_id: unopened.id };
    expect(await codeOf(app.admin.endpointHandovers.get.query(asked))).toBe('not_found');
    expect(await codeOf(app.admin.endpointHandovers.withdraw.mutate(asked))).toBe('not_found');
    const { rowCount } = await api.db.pool.query(
      `select from handover where team_id = 'team_gone'`,
    );
    expect(rowCount).toBe(0);
  });

  test('gets no link, nor does one of another team', async () => {
    const app = await as('a');
    const issued = await createEndpoint('a');
    const [gone, foreign] = [await sealFor(issued), await sealFor(await createEndpoint('b'))];
    await app.v1.webhooks.removeEndpoint.mutate({ endpoint_id: issued.id });
    for (const { asked } of [gone, foreign])
      expect(await codeOf(app.admin.endpointHandovers.create.mutate(asked))).toBe('not_found');
  });

  test('and a link that is opened at the same time: neither waits for ever', async () => {
    for (let round = 0; round < 5; round += 1) {
      const made = await handOver('race');
      const app = await as('race');
      const [status, removed] = await Promise.all([
        statusOf('race', made),
        codeOf(app.v1.webhooks.removeEndpoint.mutate({ endpoint_id: made.issued.id })),
      ]);
      expect([200, 404]).toContain(status);
      expect(removed).toBe('ok');
      expect(await statusOf('race', made)).toBe(404);
    }
  });
});

describe('making a link', () => {
  test('can be repeated, also at the same time by two admins, and makes one', async () => {
    const link = await sealFor(await createEndpoint('a'));
    const [admin, owner] = [await as('a'), await as('a', 'owner')];
    const made = await Promise.all(
      [admin, owner, admin, owner].map((app) =>
        app.admin.endpointHandovers.create.mutate(link.asked),
      ),
    );
    expect(new Set(made.map((one) => JSON.stringify(one))).size).toBe(1);
    await open('a', link);
    expect((await admin.admin.endpointHandovers.create.mutate(link.asked)).state).toBe('opened');
  });

  test('with the id of another link is a conflict, whatever that hands over', async () => {
    const made = await handOver('a');
    const holder = await as('a', 'holder');
    const key = await createKey(holder);
    const { handover_id, sealed } = made.asked;
    const ofKey = holder.admin.handovers.create.mutate({ handover_id, key_id: key.id, sealed });
    expect(await codeOf(ofKey)).toBe('conflict');
    const other = await sealFor(await createEndpoint('a'));
    const asked = { ...other.asked, handover_id };
    expect(await codeOf(holder.admin.endpointHandovers.create.mutate(asked))).toBe('conflict');
    expect(await stateOf('a', made)).toBe('open');
  });

  test.each([
    ['an id that is no hash', { handover_id: 'x'.repeat(42) }],
    ['a hash of something else', { secret_hash: 'x'.repeat(43) }],
    ['what is no hash', { secret_hash: 'x' }],
    ['too little sealed', { sealed: 'x'.repeat(37) }],
    ['too much sealed', { sealed: 'x'.repeat(1367) }],
  ])('with %s is refused', async (_what, wrong) => {
    const { asked } = await sealFor(await createEndpoint('b'));
    const call = (await as('b')).admin.endpointHandovers.create.mutate({ ...asked, ...wrong });
    expect(await codeOf(call)).toBe('validation_error');
  });

  test('ends at the limit, which links to keys and endpoints share', async () => {
    const first = await handOver('full');
    const holder = await as('full', 'holder');
    const key = await createKey(holder);
    await api.db.pool.query(
      `insert into handover
         (team_id, id, key_id, created_by, created_at, expires_at, sealed)
       select team_id, lpad(n::text, 43, '0'), $3, created_by, created_at, expires_at, sealed
       from handover, generate_series(1, $2::int) n
       where id = $1`,
      [first.id, TEAM_LIMITS.openHandovers.live - 4, key.id],
    );
    const links = await Promise.all(Array.from({ length: 8 }, () => sealFor(first.issued)));
    const codes = await Promise.all(
      links.map(({ asked }) => codeOf(holder.admin.endpointHandovers.create.mutate(asked))),
    );
    expect(codes.toSorted()).toEqual([
      ...Array(3).fill('ok'),
      ...Array(5).fill('validation_error'),
    ]);
    const { id: handover_id, sealed } = await seal({ secret: key.key, name: key.name });
    const ofKey = { handover_id, key_id: key.id, sealed };
    expect(await codeOf(holder.admin.handovers.create.mutate(ofKey))).toBe('validation_error');
    await holder.admin.endpointHandovers.withdraw.mutate({ handover_id: first.id });
    expect(await codeOf(holder.admin.handovers.create.mutate(ofKey))).toBe('ok');
  });
});

describe('the calls for keys and those for endpoints', () => {
  test('do not see the links of each other', async () => {
    const made = await handOver('b');
    const holder = await as('b', 'holder');
    const key = await createKey(holder);
    const { id: handover_id, sealed } = await seal({ secret: key.key, name: key.name });
    await holder.admin.handovers.create.mutate({ handover_id, key_id: key.id, sealed });
    const { handovers, endpointHandovers } = holder.admin;
    const codes = await Promise.all([
      codeOf(handovers.get.query({ handover_id: made.id })),
      codeOf(handovers.withdraw.mutate({ handover_id: made.id })),
      codeOf(endpointHandovers.get.query({ handover_id })),
      codeOf(endpointHandovers.withdraw.mutate({ handover_id })),
    ]);
    expect(codes).toEqual(Array(4).fill('not_found'));
    const { data } = await handovers.list.query({});
    expect(data.map(({ id }) => id)).toEqual([handover_id]);
    const ofEndpoint = await endpointHandovers.list.query({ endpoint_id: made.issued.id });
    expect(ofEndpoint.data).toEqual([made.handover]);
  });

  test('need their rights: an admin may withdraw a link to an endpoint, not to a key', async () => {
    const made = await handOver('a');
    const holder = await as('a', 'holder');
    const key = await createKey(holder);
    const { id: handover_id, sealed } = await seal({ secret: key.key, name: key.name });
    await holder.admin.handovers.create.mutate({ handover_id, key_id: key.id, sealed });
    const { handovers, endpointHandovers } = (await as('a')).admin;
    expect(await codeOf(handovers.withdraw.mutate({ handover_id }))).toBe('forbidden');
    const ended = await endpointHandovers.withdraw.mutate({ handover_id: made.id });
    expect(ended).toMatchObject({ state: 'ended', endpoint_id: made.issued.id });
    expect(await statusOf('a', made)).toBe(404);
    const member = (await as('a', 'member')).admin.endpointHandovers;
    expect(await codeOf(member.get.query({ handover_id: made.id }))).toBe('forbidden');
  });
});

test('the list shows the links of one endpoint, newest first, page by page', async () => {
  const issued = await createEndpoint('list');
  const app = await as('list');
  const list = (input = {}) =>
    app.admin.endpointHandovers.list.query({ endpoint_id: issued.id, ...input });
  expect(await list()).toEqual({ data: [], next_cursor: null });
  const made = [];
  for (let n = 0; n < 3; n += 1) {
    made.push(await handOver('list', issued));
    await handOver('list');
    clock.advance(1000);
  }
  const [first, second, third] = made;
  if (!first || !second || !third) throw new Error('a link is missing');
  await open('list', first);
  const page = await list({ limit: 2 });
  expect(page.data).toEqual([third.handover, second.handover]);
  const next = await list({ cursor: page.next_cursor ?? '' });
  expect(next).toMatchObject({ data: [{ id: first.id, state: 'opened' }], next_cursor: null });
  expect(await codeOf(app.admin.handovers.list.query({ cursor: page.next_cursor ?? '' }))).toBe(
    'validation_error',
  );
});

test('the audit log says who made a link, and when it was opened or withdrawn', async () => {
  const [opened, withdrawn] = [await handOver('audit'), await handOver('audit')];
  await open('audit', opened);
  const app = await as('audit');
  await app.admin.endpointHandovers.withdraw.mutate({ handover_id: withdrawn.id });
  const byAdmin = { actor_kind: 'user', actor_id: memberId('audit', 'admin') };
  const of = { target_id: opened.issued.id, details: { handover_id: opened.id } };
  const entries = await linksOf('audit');
  expect(entries).toHaveLength(4);
  expect(entries).toEqual(
    expect.arrayContaining([
      {
        ...byAdmin,
        action: 'webhook_endpoint.link_created',
        target_id: opened.issued.id,
        details: { handover_id: opened.id, expires_at: opened.handover.expires_at },
      },
      { actor_kind: 'system', actor_id: 'link', action: 'webhook_endpoint.link_opened', ...of },
      {
        ...byAdmin,
        action: 'webhook_endpoint.link_withdrawn',
        target_id: withdrawn.issued.id,
        details: { handover_id: withdrawn.id },
      },
    ]),
  );
});

describe('the database', () => {
  const insert = (columns: string, values: string) =>
    api.db.pool.query(
      `insert into handover (team_id, id, ${columns}, created_by, created_at, expires_at)
       values ('team_b', '${'y'.repeat(43)}', ${values}, $1, now(), now())`,
      [memberId('b', 'admin')],
    );

  test('holds that a link hands over one thing', async () => {
    const { id } = await createEndpoint('b');
    const key = await createKey(await as('b', 'holder'));
    const both = insert('key_id, endpoint_id', `'${key.id}', '${id}'`);
    await expect(both).rejects.toThrow('handover_subject_check');
    await expect(insert('key_id', 'null')).rejects.toThrow('handover_subject_check');
    await expect(insert('endpoint_id', `'whe_nobody'`)).rejects.toThrow(
      'handover_team_id_endpoint_id_fkey',
    );
  });
});

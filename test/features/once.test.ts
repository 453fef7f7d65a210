// What works once, tried again whenever retention has removed as much as it may by then: the same
// refusal, and nothing changes. Idempotency-Keys are in test/contract/idempotency.test.ts.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import type { Mail } from '../../src/core/mail.ts';
import { IS_UNPLACED } from '../../src/delivery/beside-store.ts';
import { announce } from '../../src/features/announcements/service.ts';
import { endExpiredInvitations } from '../../src/features/members/service.ts';
import { RETENTIONS } from '../../src/features/retention/rules.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { resendBatch } from '../../src/features/webhook-deliveries/resend-service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { withKey } from '../support/api-keys.ts';
import { appAs, codeOf, openSession, tokenOf } from '../support/app.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { describeEvaluation, describeTraining } from '../support/platform.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';
import { followLink, HOST, linkToken, sent } from '../support/session-links.ts';
import { until } from '../support/until.ts';
import { readState } from '../contract/requests.ts';

const [S, M, H, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** When each kind of old rows has just gone, and right before. */
const AGES = [H, DAY, 30 * DAY, 31 * DAY, 181 * DAY, 401 * DAY];

const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));
let api: TestApi;
let receiver: Receiver;
let startedAt: number;

beforeAll(async () => {
  receiver = await startReceiver();
  const endpoint = (id: string) => ({
    id,
    url: `${receiver.url}/${id}`,
    events: ['member.joined' as const],
  });
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    app: { adminHostOrigins: [HOST] },
    seed: makeSeed([
      makeTeam('a', { webhook_endpoints: ['whe_1', 'whe_2'].map(endpoint) }),
      makeTeam('b'),
    ]),
  });
});
beforeEach(() => {
  // No job of another test is old enough any more to count toward a limit.
  clock.advance(DAY);
  startedAt = clock.now().getTime();
});

const rows = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;
const appOf = async (name = 'owner') =>
  appAs(
    api,
    await tokenOf({ kind: 'user', userId: userId('a', name), teamId: 'team_a' }, clock.now()),
  );
const platformOf = async () =>
  appAs(api, await tokenOf({ kind: 'platform', service: 'training' }, clock.now())).platform;
const codeOfRest = async (method: string, path: string, body?: object): Promise<string> => {
  const response = await api.call(api.key('team_a'), method, path, body ? { body } : {});
  return response.status < 300 ? 'ok' : String((response.body as { code: string }).code);
};
async function invite(name: string): Promise<string> {
  const { id } = await (await appOf()).v1.members.create.mutate({ email: `${name}@a.test` });
  return id;
}

const removed: Record<string, number> = {};
/** Sets the clock, and removes everything that is old then. */
async function waitUntil(ms: number): Promise<void> {
  clock.set(new Date(startedAt + ms));
  // As if a worker had found no subscribers: an event that waits for its fan-out is not removed.
  await rows(`update event set fanned_out_at = created_at where fanned_out_at is null`);
  await endExpiredInvitations(api.db, clock);
  for (const [kind, count] of Object.entries(await removeOld(api.db, clock)))
    removed[kind] = (removed[kind] ?? 0) + count;
}

type Try = () => Promise<string>;
/**
 * Tries again at each time, after everything old has gone. Returns the answers that are others than
 * the given ones, and the tables that have changed.
 */
async function deviations(
  times: readonly number[],
  tries: readonly (readonly [answer: string, again: Try])[],
): Promise<string[]> {
  const found: string[] = [];
  for (const ms of times) {
    await waitUntil(ms);
    const before = await readState(api.db);
    for (const [index, [answer, again]] of tries.entries()) {
      const given = await again();
      if (given !== answer) found.push(`after ${ms} ms, ${index}: ${given} instead of ${answer}`);
    }
    const after = await readState(api.db);
    for (const [table, state] of Object.entries(before))
      if (after[table] !== state) found.push(`after ${ms} ms: ${table} has changed`);
  }
  return found;
}

describe('an invitation', () => {
  const accept = (member_id: string, user: string) => async () =>
    codeOf(
      (await platformOf()).members.accept.mutate({ team_id: 'team_a', user_id: user, member_id }),
    );
  const ends =
    (member_id: string, way: 'resend' | 'withdraw'): Try =>
    async () =>
      codeOf((await appOf()).admin.invitations[way].mutate({ member_id }));

  test('is accepted by one person, and can then be neither mailed nor withdrawn', async () => {
    const id = await invite('accepted');
    expect(await accept(id, 'usr_first')()).toBe('ok');
    expect(
      await deviations(
        [0, ...AGES],
        [
          ['ok', accept(id, 'usr_first')],
          ['conflict', accept(id, 'usr_second')],
          ['validation_error', ends(id, 'resend')],
          ['validation_error', ends(id, 'withdraw')],
        ],
      ),
    ).toEqual([]);
  });

  test.each(['withdrawn', 'expired', 'removed'])('that was %s stays so', async (how) => {
    const id = await invite(how);
    if (how === 'withdrawn') await ends(id, 'withdraw')();
    if (how === 'removed') await codeOfRest('DELETE', `/users/${id}`);
    if (how === 'expired') await waitUntil(180 * DAY + 1);
    startedAt = clock.now().getTime();
    expect(
      await deviations(
        [0, ...AGES],
        [
          ['not_found', accept(id, 'usr_late')],
          ['not_found', ends(id, 'resend')],
          ['not_found', ends(id, 'withdraw')],
          ['not_found', () => codeOfRest('DELETE', `/users/${id}`)],
          ['not_found', () => codeOfRest('PATCH', `/users/${id}`, { role: 'admin' })],
        ],
      ),
    ).toEqual([]);
  });

  test('counts for an hour, mailed again or not', async () => {
    const id = await invite('counted');
    await rows(
      `insert into invitation_resend (team_id, id, member_id, sent_at)
       select 'team_a', 'inv_' || n, $1, $2 from generate_series(1, 58) n`,
      [id, clock.now()],
    );
    expect(await ends(id, 'resend')()).toBe('ok');
    expect(
      await deviations(
        [0, 30 * M, H - 1],
        [
          ['rate_limited', ends(id, 'resend')],
          ['rate_limited', () => codeOfRest('POST', '/users', { email: 'more@a.test' })],
        ],
      ),
    ).toEqual([]);
    await waitUntil(H);
    expect(await ends(id, 'resend')()).toBe('ok');
    await waitUntil(H + DAY + 1);
  });
});

describe('a token', () => {
  const opens = async (token: string, cookie = ''): Promise<string> => {
    const followed = token === '' ? cookie : (await followLink(api, token)).cookie;
    const session = await fetch(`${api.url}/trpc-session`, { headers: sent(followed) });
    return String(session.status);
  };

  test('for a link opens one session', async () => {
    const iat = startedAt / S;
    const token = await linkToken({ iat, exp: iat + 60 });
    expect(await opens(token)).toBe('200');
    expect(
      await deviations([0, 30 * S, 60 * S - 1, 60 * S, 65 * S, H], [['401', () => opens(token)]]),
    ).toEqual([]);
    await waitUntil(2 * H);
    expect(await opens(token)).toBe('401');
  });

  test.each(['of a link', 'of the host'])('of a session %s is ended by signing out', async (of) => {
    const iat = startedAt / S;
    const given = of === 'of a link' ? '' : await tokenOf(ownerOfA, clock.now(), 3600);
    const headers =
      given === ''
        ? sent((await followLink(api, await linkToken({ iat, exp: iat + 60 }))).cookie)
        : (await openSession(api, given)).headers;
    const { cookie = '' } = headers as { readonly cookie?: string };
    expect(await opens('', cookie)).toBe('200');
    await fetch(`${api.url}/trpc-session`, { method: 'DELETE', headers });
    const bearer = cookie.split('=')[1] ?? '';
    const me = () => codeOf(appAs(api, bearer).v1.me.get.query({}));
    // The token is valid for an hour, and some seconds more.
    expect(
      await deviations(
        [0, H - 1, H, H + 4 * S, H + 10 * S, 2 * H],
        [
          ['401', () => opens('', cookie)],
          ['unauthorized', me],
        ],
      ),
    ).toEqual([]);
    await waitUntil(2 * H + 1);
    expect([await opens('', cookie), await me()]).toEqual(['401', 'unauthorized']);
  });

  const ownerOfA = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
});

test('an API key ends once, keeps its name, and is rotated once', async () => {
  const keys = (await appOf()).admin.apiKeys;
  const make = async (name: string) =>
    withKey(await keys.create.mutate({ name, scopes: ['users:read'] }));
  const [revoked, rotated] = [await make('revoked'), await make('rotated')];
  await keys.revoke.mutate({ key_id: revoked.id });
  const successor = withKey(await keys.rotate.mutate({ key_id: rotated.id, grace_s: 3600 }));
  const usesOf = (key: string) => async () => String((await api.call(key, 'GET', '/users')).status);
  const mutate =
    (way: 'rotate' | 'revoke', key_id: string): Try =>
    async () => {
      const { apiKeys } = (await appOf()).admin;
      const call =
        way === 'revoke'
          ? apiKeys.revoke.mutate({ key_id })
          : apiKeys.rotate.mutate({ key_id, grace_s: 60 });
      return codeOf(call);
    };
  const create = async () =>
    codeOf(
      (await appOf()).admin.apiKeys.create.mutate({ name: 'revoked', scopes: ['users:read'] }),
    );
  const always: readonly (readonly [string, Try])[] = [
    ['401', usesOf(revoked.key)],
    ['200', usesOf(successor.key)],
    ['ok', mutate('revoke', revoked.id)],
    ['validation_error', mutate('rotate', revoked.id)],
    ['validation_error', mutate('rotate', rotated.id)],
    ['validation_error', create],
  ];
  expect(await deviations([0, H - 1], [...always, ['200', usesOf(rotated.key)]])).toEqual([]);
  expect(await deviations(AGES, [...always, ['401', usesOf(rotated.key)]])).toEqual([]);
});

describe('what the host application reports', () => {
  const team_id = 'team_a';

  test('is recorded once', async () => {
    const platform = await platformOf();
    const training = describeTraining('a', 'trn_once', { created_at: iso(0) });
    const end = { ...training, finished_at: iso(0), duration_s: 60 };
    const evaluation = describeEvaluation('a', 'trn_once', 71, iso(0));
    const wantedCase = { team_id, case_id: 'cas_once', user_id: userId('a', 'member') };
    const team = {
      team_id: 'team_once',
      name: 'Once',
      owner: { user_id: 'usr_once', email: 'once@once.test' },
    };
    await platform.trainings.end.mutate(end);
    await platform.evaluations.save.mutate(evaluation);
    await platform.cases.create.mutate(wantedCase);
    await platform.teams.create.mutate(team);
    const person = { team_id: 'team_b', user_id: userId('b', 'member') };
    await platform.members.deletePerson.mutate(person);
    const told = (call: (to: Awaited<ReturnType<typeof platformOf>>) => Promise<unknown>) => {
      return async () => codeOf(call(await platformOf()));
    };
    expect(
      await deviations(
        [0, ...AGES],
        [
          ['ok', told((to) => to.trainings.end.mutate(end))],
          ['ok', told((to) => to.evaluations.save.mutate(evaluation))],
          ['ok', told((to) => to.cases.create.mutate(wantedCase))],
          ['conflict', told((to) => to.cases.create.mutate({ ...wantedCase, title: 'Another' }))],
          ['ok', told((to) => to.teams.create.mutate(team))],
          ['conflict', told((to) => to.teams.create.mutate({ ...team, name: 'Another' }))],
          ['ok', told((to) => to.members.deletePerson.mutate(person))],
        ],
      ),
    ).toEqual([]);
    // A score that is corrected later is saved, and raises nothing.
    await platformOf().then((to) =>
      to.evaluations.save.mutate(describeEvaluation('a', 'trn_once', 72, iso(401 * DAY))),
    );
    expect(await rows(`select from event where type = 'evaluation.completed'`)).toEqual([]);
  });

  test('an assignment is completed once', async () => {
    const { id } = (
      await api.call(api.key('team_a'), 'POST', '/assignments', {
        body: {
          member_id: memberId('a', 'member'),
          title: 'Practise',
          situation_id: 'sit_cold',
          personality_id: 'per_calm',
          industry_id: 'ind_saas',
        },
      })
    ).body as { id: string };
    const complete = () => codeOfRest('PATCH', `/assignments/${id}`, { status: 'done' });
    const raised = async () =>
      (
        await rows(
          `select from event
           where type = 'assignment.completed' and data->>'assignment_id' = $1`,
          [id],
        )
      ).length;
    expect([await complete(), await raised()]).toEqual(['ok', 1]);
    for (const ms of [0, 30 * DAY, 31 * DAY, 401 * DAY]) {
      await waitUntil(ms);
      const before = await raised();
      expect([await complete(), await raised()]).toEqual(['ok', before]);
    }
    expect(await raised()).toBe(0);
  });
});

const iso = (ms: number): string => new Date(startedAt + ms).toISOString();

test('an announcement is mailed to each admin once', async () => {
  const mails: Mail[] = [];
  const send = () =>
    announce(
      {
        db: api.db,
        clock,
        mailer: async (_team, mail) => void mails.push(mail),
        publicUrl: api.url,
        onFailure: (_team, error) => expect.unreachable(String(error)),
        onTeamFailure: (_team, error) => expect.unreachable(String(error)),
      },
      { version: 'v1', since: '2030-01-01', sunset: '2031-01-01' },
    );
  expect((await send()).sent).toBeGreaterThan(0);
  expect(await deviations([0, ...AGES], [['0', async () => String((await send()).sent)]])).toEqual(
    [],
  );
});

describe('a delivery', () => {
  /** Writes an event of `count` deliveries, the first to `whe_1`, as they were left. */
  async function write(id: string, ...statuses: string[]): Promise<void> {
    await rows(
      `insert into event (team_id, id, type, data, created_at, fanned_out_at)
       values ('team_a', $1, 'member.joined', '{"team_id":"team_a"}', $2, $2)`,
      [`evt_${id}`, clock.now()],
    );
    for (const [index, status] of statuses.entries())
      await rows(
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, status, attempt, scheduled_attempts,
            created_at, next_try_at, last_attempt_at)
         values ('team_a', $1, $2, $3, 'member.joined', $4, 8, 8, $5,
           case when $4 = 'retrying' then $5::timestamptz end, $5)`,
        [`whd_${id}${index + 1}`, `whe_${index + 1}`, `evt_${id}`, status, clock.now()],
      );
  }
  const came = (endpoint: string, id: string): number =>
    receiver
      .requestsTo(`/${endpoint}`)
      .filter(({ headers }) => headers['svc-event-id'] === `evt_${id}`).length;
  /** The loop has nothing left to write, either. */
  const isOk = async (id: string) =>
    (
      await rows(
        `select from webhook_delivery where id = $1 and status = 'ok' and claimed_by is null`,
        [id],
      )
    ).length === 1 && (await rows(`select from event where ${IS_UNPLACED}`)).length === 0;
  const retry = (id: string) => () => codeOfRest('POST', `/webhook-deliveries/${id}/retry`);

  test('is attempted once for a request, however long it waited, and not again', async () => {
    await write('requested', 'gave_up');
    expect([await retry('whd_requested1')(), await retry('whd_requested1')()]).toEqual([
      'ok',
      'ok',
    ]);
    await waitUntil(400 * DAY);
    const deliveries = await startDeliveries(api, { clock });
    await until(() => isOk('whd_requested1'));
    startedAt = clock.now().getTime();
    expect(
      await deviations([0, DAY, 30 * DAY], [['validation_error', retry('whd_requested1')]]),
    ).toEqual([]);
    expect(
      await deviations([30 * DAY + 1, 401 * DAY], [['not_found', retry('whd_requested1')]]),
    ).toEqual([]);
    await deliveries.stop();
    expect(came('whe_1', 'requested')).toBe(1);
  });

  test('that is gone is not made again while another of its event waits', async () => {
    await write('shared', 'ok', 'retrying');
    await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_2'`);
    const deliveries = await startDeliveries(api, { clock });
    await waitUntil(31 * DAY);
    expect(await rows(`select id from webhook_delivery where event_id = 'evt_shared'`)).toEqual([
      { id: 'whd_shared2' },
    ]);
    await rows(
      `update webhook_endpoint set status = 'active', activated_at = $1 where id = 'whe_2'`,
      [clock.now()],
    );
    await until(() => isOk('whd_shared2'));
    startedAt = clock.now().getTime();
    await waitUntil(31 * DAY);
    await deliveries.stop();
    expect(await rows(`select from event where id = 'evt_shared'`)).toEqual([]);
    expect([came('whe_1', 'shared'), came('whe_2', 'shared')]).toEqual([0, 1]);
  });

  test('is resent once, by one resend at a time, also after that is forgotten', async () => {
    await write('resent', 'gave_up');
    const since = iso(-1);
    const start = async () =>
      (await appOf()).admin.deliveries.startResend.mutate({ endpoint_id: 'whe_1', since });
    const resendId = (await start()).data[0]?.id ?? '';
    const job = { teamId: 'team_a', endpointId: 'whe_1', resendId };
    const batch = async () => {
      await resendBatch(api.db, clock, job);
      return 'ok';
    };
    const startAgain = () => codeOf(start());
    const cancel = async () =>
      codeOf((await appOf()).admin.deliveries.cancelResend.mutate({ resend_id: resendId }));
    expect(await deviations([0, 29 * DAY], [['conflict', startAgain]])).toEqual([]);
    await batch();
    await batch();
    const deliveries = await startDeliveries(api, { clock });
    await until(() => isOk('whd_resent1'));
    startedAt = clock.now().getTime();
    expect(
      await deviations(
        [0, 30 * DAY],
        [
          ['ok', batch],
          ['ok', cancel],
        ],
      ),
    ).toEqual([]);
    expect(
      await deviations(
        [30 * DAY + 1, 401 * DAY],
        [
          ['ok', batch],
          ['not_found', cancel],
        ],
      ),
    ).toEqual([]);
    await deliveries.stop();
    expect(came('whe_1', 'resent')).toBe(1);
  });

  test('is signed with the secret of before until its time is over', async () => {
    const rotate = { grace_s: 3600 };
    expect(await codeOfRest('POST', '/webhook-endpoints/whe_1/rotate-secret', rotate)).toBe('ok');
    const deliveries = await startDeliveries(api, { clock });
    const signatures: number[] = [];
    for (const ms of [0, H - S, H, DAY + 1]) {
      await waitUntil(ms);
      const before = receiver.requestsTo('/whe_1').length;
      await codeOfRest('POST', '/webhook-endpoints/whe_1/test');
      const last = (await receiver.arrived('/whe_1', before + 1)).at(-1);
      signatures.push(String(last?.headers['svc-signature']).split('v1=').length - 1);
    }
    await deliveries.stop();
    expect(signatures).toEqual([2, 2, 1, 1]);
  });
});

/** What else retention removes, and why nothing works once by it. */
const COUNTS_ONLY: Record<string, string> = {
  idempotency: 'see test/contract/idempotency.test.ts',
  sandbox_mails: 'shown, and never decided by',
  usage: 'shown, and never decided by',
  audit: 'shown, and never decided by',
  sandbox_usage: 'shown, and never decided by',
  sandbox_audit: 'shown, and never decided by',
};

test('of every kind that retention removes, rows went meanwhile', () => {
  const without = RETENTIONS.map(({ name }) => name).filter(
    (name) => !removed[name] && !(name in COUNTS_ONLY),
  );
  expect(without).toEqual([]);
});

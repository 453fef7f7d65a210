// Two teams with the same ids run through what keeps ids in memory, or hashes them: the delivery
// loop, the counter of usage, and the link to the admin page.
import { SignJWT } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { decrypt } from '../../src/core/encryption.ts';
import { verifyWebhook } from '../../src/client/webhook-verification.ts';
import { startUsageCounter } from '../../src/features/usage/counter.ts';
import { TOKEN_AUDIENCE, TOKEN_ISSUER } from '../../src/http/app/token.ts';
import {
  startTestApi,
  TEST_APP_AUTH_SECRET,
  TEST_APP_SECRET,
  type TestApi,
} from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const HOST = 'https://app.example.com';
const TEAMS = ['team_a', 'team_b'] as const;
/** More than one fan-out takes, so that the next one takes the newest (`delivery/fan-out.ts`). */
const FRESH = Array.from({ length: 70 }, (_, n) => `evt_fresh${n}`);
const DUE = ['evt_5', 'evt_6', 'evt_7', 'evt_8'];
const clock = fixedClock(new Date());

let api: TestApi;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  const endpoint = (team: string) => ({
    id: 'whe_1',
    url: `${receiver.url}/${team}`,
    events: ['training.completed' as const],
  });
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    app: { publicUrl: 'https://api.example.com', adminHostOrigins: [HOST] },
    seed: makeSeed(
      ['a', 'b'].map((name) => makeTeam(name, { webhook_endpoints: [endpoint(`team_${name}`)] })),
    ),
  });
  await query(`update api_key set id = 'key_' || name`);
});

const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;

/** Stores events of both teams, in turn. Those of `DUE` have a delivery whose retry is due. */
async function storeEvents(): Promise<void> {
  const isDue = (id: string): boolean => DUE.includes(id);
  for (const [index, id] of [...FRESH, ...DUE].entries())
    for (const team of TEAMS) {
      const at = new Date(clock.now().getTime() - 1000 + index);
      await query(
        `insert into event (team_id, id, type, data, created_at, fanned_out_at)
         values ($1, $2, 'training.completed', $3, $4, $5)`,
        [team, id, JSON.stringify({ team_id: team }), at, isDue(id) ? at : null],
      );
      if (!isDue(id)) continue;
      await query(
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at,
            next_try_at, last_attempt_at)
         values ($1, replace($2, 'evt_', 'whd_'), 'whe_1', $2, 'training.completed', 'retrying', 1,
           $3, $3, $3)`,
        [team, id, at],
      );
    }
}

test('a worker delivers to each, and the failures of one are not those of the other', async () => {
  receiver.on('/team_b', status(500));
  await storeEvents();
  const deliveries = await startDeliveries(api, { clock });
  const attempted = `select team_id from webhook_delivery where claimed_by is null and attempt > 0`;
  const all = FRESH.length + DUE.length;
  await Promise.all(TEAMS.map((team) => receiver.arrived(`/${team}`, all)));
  await until(async () => (await query(attempted)).length === 2 * all);
  await deliveries.stop();

  for (const team of TEAMS) {
    const [{ sealed }] = await query(
      `select secret_encrypted as sealed from webhook_endpoint where team_id = $1`,
      [team],
    );
    const context = ENCRYPTED_COLUMNS.webhookSecret.context(team, 'whe_1');
    const secret = decrypt(sealed, { current: TEST_APP_SECRET, previous: null }, context);
    const events = receiver
      .requestsTo(`/${team}`)
      .map(({ body, headers }) => verifyWebhook(body, headers, secret));
    expect(events.map(({ id }) => id).toSorted()).toEqual([...FRESH, ...DUE].toSorted());
    expect(new Set(events.map(({ data }) => data.team_id))).toEqual(new Set([team]));
  }
  const states = await query(
    `select team_id, status, count(*)::int from webhook_delivery group by 1, 2 order by 1`,
  );
  expect(states).toEqual([
    { team_id: 'team_a', status: 'ok', count: all },
    { team_id: 'team_b', status: 'retrying', count: all },
  ]);
  const health = await query(
    `select failing_since is not null as failing, last_success_at is not null as succeeded
     from webhook_endpoint order by team_id`,
  );
  expect(health).toEqual([
    { failing: false, succeeded: true },
    { failing: true, succeeded: false },
  ]);
  expect(await query('select from event_in_hand')).toEqual([]);
});

test('the usage of each is counted for its key', async () => {
  const counter = startUsageCounter({
    db: api.db,
    clock,
    onError: (error) => expect.unreachable(String(error)),
  });
  for (const [team, calls] of [
    ['team_a', 2],
    ['team_b', 3],
  ] as const)
    for (let call = 0; call < calls; call += 1) counter.count(team, 'key_full', 200, 0);
  await counter.stop();
  expect(await query(`select team_id, count_2xx from api_key_usage order by team_id`)).toEqual([
    { team_id: 'team_a', count_2xx: 2 },
    { team_id: 'team_b', count_2xx: 3 },
  ]);
});

test('a link of one leaves the link of the other with the same jti alone', async () => {
  const iat = Math.floor(clock.now().getTime() / 1000);
  const follow = async (team: string): Promise<boolean> => {
    const token = await new SignJWT({
      kind: 'user',
      iss: TOKEN_ISSUER,
      aud: TOKEN_AUDIENCE,
      sub: userId(team.replace('team_', ''), 'owner'),
      team_id: team,
      jti: 'the same',
      iat,
      exp: iat + 60,
    })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(TEST_APP_AUTH_SECRET));
    const response = await fetch(`${api.url}/trpc-session/link`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: HOST },
      body: new URLSearchParams({ token }),
    });
    const [cookie = ''] = response.headers.getSetCookie();
    return /session=[^;]/.test(cookie);
  };
  expect([await follow('team_a'), await follow('team_b')]).toEqual([true, true]);
  expect([await follow('team_a'), await follow('team_b')]).toEqual([false, false]);
});

// While one team has all that the worker may hold, what waits for other teams has its turns.
import type { ServerResponse } from 'node:http';
import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { stillClock } from '../support/clocks.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** How many deliveries the worker may hold. There are more busy endpoints. */
const HELD = 32;
const BUSY_ENDPOINTS = 40;
const BUSY_DELIVERIES = 60;
/** How the deliveries of the other team wait, each for an endpoint of its own. */
const OTHERS = ['first', 'retry', 'requested'] as const;

let api: TestApi;
let client: Client;
let receiver: Receiver;
let deliveries: Deliveries;
/** The attempts of the busy team that stand at the gate, oldest first. */
let gate: ServerResponse[];

beforeAll(async () => {
  receiver = await startReceiver();
});

beforeEach(async () => {
  const endpoint = (name: string, path: string, type: 'member.joined' | 'member.removed') => ({
    id: `whe_${name}`,
    url: `${receiver.url}/${path}`,
    events: [type],
  });
  const busy = Array.from({ length: BUSY_ENDPOINTS }, (_, n) =>
    endpoint(`busy${n}`, 'busy', 'member.joined'),
  );
  const others = OTHERS.map((name) => endpoint(name, name, 'member.removed'));
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('x', { webhook_endpoints: busy }),
      makeTeam('y', { webhook_endpoints: others }),
    ]),
  });
  client = new Client({ connectionString: api.databaseUrl });
  await client.connect();
  gate = [];
  receiver.reset();
  receiver.on('/busy', (response) => gate.push(response));
});

afterEach(async () => {
  receiver.reset();
  await deliveries.stop();
  await client.end();
  await api.stop();
});

const writeEvents = (team: string, count: number, fannedOutAt: string | null): Promise<unknown> =>
  client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select $1, 'evt_' || i, 'member.joined', '{}',
       now() - interval '1 minute' + i * interval '1 ms', $3
     from generate_series(1, $2::int) i`,
    [team, count, fannedOutAt],
  );

/** Writes deliveries of the busy team that wait already. */
async function writeDeliveries(status: string, urgent: boolean): Promise<void> {
  await writeEvents('team_x', BUSY_DELIVERIES, new Date().toISOString());
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, urgent, created_at, next_try_at)
     select 'team_x', 'whd_' || e.id || '_' || i, e.id, 'evt_' || i, 'member.joined', $2, $3, now(),
       case when $3 then null else now() - interval '1 minute' end
     from generate_series(1, $1::int) i, webhook_endpoint e
     where e.team_id = 'team_x'`,
    [BUSY_DELIVERIES, status, urgent],
  );
}

/**
 * Writes one delivery of each kind for the other team, due for longer than one is left alone. By
 * the worker's clock, which stands: it may have worked for a while.
 */
async function writeOthers(now: Date): Promise<void> {
  await writeEvents('team_y', 1, new Date().toISOString());
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, scheduled_attempts,
        urgent, created_at, next_try_at)
     select 'team_y', 'whd_' || name, 'whe_' || name, 'evt_1', 'member.joined', status, attempt,
       attempt, urgent, now, case when urgent then null else now - interval '10 seconds' end
     from (values ($1::timestamptz)) clock (now),
       (values ('first', 'pending', 0, false), ('retry', 'retrying', 1, false),
       ('requested', 'gave_up', 8, true)) n (name, status, attempt, urgent)`,
    [now],
  );
}

test.each([
  ['events', () => writeEvents('team_x', BUSY_DELIVERIES, null)],
  ['first attempts', () => writeDeliveries('pending', false)],
  ['requested attempts', () => writeDeliveries('gave_up', true)],
])('while many %s of one team wait, those of another one are made', async (_what, write) => {
  await write();
  await client.query('analyze');
  const now = new Date();
  // By its clock no attempt takes long, so no endpoint is slow.
  deliveries = await startDeliveries(api, { clock: stillClock(now), held: HELD });
  await until(() => gate.length === HELD);
  await writeOthers(now);
  // An endpoint that was found later comes behind the others.
  const most = 0.3 * BUSY_ENDPOINTS * BUSY_DELIVERIES;
  const haveCome = () => OTHERS.every((name) => receiver.requestsTo(`/${name}`).length > 0);
  while (!haveCome() && receiver.requests.length < most) {
    const { length } = receiver.requests;
    gate.shift()?.writeHead(200).end();
    await until(() => receiver.requests.length > length);
  }
  expect(haveCome()).toBe(true);
});

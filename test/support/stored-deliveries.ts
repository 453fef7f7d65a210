// A fresh API for each test, with deliveries as an earlier worker left them. Team a has the webhook
// endpoints `whe_1` to `whe_3`, team b has `whe_b`. Each is at the receiver's path of its id.
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from './api.ts';
import { appAsMember } from './app.ts';
import { startDeliveries, type Deliveries, type DeliveriesOptions } from './deliveries.ts';
import { startReceiver, type Receiver } from './receiver.ts';
import { makeSeed, makeTeam } from './seed.ts';
import { putSeedBack } from './seeded-rows.ts';

export let api: TestApi;
export let receiver: Receiver;
/** The tRPC API for an admin of team a. */
export let app: Awaited<ReturnType<typeof appAsMember>>;
let loops: Deliveries[] = [];

/**
 * Starts a receiver and the API before the tests of this file. Each begins with the rows of the
 * seed.
 */
export function useStoredDeliveries(): void {
  beforeAll(async () => {
    receiver = await startReceiver();
    const endpoint = (id: string) => ({
      id,
      url: `${receiver.url}/${id}`,
      events: ['member.joined' as const],
    });
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([
        makeTeam('a', { webhook_endpoints: ['whe_1', 'whe_2', 'whe_3'].map(endpoint) }),
        makeTeam('b', { webhook_endpoints: [endpoint('whe_b')] }),
      ]),
    });
    app = await appAsMember(api, 'a', 'admin');
  });
  beforeEach(async () => {
    receiver.reset();
    await putSeedBack(api);
  });
  afterEach(async () => {
    // Attempts in flight end.
    receiver.reset();
    await Promise.all(loops.map((loop) => loop.stop()));
    loops = [];
  });
}

/** Runs a statement and returns its rows. */
export const rows = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;

/** Sends the failed deliveries since October of an endpoint of team a again. */
export async function startResend(endpointId = 'whe_1') {
  const wanted = { endpoint_id: endpointId, since: '2026-10-01T00:00:00Z' };
  const [resend] = (await app.admin.deliveries.startResend.mutate(wanted)).data;
  if (!resend) throw new Error('a resend of one endpoint was left out');
  return resend;
}

/** Starts a delivery loop, which is stopped after the test. */
export async function startLoop(options: Partial<DeliveriesOptions> = {}): Promise<Deliveries> {
  const loop = await startDeliveries(api, { clock: systemClock, ...options });
  loops.push(loop);
  return loop;
}

/** What `writeDeliveries` writes. */
export interface Written {
  readonly team?: string;
  readonly endpoint?: string;
  readonly prefix: string;
  readonly count: number;
  readonly status?: string;
  readonly type?: string;
  readonly attempt?: number;
  /** When the first three were created. Each next three are a second younger. */
  readonly createdAt?: string;
}

const WRITE = `with e as (
    insert into event (team_id, id, type, data, created_at, fanned_out_at)
    select 'team_' || $1, 'evt_' || $3 || lpad(n::text, 5, '0'), $5,
      '{"team_id":"team_a","member_id":"mem_1"}',
      $7::timestamptz + (n - 1) / 3 * interval '1 second', now()
    from generate_series(1, $4::int) n
    returning team_id, id, created_at
  )
  insert into webhook_delivery
    (team_id, id, endpoint_id, event_id, event_type, status, attempt, scheduled_attempts,
     created_at, next_try_at, last_attempt_at)
  select team_id, substr(id, 5), $2, id, $5, $6, $8, $8,
    created_at,
    case when $6 in ('pending', 'retrying') then now() + interval '1 hour' end,
    case when $8::int > 0 then now() end
  from e`;

/** Writes deliveries `<prefix>00001` … with their events, by default ones that gave up. */
export async function writeDeliveries(fields: Written): Promise<string[]> {
  const { team = 'a', endpoint = 'whe_1', prefix, count, status = 'gave_up' } = fields;
  const { type = 'member.joined', createdAt = '2026-10-01T00:00:00Z' } = fields;
  const { attempt = status === 'pending' ? 0 : status === 'gave_up' ? 8 : 1 } = fields;
  await rows(WRITE, [team, endpoint, prefix, count, type, status, createdAt, attempt]);
  return Array.from({ length: count }, (_, n) => `${prefix}${String(n + 1).padStart(5, '0')}`);
}

// Each way in which the delivery loop learns of work, without the others: most run without ticks,
// and on a clock that stands still, so that nothing is due for long enough for the safety net.
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock, systemClock } from '../../src/core/clock.ts';
import { isDistributed } from '../../src/db/citus/shards.ts';
import { IS_WORKER_LOCK } from '../../src/delivery/claim-store.ts';
import type { DeliveriesOptions } from '../support/deliveries.ts';
import { endWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { held, inTurn, status } from '../support/receiver.ts';
import {
  api,
  receiver,
  rows,
  startLoop,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';
import { until } from '../support/until.ts';

useStoredDeliveries();

const NEVER_MS = 2_000_000_000;
const SESSIONS_OF_LOCKS = `select pid from pg_locks where ${IS_WORKER_LOCK}`;
const clock = fixedClock(new Date());
const startWithoutTicks = (options: Partial<DeliveriesOptions> = {}) =>
  startLoop({ clock, tickMs: NEVER_MS, ...options });
const arrived = (path: string): string[] =>
  receiver
    .requestsTo(path)
    .map(({ headers }) => String(headers['svc-event-id']))
    .toSorted();
const idsOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `evt_${prefix}${String(n + 1).padStart(5, '0')}`);
const allOk = (count: number) =>
  until(
    async () =>
      (
        await rows(`select from webhook_delivery
          where status = 'ok' and claimed_by is null`)
      ).length === count,
  );
/** Writes deliveries that are due now, to the millisecond. */
async function writeDue(written: Parameters<typeof writeDeliveries>[0]): Promise<void> {
  await writeDeliveries(written);
  await rows(`update webhook_delivery set next_try_at = $2 where id ~ $1`, [
    `^${written.prefix}`,
    clock.now(),
  ]);
}
/** Writes events that wait for their fan-out. */
async function writeEvents(prefix: string, count: number): Promise<void> {
  // The first round of a worker that has just started may run between any two of these.
  await rows(`update webhook_endpoint set status = 'disabled' where id <> 'whe_1'`);
  await writeDeliveries({ prefix, count, status: 'pending' });
  await rows(`delete from webhook_delivery`);
  await rows(`update event set fanned_out_at = null, created_at = $2 where id ~ $1`, [
    `^evt_${prefix}`,
    clock.now(),
  ]);
}

test.each(['pending', 'retrying'])('a worker that starts finds what is %s', async (waits) => {
  await writeDue({ prefix: 'a', count: 5, status: waits });
  await startWithoutTicks();
  await allOk(5);
  expect(arrived('/whe_1')).toEqual(idsOf('a', 5));
});

test('a wake-up for events leads to all, and the end of an attempt to the next', async () => {
  const { wake } = await startWithoutTicks();
  await writeEvents('e', 120);
  wake('events');
  await allOk(120);
  expect(arrived('/whe_1')).toEqual(idsOf('e', 120));
});

test('a wake-up for all leads to requested attempts, also of a paused endpoint', async () => {
  const { wake } = await startWithoutTicks();
  await writeDeliveries({ prefix: 'a', count: 5 });
  await writeDeliveries({ endpoint: 'whe_2', prefix: 'b', count: 5 });
  await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_2'`);
  await rows(`update webhook_delivery set urgent = true`);
  wake('all');
  await allOk(10);
  expect(arrived('/whe_1')).toEqual(idsOf('a', 5));
  expect(arrived('/whe_2')).toEqual(idsOf('b', 5));
});

test('a worker that goes leads to what it knew of, and not before', async () => {
  await writeDue({ endpoint: 'whe_2', prefix: 'o', count: 1, status: 'pending' });
  const other = await startWithoutTicks();
  await receiver.arrived('/whe_2');
  await startLoop({ clock });
  await pass(1);
  // Both have searched at their start. Nobody tells them of these, which are not due for long
  // enough to be found otherwise.
  await writeDue({ prefix: 'a', count: 5, status: 'pending' });
  await pass(12);
  expect(arrived('/whe_1')).toEqual([]);
  await other.stop();
  await until(() => arrived('/whe_1').length === 5);
  expect(arrived('/whe_1')).toEqual(idsOf('a', 5));
});

// After a failover, the session of the lock may still be at the former primary.
test('a worker whose lock the database does not know takes another, and goes on', async ({
  skip,
}) => {
  skip(await isDistributed(api.db), 'A cluster asks each node for its own locks.');
  await rows(`create table test_unknown as ${SESSIONS_OF_LOCKS}`);
  await rows('delete from test_unknown');
  const proxy = await startPostgresProxy(api.databaseUrl);
  onTestFinished(() => proxy.stop());
  proxy.prepareInstead(
    'webhooks.listWorkers',
    `select objid::int as number, date_trunc('milliseconds', clock_timestamp()) as at
     from pg_locks
     where ${IS_WORKER_LOCK} and pid not in (select pid from test_unknown)`,
  );
  const { logged } = await startLoop({ clock, route: () => proxy.url });
  await pass(1);
  await rows(`insert into test_unknown ${SESSIONS_OF_LOCKS}`);
  await until(() => logged.some((line) => line.includes('is at another node')));
  await pass(1);
  expect(await rows(SESSIONS_OF_LOCKS)).not.toEqual(await rows('select pid from test_unknown'));
});

test('a claim that the database breaks off leads to all that waits', async () => {
  const gate = held(status(200));
  receiver.on('/whe_1', gate.behaviour);
  await writeDue({ prefix: 'a', count: 5, status: 'pending' });
  const { logged } = await startWithoutTicks();
  // The first attempt of an endpoint goes alone. When it has ended, the loop claims the next ones,
  // and forgets that they wait.
  await receiver.arrived('/whe_1', 1);
  const release = await holdLock(api, lockWhole('event'));
  gate.open();
  await untilWaiting(api, 1);
  await endWaiting(api);
  await until(() => logged.some((line) => line.includes('could not use the database')));
  await release();
  await allOk(5);
  expect(arrived('/whe_1')).toEqual(idsOf('a', 5));
});

test('a retry that is due before its result is written is made at once', async () => {
  // An hour passes from each reading to the next, and the retry is due a minute after the attempt.
  let now = clock.now().getTime();
  const next = () => new Date((now += 3_600_000));
  const fast = { ...systemClock, override: next, now: next };
  receiver.on('/whe_1', inTurn(status(500), status(200)));
  await writeDue({ prefix: 'a', count: 1, status: 'pending' });
  await startWithoutTicks({ clock: fast });
  await allOk(1);
  expect(arrived('/whe_1')).toEqual([...idsOf('a', 1), ...idsOf('a', 1)]);
});

test('a tick leads to retries that have just become due', async () => {
  await startLoop({ clock });
  await writeDue({ prefix: 'a', count: 5, status: 'retrying' });
  await allOk(5);
  expect(arrived('/whe_1')).toEqual(idsOf('a', 5));
});

test.each(['pending', 'retrying'])(
  'a tick leads to what is %s of an endpoint that was set to active',
  async (waits) => {
    await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_1'`);
    await writeDue({ prefix: 'a', count: 5, status: waits });
    await startLoop({ clock });
    await pass(2);
    expect(arrived('/whe_1')).toEqual([]);
    await rows(
      `update webhook_endpoint set status = 'active', activated_at = $1 where id = 'whe_1'`,
      [clock.now()],
    );
    await until(() => arrived('/whe_1').length === 5);
  },
);

/** Resolves after at least so many ticks: each finds a retry that was not there before. */
async function pass(ticks: number): Promise<void> {
  for (let n = 0; n < ticks; n += 1) {
    const before = receiver.requestsTo('/whe_3').length;
    await writeDue({ endpoint: 'whe_3', prefix: `t${before}x`, count: 1, status: 'retrying' });
    await receiver.arrived('/whe_3', before + 1);
  }
}

test('an endpoint that is locked for many ticks and then paused gets each event once', async () => {
  const gate = held(status(200));
  receiver.on('/whe_1', gate.behaviour);
  await startLoop({ clock });
  await writeDue({ prefix: 'a', count: 5, status: 'retrying' });
  await receiver.arrived('/whe_1', 1);
  const release = await holdLock(
    api,
    `select from webhook_endpoint where team_id = 'team_a' and id = 'whe_1' for update`,
  );
  gate.open();
  await pass(12);
  await until(() => arrived('/whe_1').length === 5);
  const pause = rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_1'`);
  await release();
  await pause;
  await writeDue({ prefix: 'b', count: 5, status: 'retrying' });
  await until(
    async () =>
      (await rows(`select from webhook_delivery where id ~ '^a' and status = 'ok'`)).length === 5,
  );
  await pass(12);
  expect(arrived('/whe_1')).toEqual(idsOf('a', 5));
});

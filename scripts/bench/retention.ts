// What it costs to remove old deliveries: the processor time of their deletion and of the vacuum
// after it, in Postgres, against that of the deliveries themselves at 1,000 a second. Do not run
// anything else on the machine meanwhile.
//   node --import ./src/runtime/node-version.js scripts/bench/retention.ts [DELIVERIES]
import { setTimeout as delay } from 'node:timers/promises';
import { fixedClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/db/connections/database.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import {
  measureDeliveries,
  prepareEvents,
  seedSubscribers,
  startReceiver,
  startWorker,
} from './deliveries.ts';
import { atMost, printFigures, printHeading } from './report.ts';
import { openWorld, type World } from './world.ts';

const SUBSCRIBERS = { prefix: 'team_kept_', teams: 20, perTeam: 5 };
const DELIVERIES = Number(process.argv[2] ?? 40_000);
const PER_SECOND = 1_000;
/** The deliveries whose events are committed together: those of ten events. */
const STEP = 10 * SUBSCRIBERS.perTeam;
/** Later than everything is kept but the audit log. */
const LATER_MS = 31 * 86_400_000;
/** What a removal may cost, as a share of what it removes. More, and days should be partitions. */
const SHARE_MAX = 0.05;
const TABLES = ['webhook_delivery', 'event', 'event_in_hand'] as const;

await using stack = new AsyncDisposableStack();
const world = await openWorld(stack);
const receiver = await startReceiver(stack);
await seedSubscribers(world, SUBSCRIBERS, receiver.url);
const worker = await startWorker(world);
const deliver = async (count: number) =>
  measureDeliveries(receiver, [worker], { deliveries: count, begin: () => commitEvents(count) });
await deliver(DELIVERIES / 10);
const ofPostgres = await cpuOf(() => deliver(DELIVERIES));
const ofWorker = ofPostgres.result.cpuUs * (DELIVERIES / 1000);
process.kill(worker.pid, 'SIGKILL');

const database = openDatabase({
  url: databaseUrlOf(world),
  poolMax: 4,
  onError: () => undefined,
});
// The removal runs each hour: its connections are open and its statements planned.
await removeOld(database, fixedClock(new Date()));
const later = fixedClock(new Date(Date.now() + LATER_MS));
const removal = await cpuOf(() => removeOld(database, later));
await database.close();
const vacuum = await cpuOf(() => world.pool.query(`vacuum ${TABLES.join(', ')}`));

const removed = removal.result['deliveries'] ?? 0;
const perDelivery = (ms: number, count: number): number => (ms * 1000) / count;
const delivery = perDelivery(ofPostgres.ms, DELIVERIES);
const whole = perDelivery(ofPostgres.ms + ofWorker, DELIVERIES);
const deletion = perDelivery(removal.ms, removed);
const cleaning = perDelivery(vacuum.ms, removed);
const share = (deletion + cleaning) / whole;
printHeading(`Removal of ${removed} deliveries and their events`, ['µs each']);
printFigures('a delivery, in Postgres', [delivery.toFixed(1)]);
printFigures('a delivery, with the worker', [whole.toFixed(1)]);
printFigures('its deletion', [deletion.toFixed(1)]);
printFigures('its vacuum', [cleaning.toFixed(1)]);
printFigures('share of Postgres', [((deletion + cleaning) / delivery).toFixed(3)]);
printFigures('share of all', [share.toFixed(3)], { value: share, target: atMost(SHARE_MAX) });

/** Commits events that make `count` deliveries, as many in a second as are wanted. */
async function commitEvents(count: number): Promise<void> {
  const startedAt = performance.now();
  for (let done = 0; done < count; done += STEP) {
    const commit = await prepareEvents(world, SUBSCRIBERS, STEP);
    const early = startedAt + (done / PER_SECOND) * 1000 - performance.now();
    if (early > 0) await delay(early);
    await commit();
  }
}

/** Runs `work`, and returns what Postgres has computed meanwhile. */
async function cpuOf<T>(work: () => Promise<T>): Promise<{ readonly ms: number; result: T }> {
  const before = await world.postgresMs();
  const result = await work();
  return { ms: (await world.postgresMs()) - before, result };
}

function databaseUrlOf({ pool }: World): string {
  return pool.options.connectionString ?? '';
}

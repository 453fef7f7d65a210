// Webhook endpoints that fail until they are paused, on the test's clock. Each test has a team of
// its own with an owner, two active admins (one reads English, everybody else German), an invited
// and a former admin.
import pino from 'pino';
import { beforeAll, beforeEach, expect } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { pauseSilentEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { webhookMailTasks, webhookTasks } from '../../src/features/webhook-endpoints/tasks.ts';
import { mailerOf } from '../../src/features/sandbox/mail-service.ts';
import { createMailer } from '../../src/runtime/mail.ts';
import { startTestApi, type ApiResponse, type TestApi } from './api.ts';
import { steppedClock } from './clocks.ts';
import { startDeliveries } from './deliveries.ts';
import { runJobsOnce } from './jobs.ts';
import { startMailServer, type MailServer } from './mail-server.ts';
import { startReceiver, status, type Behaviour, type Receiver } from './receiver.ts';
import { makeMember, makeSeed, makeTeam, type TeamSeed } from './seed.ts';
import { until } from './until.ts';

export const DAY_MS = 86_400_000;
export const THREE_DAYS_MS = 3 * DAY_MS;

/** At least as many as a file has tests. */
const TEAMS = 14;
/** How long an attempt waits for a receiver, by the clock of the sender. */
const TIMEOUT_MS = 1_000;

/** A webhook endpoint at the receiver. */
export interface Endpoint {
  readonly id: string;
  readonly path: string;
}

export const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));
const senderClock = steppedClock(clock.now());
export let api: TestApi;
export let receiver: Receiver;
let mail: MailServer;
/** The name of the running test's team; the id is `team_<teamName>`. */
export let teamName = '';

/** Starts the API, the receiver, the loop and a mail server before the tests of this file. */
export function useWebhookPause(): void {
  let next = 0;
  beforeAll(async () => {
    receiver = await startReceiver();
    mail = await startMailServer();
    const names = Array.from({ length: TEAMS }, (_, index) => `p${index}`);
    api = await startTestApi({
      seed: makeSeed(names.map(makePausing)),
      clock,
      allowPrivateTargets: true,
    });
    await query(`update member set language = 'en' where email like 'english@%'`);
    await startDeliveries(api, { clock, senderClock, timeoutMs: TIMEOUT_MS });
  });
  beforeEach(() => {
    teamName = `p${next}`;
    next += 1;
  });
}

const makePausing = (name: string): TeamSeed =>
  makeTeam(name, {
    name: `Team „${name}“ & Söhne`,
    language: 'de',
    members: [
      makeMember(name, 'english', { role: 'admin' }),
      makeMember(name, 'invited', { role: 'admin', status: 'invited' }),
      makeMember(name, 'gone', { role: 'admin', status: 'ended' }),
    ],
  });

/** Calls the API with a key of the test's team. */
export const call = (method: string, path: string, body?: object): Promise<ApiResponse> =>
  api.call(api.key(`team_${teamName}`), method, path, body ? { body } : {});

/** Runs a statement and resolves with its rows. */
export const query = async (
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> => (await api.db.pool.query(sql, values)).rows;

/** Never responds, until the attempt ends with a timeout. */
export const timeOut: Behaviour = () => senderClock.advance(TIMEOUT_MS);

let count = 0;

/** Creates an endpoint at the receiver. */
export async function createEndpoint(
  behaviour: Behaviour,
  events = ['member.joined'],
): Promise<Endpoint> {
  const path = `/hook${(count += 1)}`;
  receiver.on(path, behaviour);
  const created = await call('POST', '/webhook-endpoints', { url: receiver.url + path, events });
  return { id: created.body.id, path };
}

/** Reactivates the endpoint. */
export const setActive = (endpoint: Endpoint): Promise<ApiResponse> =>
  call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'active' });

/** Pauses the endpoints that have failed for so long, as the job does each minute. */
export const pause = (afterMs = THREE_DAYS_MS) =>
  pauseSilentEndpoints(api.db, clock, afterMs / 1000);

/** Returns the endpoint as it is stored. */
export async function findEndpoint(
  endpoint: Endpoint,
): Promise<{ status: string; failing_since: string | null }> {
  const [row] = await query(
    `select status, failing_since
     from webhook_endpoint
     where team_id = $1 and id = $2`,
    [`team_${teamName}`, endpoint.id],
  );
  return row as { status: string; failing_since: string | null };
}

/** Returns whether the endpoint is paused. */
export const isPaused = async (endpoint: Endpoint): Promise<boolean> =>
  (await findEndpoint(endpoint)).status === 'disabled_failures';

const list = async (endpoint: Endpoint) =>
  (await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries`)).body.data;

/** Resolves when the endpoint's newest delivery has had so many attempts. */
export const attempted = (endpoint: Endpoint, attempt = 1) =>
  until(async () => (await list(endpoint))[0]?.attempt >= attempt);

/** Raises an event, and waits for the first attempt of its delivery. */
export async function deliver(endpoint: Endpoint): Promise<void> {
  const { length } = await list(endpoint);
  await call('POST', '/users', { email: `someone${(count += 1)}@example.test` });
  await until(async () => {
    const deliveries = await list(endpoint);
    return deliveries.length > length && deliveries[0].attempt > 0;
  });
}

/** Advances the clock, and waits for the retry that is due then to have failed. */
export async function failAgainAfter(endpoint: Endpoint, ms: number): Promise<void> {
  const [newest] = await list(endpoint);
  clock.advance(ms);
  await attempted(endpoint, newest.attempt + 1);
}

/** Creates an endpoint whose first failure is now. */
export async function failing(behaviour: Behaviour = status(500)): Promise<Endpoint> {
  const endpoint = await createEndpoint(behaviour);
  await deliver(endpoint);
  return endpoint;
}

/** Creates an endpoint, and advances the clock until it is paused. */
export async function paused(behaviour?: Behaviour): Promise<Endpoint> {
  const endpoint = await failing(behaviour);
  await failAgainAfter(endpoint, THREE_DAYS_MS);
  await pause();
  expect(await isPaused(endpoint)).toBe(true);
  return endpoint;
}

/** Runs every waiting job as the worker does, and returns the mails that the team got. */
export async function runJobs(): Promise<MailServer['received']> {
  const before = mail.received.length;
  const settings = { smtpUrl: mail.url, mailFrom: undefined, mailDir: 'unused' };
  const send = createMailer(settings, pino({ level: 'silent' }));
  const mailer = mailerOf(api.db, clock, send);
  const { db } = api;
  const taskList = {
    ...webhookTasks({ db, clock, pauseAfterS: THREE_DAYS_MS / 1000 }),
    ...webhookMailTasks({ db, mailer, publicUrl: 'https://api.test' }),
  };
  // A job of a pause adds those of its mails.
  do await runJobsOnce(api, taskList);
  while ((await query('select from pending_job')).length > 0);
  return mail.received.slice(before).filter(({ to }) => to.endsWith(`@${teamName}.test`));
}

// Alerts by mail, on the test's clock, by real jobs and to a real mail server. Each test has a team
// of its own with an owner (German), an admin who reads English, and a member.
import pino from 'pino';
import { beforeAll, beforeEach } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { enqueueDigests } from '../../src/features/alerts/service.ts';
import { alertMailTasks, alertTasks } from '../../src/features/alerts/tasks.ts';
import { mailerOf } from '../../src/features/sandbox/mail-service.ts';
import { createMailer } from '../../src/runtime/mail.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from './api.ts';
import { appAs, tokenOf } from './app.ts';
import { runJobsOnce } from './jobs.ts';
import { startMailServer, type MailServer } from './mail-server.ts';
import { makeSeed, makeTeam, memberId, userId } from './seed.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const NOW = new Date('2026-11-18T12:00:00.000Z');

/** At least as many as a file has tests. */
const TEAMS = 32;

export const clock = fixedClock(NOW);
export const secrets = { current: TEST_APP_SECRET, previous: null };
export let api: TestApi;
export let mail: MailServer;
/** The name of the running test's team; the id is `team_<teamName>`. */
export let teamName = '';

/** Set by a test to let the mail server refuse. */
export const refusals: Error[] = [];

/** Starts the API and a mail server before the tests of this file. */
export function useAlerts(): void {
  let next = 0;
  beforeAll(async () => {
    mail = await startMailServer(async () => refusals.shift());
    const names = Array.from({ length: TEAMS }, (_, index) => `n${index}`);
    api = await startTestApi({
      seed: makeSeed(
        names.map((name) =>
          makeTeam(name, {
            name: `Team „${name}“ & Söhne`,
            language: 'de',
            webhook_endpoints: [
              { id: `whe_${name}`, url: 'https://hooks.test/secret', events: ['member.joined'] },
              { id: `whe_${name}_2`, url: 'https://b.test/', events: ['member.joined'] },
            ],
          }),
        ),
      ),
      clock,
    });
    await query(`update member set language = 'en' where role = 'admin'`);
  });
  beforeEach(() => {
    teamName = `n${next}`;
    next += 1;
    clock.set(NOW);
  });
}

/** Runs a statement and resolves with its rows. */
export const query = async (
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> => (await api.db.pool.query(sql, values)).rows;

/** The tRPC API as a member of the running test's team. */
export async function as(name: string): Promise<ReturnType<typeof appAs>> {
  const identity = { userId: userId(teamName, name), teamId: `team_${teamName}` };
  return appAs(api, await tokenOf({ kind: 'user', ...identity }, clock.now()));
}

type Kind = 'webhooks' | 'errors' | 'keys';
export const ALL: Kind[] = ['webhooks', 'errors', 'keys'];

/** Chooses the kinds, as the member does. */
export async function want(name: string, kinds: readonly Kind[] = ALL): Promise<void> {
  await (await as(name)).admin.alerts.set.mutate({ kinds: [...kinds] });
}

const before = (ms: number): Date => new Date(clock.now().getTime() - ms);

/** Lets deliveries to an endpoint fail since so long ago; null: they succeed. */
export async function fail(sinceMs: number | null, endpoint = `whe_${teamName}`): Promise<void> {
  await query(`update webhook_endpoint set failing_since = $3 where team_id = $1 and id = $2`, [
    `team_${teamName}`,
    endpoint,
    sinceMs === null ? null : before(sinceMs),
  ]);
}

/** Lets a key end in so long; null: never. */
export async function endKey(inMs: number | null, name = 'full'): Promise<void> {
  await query('update api_key set expires_at = $3 where team_id = $1 and name = $2', [
    `team_${teamName}`,
    name,
    inMs === null ? null : before(-inMs),
  ]);
}

/** Replaces the requests of a day, so many days ago. */
export async function count(daysAgo: number, good: number, bad: number): Promise<void> {
  await query(
    `insert into api_key_usage (team_id, day, key_id, count_2xx, count_5xx)
     select team_id, $2, id, $3, $4
     from api_key
     where team_id = $1 and name = 'full'
     on conflict (team_id, day, key_id) do update
     set count_2xx = excluded.count_2xx, count_5xx = excluded.count_5xx`,
    [
      `team_${teamName}`,
      before(daysAgo * DAY_MS)
        .toISOString()
        .slice(0, 10),
      good,
      bad,
    ],
  );
}

/** Looks for new alerts, as the job does. */
export const find = () => enqueueDigests(api.db, clock);

/** Runs every waiting job as the worker does, and returns the mails that the team got. */
export async function runJobs(): Promise<MailServer['received']> {
  const known = mail.received.length;
  const settings = { smtpUrl: mail.url, mailFrom: undefined, mailDir: 'unused' };
  const send = createMailer(settings, pino({ level: 'silent' }));
  const mailer = mailerOf(api.db, clock, send);
  const publicUrl = api.url;
  const taskList = {
    ...alertTasks(api.db, clock),
    ...alertMailTasks({ db: api.db, clock, mailer, publicUrl, secrets }),
  };
  await runJobsOnce(api, taskList);
  return mail.received.slice(known).filter(({ to }) => to.endsWith(`@${teamName}.test`));
}

/** Looks for new alerts and runs the jobs. Returns who got a mail. */
export async function mailed(): Promise<string[]> {
  await find();
  return (await runJobs()).map(({ to }) => to.replace(/@.*/, '')).toSorted();
}

/** How the member's subscription is stored. */
export async function findSubscription(
  name: string,
): Promise<{ kinds: string[]; told: string[]; next_check_at: string } | undefined> {
  const [row] = await query(
    `select kinds, told, next_check_at
     from alert_subscription
     where team_id = $1 and member_id = $2`,
    [`team_${teamName}`, memberId(teamName, name)],
  );
  return row as { kinds: string[]; told: string[]; next_check_at: string } | undefined;
}

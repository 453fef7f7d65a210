import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { MailResult, TeamMailer } from '../../src/core/mail.ts';
import { movePendingJobs } from '../../src/db/jobs/job-intake.ts';
import { memberMailTasks } from '../../src/features/members/tasks.ts';
import { mailerOf } from '../../src/features/sandbox/mail-service.ts';
import { keepRunning } from '../../src/runtime/job-runner.ts';
import { createThreadLogger } from '../../src/runtime/log.ts';
import { createMailer, observeMails } from '../../src/runtime/mail.ts';
import { endRefused } from '../../src/runtime/refused-mails.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeFolder } from '../support/folder.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { startMailServer } from '../support/mail-server.ts';
import { platformOf } from '../support/platform.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

async function invite(api: TestApi, body: object, team = 'a'): Promise<string> {
  const created = await api.call(api.key(`team_${team}`), 'POST', '/users', { body });
  expect(created.status).toBe(201);
  return (created.body as { id: string }).id;
}

function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Runs the mails as the thread of a worker does, with this server or this folder. */
async function startMails(
  api: TestApi,
  settings: { readonly smtpUrl?: string; readonly mailDir?: string },
) {
  const lines: string[] = [];
  const failures: string[] = [];
  const results: MailResult[] = [];
  const logger = createThreadLogger('info', (line) => void lines.push(line));
  const options = { smtpUrl: undefined, mailFrom: undefined, mailDir: 'unused', ...settings };
  const send = observeMails(createMailer(options, logger), (result) => results.push(result));
  const mailer = mailerOf(api.db, systemClock, send);
  const tasks = memberMailTasks({ db: api.db, mailer, invitationUrl: undefined });
  const mails = await keepRunning({
    db: api.db,
    databaseUrl: api.databaseUrl,
    logger,
    slots: 2,
    poolMax: 3,
    taskList: endRefused(tasks, logger),
    schedule: [],
    onFailure: (task) => failures.push(task),
  });
  onTestFinished(() => mails.stop());
  const count = (result: MailResult): number => results.filter((one) => one === result).length;
  return { output: () => lines.join('\n'), failures, count };
}

/** Lets the invitation be tried without its pauses, until it was tried and its job has ended. */
async function untilEnded(api: TestApi, tries: () => number): Promise<void> {
  await until(async () => {
    await movePendingJobs(api.db);
    await api.db.pool.query(
      `with due as (
         update graphile_worker._private_jobs
         set run_at = now()
         where locked_at is null and attempts > 0 and run_at > now()
         returning id
       )
       select pg_notify('jobs:insert', '') from due`,
    );
    const { rowCount } = await api.db.pool.query(
      `select 1 from pending_job
       union all
       select 1 from graphile_worker.jobs where task_identifier = 'send_invitation_mail'`,
    );
    return tries() > 0 && rowCount === 0;
  });
}

describe('the invitation mail', () => {
  // Nobody can accept at an address of this service: `/` leads to the developer pages.
  test('has no link if the operator names no page to sign in at', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    await invite(api, { email: 'german@a.test', lang: 'de' });
    await invite(api, { email: 'english@a.test', lang: 'en' });
    const texts: Record<string, string> = {};
    const mailer: TeamMailer = async (_teamId, { to, text }) => void (texts[to] = text);
    await runJobsOnce(api, memberMailTasks({ db: api.db, mailer, invitationUrl: undefined }));
    expect(texts['german@a.test']).toMatch(
      /Melden Sie sich dort .* um die Einladung anzunehmen\.\n$/,
    );
    expect(texts['english@a.test']).toMatch(/Sign in there .* to accept the invitation\.\n$/);
    expect(Object.values(texts).join('\n')).not.toContain('://');
  });

  test('is sent for a suspended team, not for one that has ended or is being erased', async () => {
    const names = ['suspended', 'ended', 'erased', 'reopened'];
    const api = await startTestApi({ seed: makeSeed(names.map((name) => makeTeam(name))) });
    const { teams } = await platformOf(api);
    for (const name of names) await invite(api, { email: `new@${name}.test` }, name);
    const setStatus = async (name: string, status: 'active' | 'suspended' | 'ended') =>
      teams.update.mutate({ team_id: `team_${name}`, status });
    await setStatus('suspended', 'suspended');
    for (const name of ['ended', 'erased', 'reopened']) await setStatus(name, 'ended');
    await teams.erase.mutate({ team_id: 'team_erased' });
    await setStatus('reopened', 'active');
    const sent: string[] = [];
    const mailer = async (_teamId: string, { to }: { readonly to: string }) => void sent.push(to);
    await runJobsOnce(api, memberMailTasks({ db: api.db, mailer, invitationUrl: undefined }));
    expect(sent.toSorted()).toEqual(['new@reopened.test', 'new@suspended.test']);
  });

  test('is sent again if the mail server refused it', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    let attempts = 0;
    const mail = await startMailServer(async () => {
      attempts += 1;
      return attempts === 1 ? smtpError(451, 'again@a.test is busy, try again later') : undefined;
    });
    const worker = await startMails(api, { smtpUrl: mail.url });
    await invite(api, { email: 'again@a.test' });
    await untilEnded(api, () => attempts);
    expect(mail.received).toHaveLength(1);
    expect(attempts).toBe(2);
    expect(worker.output()).toContain('did not take it: EMESSAGE 451');
    expect(worker.output()).not.toContain('@a.test');
  });

  // A mistyped address. A relay that is set up wrongly refuses like that, too.
  test.each([
    { outage: 0, failures: 1, title: 'is one failed job' },
    { outage: 13, failures: 13, title: 'tries during an outage before are none of them' },
  ])('is given up at its twelfth refusal in a row: $title', async ({ outage, failures }) => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    let [tries, refusals] = [0, 0];
    const mail = await startMailServer(undefined, (command) => {
      if (command === 'MAIL FROM') {
        tries += 1;
        return tries > outage ? undefined : smtpError(451, 'not now');
      }
      refusals += 1;
      return smtpError(550, 'no typo@a.test here');
    });
    const { output, failures: told, count } = await startMails(api, { smtpUrl: mail.url });
    await invite(api, { email: 'typo@a.test' });
    await untilEnded(api, () => tries);
    expect(refusals).toBe(12);
    expect(mail.received).toEqual([]);
    const lines = output()
      .split('\n')
      .filter((line) => line.includes('refused for good'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 40,
      team: 'team_a',
      task: 'send_invitation_mail',
      reason: 'the mail server did not take it: EENVELOPE 550',
    });
    expect(output()).not.toContain('@a.test');
    expect(told).toEqual(Array.from({ length: failures }, () => 'send_invitation_mail'));
    expect([count('taken'), count('refused'), count('deferred'), count('failed')]).toEqual([
      0,
      12,
      0,
      outage,
    ]);
  });

  // A domain that does not resolve, which is often a mistyped one.
  test('is one failed job, too, if its recipient gets no mail for now', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    let tries = 0;
    const mail = await startMailServer(undefined, (command) => {
      if (command === 'MAIL FROM') return undefined;
      tries += 1;
      return tries < 7 ? smtpError(450, 'the domain of late@a.test is not found') : undefined;
    });
    const { output, failures, count } = await startMails(api, { smtpUrl: mail.url });
    await invite(api, { email: 'late@a.test' });
    await untilEnded(api, () => tries);
    expect(mail.received.map(({ to }) => to)).toEqual(['late@a.test']);
    expect(output()).not.toContain('@a.test');
    expect(failures).toEqual(['send_invitation_mail']);
    expect([count('taken'), count('refused'), count('deferred'), count('failed')]).toEqual([
      1, 0, 6, 0,
    ]);
  });

  test('is a file in MAIL_DIR if there is no mail server', async () => {
    const folder = await makeFolder('mail');
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    const mailDir = join(folder, 'mails');
    await startMails(api, { mailDir });
    await invite(api, { email: 'file@a.test' });
    await movePendingJobs(api.db);
    const mails = async () =>
      (await readdir(mailDir).catch(() => [])).filter((name) => name.endsWith('.eml'));
    await until(async () => (await mails()).length === 1);
    const [file = ''] = await mails();
    expect(await readFile(join(mailDir, file), 'utf8')).toContain('To: file@a.test');
    // Invitations hold names, addresses and links.
    expect((await stat(join(mailDir, file))).mode & 0o777).toBe(0o600);
    expect((await stat(mailDir)).mode & 0o777).toBe(0o700);
  });
});

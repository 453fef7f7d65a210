import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TeamMailer } from '../../src/core/mail.ts';
import { memberMailTasks } from '../../src/features/members/tasks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import { makeFolder } from '../support/folder.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { countWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { platformOf } from '../support/platform.ts';
import { findFreePort } from '../support/ports.ts';
import { openSandbox } from '../support/sandbox.ts';
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

/** Starts a worker that sends by this server. `countsOf` reads a metric of it, by labels. */
async function startCounting(api: TestApi, mail: MailServer) {
  const port = String(await findFreePort());
  const settings = { SMTP_URL: mail.url, METRICS_PORT: port };
  const worker = await startWorkerProcess(api.databaseUrl, settings);
  const countsOf = async (metric: string): Promise<Record<string, number>> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const lines = text.matchAll(new RegExp(`^${metric}(\\{.*\\}) (\\d+)$`, 'gm'));
    return Object.fromEntries([...lines].map(([, labels, count]) => [labels, Number(count)]));
  };
  return { worker, countsOf };
}

/** Lets the invitation be tried without its pauses, until it was tried and its job has ended. */
async function untilEnded(api: TestApi, tries: () => number): Promise<void> {
  await until(async () => {
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
  // The default language is the team's.
  test('is sent once, in the requested language, and not to removed members', async () => {
    const api = await startTestApi({
      seed: makeSeed([makeTeam('a', { name: 'Acme\r\nBcc: all@x.test', language: 'de' })]),
    });
    await invite(api, { email: 'german@a.test' });
    await invite(api, { email: 'english@a.test', lang: 'en' });
    const gone = await invite(api, { email: 'gone@a.test' });
    await api.call(api.key('team_a'), 'DELETE', `/users/${gone}`);
    const mail = await startMailServer();
    const worker = await startWorkerProcess(api.databaseUrl, {
      SMTP_URL: mail.url,
      MAIL_FROM: 'Training <training@a.test>',
      INVITATION_URL: 'https://app.test/sign-in?from=mail',
    });
    await until(
      async () =>
        (
          await api.db.pool.query(
            'select 1 from pending_job union all select 1 from graphile_worker.jobs',
          )
        ).rowCount === 0,
    );
    expect(mail.received.map(({ to }) => to).toSorted()).toEqual([
      'english@a.test',
      'german@a.test',
    ]);
    const text = (to: string) => mail.received.find((received) => received.to === to)?.text ?? '';
    expect(text('german@a.test')).toContain('zum Verkaufstraining eingeladen');
    expect(text('english@a.test')).toContain('has invited you');
    const link = ':\nhttps://app.test/sign-in?from=mail\n';
    for (const to of ['german@a.test', 'english@a.test'])
      expect(text(to).replaceAll('\r', '')).toContain(link);
    expect(text('english@a.test')).not.toMatch(/^Bcc:/m);
    expect(worker.output()).not.toContain('@a.test');
    await worker.kill('SIGTERM');
  });

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

  test('is no job of 1.0.0, whose workers know no sandboxes and would send it', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    const test = await openSandbox(api, 'a');
    const body = { email: 'new@sandbox.test' };
    expect((await api.call(test, 'POST', '/users', { body })).status).toBe(201);
    const live = await invite(api, { email: 'live@a.test' });
    const payload = { teamId: 'team_a', memberId: live };
    await api.db.pool.query(`select graphile_worker.add_job('send_invitation', $1)`, [payload]);
    const sent: string[] = [];
    const by =
      (worker: string) =>
      async (_teamId: string, { to }: { readonly to: string }) =>
        void sent.push(`${worker} ${to}`);
    const { send_invitation: task = () => undefined } = memberMailTasks({
      db: api.db,
      mailer: by('1.0.0'),
      invitationUrl: undefined,
    });
    await runJobsOnce(api, { send_invitation: task });
    expect(sent).toEqual(['1.0.0 live@a.test']);
    // One that a process of 1.0.0 has left.
    await api.db.pool.query(`select graphile_worker.add_job('send_invitation', $1)`, [payload]);
    await runJobsOnce(
      api,
      memberMailTasks({ db: api.db, mailer: by('now'), invitationUrl: undefined }),
    );
    expect(sent.slice(1).toSorted()).toEqual([
      'now live@a.test',
      'now live@a.test',
      'now new@sandbox.test',
    ]);
  });

  test('is sent again if the mail server refused it', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    let attempts = 0;
    const mail = await startMailServer(async () => {
      attempts += 1;
      return attempts === 1 ? smtpError(451, 'again@a.test is busy, try again later') : undefined;
    });
    const worker = await startWorkerProcess(api.databaseUrl, { SMTP_URL: mail.url });
    await invite(api, { email: 'again@a.test' });
    await until(() => mail.received.length === 1);
    expect(attempts).toBe(2);
    expect(worker.output()).toContain('did not take it: EMESSAGE 451');
    expect(worker.output()).not.toContain('@a.test');
    await worker.kill('SIGTERM');
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
    const { worker, countsOf } = await startCounting(api, mail);
    await invite(api, { email: 'typo@a.test' });
    await untilEnded(api, () => tries);
    expect(refusals).toBe(12);
    expect(mail.received).toEqual([]);
    const tell = (): string[] =>
      worker
        .output()
        .split('\n')
        .filter((line) => line.includes('refused for good'));
    await until(() => tell().length > 0);
    const told = tell();
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0] ?? '')).toMatchObject({
      level: 40,
      team: 'team_a',
      task: 'send_invitation_mail',
      reason: 'the mail server did not take it: EENVELOPE 550',
    });
    expect(worker.output()).not.toContain('@a.test');
    expect(await countsOf('job_failures_total')).toMatchObject({
      '{task="send_invitation_mail"}': failures,
    });
    expect(await countsOf('mails_total')).toEqual({
      '{result="taken"}': 0,
      '{result="refused"}': 12,
      '{result="deferred"}': 0,
      '{result="failed"}': outage,
    });
    await worker.kill('SIGTERM');
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
    const { worker, countsOf } = await startCounting(api, mail);
    await invite(api, { email: 'late@a.test' });
    await untilEnded(api, () => tries);
    expect(mail.received.map(({ to }) => to)).toEqual(['late@a.test']);
    expect(worker.output()).not.toContain('@a.test');
    expect(await countsOf('job_failures_total')).toMatchObject({
      '{task="send_invitation_mail"}': 1,
    });
    expect(await countsOf('mails_total')).toEqual({
      '{result="taken"}': 1,
      '{result="refused"}': 0,
      '{result="deferred"}': 6,
      '{result="failed"}': 0,
    });
    await worker.kill('SIGTERM');
  });

  test('does not wait for a statement of another job', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    const mail = await startMailServer();
    const worker = await startWorkerProcess(api.databaseUrl, { SMTP_URL: mail.url });
    const release = await holdLock(api, lockWhole('idempotency_record'));
    let sent = 0;
    // A statement gives up after seconds, which a busy machine may need for the mail.
    await until(async () => {
      await api.db.pool.query(`select graphile_worker.add_job('remove_old', max_attempts := 1)`);
      await untilWaiting(api, 1);
      sent += 1;
      await invite(api, { email: `new${sent}@a.test` });
      await until(() => mail.received.length === sent);
      return (await countWaiting(api.db)) > 0;
    });
    expect(mail.received).toHaveLength(sent);
    await release();
    await worker.kill('SIGTERM');
  });

  test('is a file in MAIL_DIR if there is no mail server', async () => {
    const folder = await makeFolder('mail');
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    const mailDir = join(folder, 'mails');
    const worker = await startWorkerProcess(api.databaseUrl, { MAIL_DIR: mailDir });
    await invite(api, { email: 'file@a.test' });
    const mails = async () =>
      (await readdir(mailDir).catch(() => [])).filter((name) => name.endsWith('.eml'));
    await until(async () => (await mails()).length === 1);
    const [file = ''] = await mails();
    expect(await readFile(join(mailDir, file), 'utf8')).toContain('To: file@a.test');
    // Invitations hold names, addresses and links.
    expect((await stat(join(mailDir, file))).mode & 0o777).toBe(0o600);
    expect((await stat(mailDir)).mode & 0o777).toBe(0o700);
    expect((await worker.kill('SIGTERM')).code).toBe(0);
  });
});

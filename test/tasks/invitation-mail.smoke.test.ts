// Invitation mails from a real worker process.
import { describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import { countWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { startMailServer } from '../support/mail-server.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

async function invite(api: TestApi, body: object, team = 'a'): Promise<string> {
  const created = await api.call(api.key(`team_${team}`), 'POST', '/users', { body });
  expect(created.status).toBe(201);
  return (created.body as { id: string }).id;
}

describe('the invitation mail', () => {
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
});

// Alerts by mail, from real worker processes.
import { expect, test } from 'vitest';
import { FIND_ALERTS } from '../../src/features/alerts/tasks.ts';
import { startTestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import { appAsMember } from '../support/app.ts';
import { startMailServer } from '../support/mail-server.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

test('come once to each admin who wants them, whichever worker runs the jobs', async () => {
  const hook = { id: 'whe_1', url: 'https://hooks.test/', events: ['member.joined' as const] };
  const api = await startTestApi({
    seed: makeSeed([makeTeam('a', { webhook_endpoints: [hook] })]),
  });
  const run = (sql: string) => api.db.pool.query(sql);
  await run(`update webhook_endpoint set failing_since = now() - interval '2 hours'`);
  for (const name of ['owner', 'admin'])
    await (await appAsMember(api, 'a', name)).admin.alerts.set.mutate({ kinds: ['webhooks'] });
  const mail = await startMailServer();
  const env = { SMTP_URL: mail.url, PUBLIC_URL: 'https://api.test' };
  const workers = await Promise.all([
    startWorkerProcess(api.databaseUrl, env),
    startWorkerProcess(api.databaseUrl, env),
  ]);
  await run(`select graphile_worker.add_job('${FIND_ALERTS}') from generate_series(1, 20)`);
  const isIdle = async () =>
    (await run('select 1 from pending_job union all select 1 from graphile_worker.jobs'))
      .rowCount === 0;
  await until(isIdle);
  await until(() => mail.received.length >= 2);
  expect(mail.received.map(({ to }) => to).toSorted()).toEqual(['admin@a.test', 'owner@a.test']);
  expect(mail.received[0]?.text).toContain('https://api.test/admin/webhooks/whe_1');
  for (const worker of workers) {
    expect(worker.output()).not.toContain('@a.test');
    expect((await worker.kill('SIGTERM')).code).toBe(0);
  }
});

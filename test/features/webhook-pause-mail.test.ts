// The mail about the pause of an endpoint, sent by real jobs to a real mail server.
import { describe, expect, test } from 'vitest';
import { movePendingJobs } from '../../src/db/jobs/job-intake.ts';
import { releaseJobs } from '../../src/db/jobs/job-locks.ts';
import { mailAdmins } from '../../src/features/webhook-endpoints/pause.ts';
import { PAUSE_ENDPOINTS, WEBHOOK_CRON } from '../../src/features/webhook-endpoints/tasks.ts';
import { holdLock } from '../support/locks.ts';
import type { MailServer } from '../support/mail-server.ts';
import { inTurn, status } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import {
  api,
  attempted,
  call,
  clock,
  deliver,
  failAgainAfter,
  failing,
  findEndpoint,
  isPaused,
  pause,
  paused,
  query,
  receiver,
  runJobs,
  setActive,
  teamName,
  THREE_DAYS_MS,
  timeOut,
  useWebhookPause,
} from '../support/webhook-pause.ts';

useWebhookPause();

const setTeamStatus = (to: string) =>
  query('update team set status = $1 where id = $2', [to, `team_${teamName}`]);

const recipients = (received: MailServer['received']) =>
  received.map(({ to }) => to.replace(/@.*/, '')).toSorted();

describe('the mail about a pause', () => {
  test('goes once to the owner and every active admin, and to nobody else', async () => {
    await paused();
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
    await pause();
    expect(await runJobs()).toEqual([]);
  });

  test("says in each reader's language what failed last and how to reactivate", async () => {
    const endpoint = await failing(inTurn(status(500), timeOut, status(418)));
    await failAgainAfter(endpoint, 60_000);
    clock.advance(300_000);
    await attempted(endpoint, 3);
    clock.set(
      new Date(Date.parse((await findEndpoint(endpoint)).failing_since ?? '') + THREE_DAYS_MS),
    );
    await attempted(endpoint, 4);
    const since = (await findEndpoint(endpoint)).failing_since?.slice(0, 16).replace('T', ' ');
    await pause();
    const received = await runJobs();
    const text = (who: string) => received.find(({ to }) => to === `${who}@${teamName}.test`)?.text;
    for (const who of ['owner', 'admin']) {
      expect(text(who)).toContain('Guten Tag');
      expect(text(who)).toContain(`Team „${teamName}“ & Söhne`);
      expect(text(who)).toContain('Zuletzt fehlgeschlagen mit: HTTP 418');
    }
    expect(text('english')).toContain('Hello');
    expect(text('english')).toContain('Last failure: HTTP 418');
    for (const { text: any } of received) {
      // A long header is folded.
      const [subject] = /^Subject: .*(?:\r?\n .*)*/m.exec(any) ?? [];
      expect(subject?.replaceAll(/\s+/g, ' ')).toMatch(
        new RegExp(`(?:since|seit) ${since} \\(UTC`),
      );
      expect(any).toContain(since);
      expect(any).toContain(`PATCH /webhook-endpoints/${endpoint.id}`);
      expect(any).toContain('{"status": "active"}');
      expect(any).toContain(`Team „${teamName}“ & Söhne`);
    }
  });

  // The path of a URL is often the secret of whoever takes the events in.
  test.each([
    ['host', null, '127.0.0.1'],
    ['description', 'Our\nCRM', 'Our CRM'],
  ])('names the %s of the endpoint and links to it, without its URL', async (_, given, name) => {
    const path = `/hooks/s3cr3t-path-${teamName}?code=s3cr3t-query`;
    receiver.on(path, status(500));
    const { body } = await call('POST', '/webhook-endpoints', {
      url: receiver.url + path,
      events: ['member.joined'],
      ...(given !== null && { description: given }),
    });
    await deliver({ id: body.id, path });
    await query('update webhook_endpoint set failing_since = $2 where team_id = $1', [
      `team_${teamName}`,
      new Date(clock.now().getTime() - THREE_DAYS_MS),
    ]);
    await pause();
    const texts = (await runJobs()).map(({ text }) => text);
    expect(texts).toHaveLength(3);
    for (const text of texts) {
      expect(text).toContain(`Webhook: ${name}`);
      expect(text).toContain(`https://api.test/admin/webhooks/${body.id}`);
      expect(text).not.toContain('s3cr3t');
    }
  });

  test('names the failure of the last attempt of all deliveries', async () => {
    const endpoint = await failing(inTurn(status(500), status(502), status(503)));
    clock.advance(1000);
    await deliver(endpoint);
    // The older delivery is attempted again after the younger one.
    clock.advance(59_000);
    await receiver.arrived(endpoint.path, 3);
    const hasFailedWith = (code: number) =>
      until(
        async () =>
          (
            await query('select from webhook_delivery where team_id = $1 and response_code = $2', [
              `team_${teamName}`,
              code,
            ])
          ).length === 1,
      );
    await hasFailedWith(503);
    // A test says nothing about what is missing.
    receiver.on(endpoint.path, status(504));
    expect((await call('POST', `/webhook-endpoints/${endpoint.id}/test`)).status).toBe(202);
    await hasFailedWith(504);
    await query('update webhook_endpoint set failing_since = $2 where team_id = $1', [
      `team_${teamName}`,
      new Date(clock.now().getTime() - THREE_DAYS_MS),
    ]);
    await pause();
    expect((await runJobs()).find(({ to }) => to.startsWith('english@'))?.text).toContain(
      'Last failure: HTTP 503',
    );
  });

  test('names the reason if there was no response', async () => {
    await paused(timeOut);
    expect((await runJobs()).find(({ to }) => to.startsWith('english@'))?.text).toContain(
      'Last failure: timeout',
    );
  });

  test('is not sent to somebody who is no longer an admin when the job runs', async () => {
    await paused();
    expect((await call('PATCH', `/users/mem_${teamName}_english`, { role: 'member' })).status).toBe(
      200,
    );
    expect((await call('DELETE', `/users/mem_${teamName}_admin`)).status).toBe(409);
    expect(recipients(await runJobs())).toEqual(['admin', 'owner']);
  });

  test('is not sent if the endpoint was reactivated or deleted meanwhile', async () => {
    await setActive(await paused());
    expect(await runJobs()).toEqual([]);
    clock.advance(THREE_DAYS_MS);
    const endpoint = await paused();
    await call('DELETE', `/webhook-endpoints/${endpoint.id}`);
    expect((await runJobs()).filter(({ text }) => text.includes(endpoint.id))).toEqual([]);
  });

  test('is not sent if the team was suspended or has ended meanwhile', async () => {
    for (const closed of ['suspended', 'ended']) {
      await paused();
      await setTeamStatus(closed);
      expect(await runJobs()).toEqual([]);
      await setTeamStatus('active');
      clock.advance(THREE_DAYS_MS);
    }
  });

  test('is sent once even if two jobs pause the endpoint at the same time', async () => {
    const endpoint = await failing();
    await failAgainAfter(endpoint, THREE_DAYS_MS);
    const release = await holdLock(
      api,
      `select
       from webhook_endpoint
       where team_id = 'team_${teamName}'
       for update`,
    );
    // Nobody waits for the team that holds its endpoints.
    await Promise.all([pause(), pause()]);
    expect(await isPaused(endpoint)).toBe(false);
    await release();
    await Promise.all([pause(), pause()]);
    expect(await isPaused(endpoint)).toBe(true);
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
    expect(
      await query(
        `select
         from audit_log
         where target_id = $1 and action = 'webhook_endpoint.paused'`,
        [endpoint.id],
      ),
    ).toHaveLength(1);
  });

  test('is sent again if the endpoint is paused again', async () => {
    const endpoint = await paused();
    await runJobs();
    await setActive(endpoint);
    await deliver(endpoint);
    await until(async () => (await findEndpoint(endpoint)).failing_since);
    await failAgainAfter(endpoint, THREE_DAYS_MS);
    await pause();
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
  });

  // One statement for all of them was cut off, and then nobody's endpoint was paused.
  test('goes to each of very many admins once, and only to a page of them at a time', async () => {
    await query(
      `insert into person (team_id, id)
       select $1, 'usr_' || n from generate_series(1, 110) n`,
      [`team_${teamName}`],
    );
    await query(
      `insert into member (team_id, id, user_id, email, role, status, created_at, joined_at)
       select $1, 'mem_' || n, 'usr_' || n, 'many' || n || '@' || $2, 'admin', 'active', $3, $3
       from generate_series(1, 110) n`,
      [`team_${teamName}`, `${teamName}.test`, clock.now()],
    );
    await paused();
    const added = await query(
      `select from graphile_worker._private_jobs where payload ->> 'teamId' = $1`,
      [`team_${teamName}`],
    );
    expect(added.length).toBeLessThanOrEqual(100);
    const told = recipients(await runJobs());
    expect(told).toHaveLength(113);
    expect(new Set(told).size).toBe(113);
  });

  test('goes once to each admin if a worker is killed behind the commit of a page', async () => {
    const endpoint = await paused();
    await movePendingJobs(api.db);
    const killed = 'a worker that was killed';
    await query(
      `update graphile_worker._private_jobs
       set locked_by = $2, locked_at = now(), attempts = attempts + 1
       where payload ->> 'teamId' = $1`,
      [`team_${teamName}`, killed],
    );
    await mailAdmins(api.db, {
      teamId: `team_${teamName}`,
      endpointId: endpoint.id,
      after: null,
    });
    await movePendingJobs(api.db);
    await releaseJobs(api.db, [killed]);
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
  });

  test('waits for whatever other teams have to be mailed', async () => {
    const endpoint = await paused();
    const teamId = `team_${teamName}`;
    await mailAdmins(api.db, { teamId, endpointId: endpoint.id, after: null });
    expect(await movePendingJobs(api.db)).toBeGreaterThan(0);
    expect((await call('POST', '/users', { email: 'later@x.test' })).status).toBe(201);
    expect(await movePendingJobs(api.db)).toBe(1);
    const mails = await query(
      `select task_identifier as task
       from graphile_worker.jobs j
       join graphile_worker._private_jobs p on p.id = j.id
       where p.payload ->> 'teamId' = $1 and p.payload ->> 'memberId' is not null
       order by j.priority, j.run_at, j.id`,
      [teamId],
    );
    // The first one has raised the event that failed.
    expect(mails.map(({ task }) => task)).toEqual([
      'send_invitation_mail',
      'send_invitation_mail',
      ...Array.from({ length: 3 }, () => 'send_pause_mail'),
    ]);
  });

  test('comes from a job that runs each minute', () => {
    expect(WEBHOOK_CRON).toMatchObject([{ task: PAUSE_ENDPOINTS, match: '* * * * *' }]);
  });
});

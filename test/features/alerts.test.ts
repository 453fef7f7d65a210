// Alerts by mail to the admins who want them.
import { describe, expect, test } from 'vitest';
import { ALERT_CRON, FIND_ALERTS } from '../../src/features/alerts/tasks.ts';
import {
  ALL,
  api,
  as,
  clock,
  count,
  DAY_MS,
  endKey,
  fail,
  find,
  findSubscription,
  HOUR_MS,
  mailed,
  NOW,
  query,
  refusals,
  runJobs,
  teamName,
  useAlerts,
  want,
} from '../support/alerts.ts';
import { endWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { memberId } from '../support/seed.ts';

useAlerts();

const team = () => `team_${teamName}`;

describe('a subscription', () => {
  test('is chosen by each admin alone, and nobody has one at first', async () => {
    const [owner, admin] = [await as('owner'), await as('admin')];
    expect(await owner.admin.alerts.get.query({})).toEqual({ kinds: [] });
    await owner.admin.alerts.set.mutate({ kinds: ['keys', 'webhooks', 'keys'] });
    expect(await owner.admin.alerts.get.query({})).toEqual({ kinds: ['webhooks', 'keys'] });
    expect(await admin.admin.alerts.get.query({})).toEqual({ kinds: [] });
    await owner.admin.alerts.set.mutate({ kinds: [] });
    expect(await owner.admin.alerts.get.query({})).toEqual({ kinds: [] });
    expect(await query(`select from audit_log where team_id = $1`, [team()])).toEqual([]);
  });

  test('ends with the role of an admin, also if the role comes back', async () => {
    await want('admin');
    await want('owner');
    await fail(2 * HOUR_MS);
    await api.call(api.key(team()), 'PATCH', `/users/${memberId(teamName, 'member')}`, {
      body: { role: 'admin' },
    });
    const admin = `/users/${memberId(teamName, 'admin')}`;
    await api.call(api.key(team()), 'PATCH', admin, { body: { role: 'member' } });
    expect(await mailed()).toEqual(['owner']);
    expect(await findSubscription('admin')).toBeUndefined();
    await api.call(api.key(team()), 'PATCH', admin, { body: { role: 'admin' } });
    expect(await mailed()).toEqual([]);
  });

  test('gets nothing while the team is suspended', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    await query(`update team set status = 'suspended' where id = $1`, [team()]);
    expect(await mailed()).toEqual([]);
    await query(`update team set status = 'active' where id = $1`, [team()]);
    clock.advance(HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
  });

  test('that was switched off is removed a day after the last mail, not before', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
    await want('owner', []);
    clock.advance(HOUR_MS);
    await want('owner');
    await want('owner', []);
    await want('owner');
    // Nobody gets two mails a day by switching it off and on.
    await fail(3 * HOUR_MS, `whe_${teamName}_2`);
    expect(await mailed()).toEqual([]);
    await want('owner', []);
    clock.advance(DAY_MS);
    expect(await mailed()).toEqual([]);
    expect(await findSubscription('owner')).toBeUndefined();
  });
});

describe('a kind that only a later version knows', () => {
  const told = ['credit:1'];
  const choose = async (kinds: readonly string[]) => {
    await want('owner');
    await query(`update alert_subscription set kinds = $2, told = $3 where team_id = $1`, [
      team(),
      kinds,
      told,
    ]);
    await fail(2 * HOUR_MS);
  };

  test('is left to that version, and so is what it has told', async () => {
    await choose(['credit']);
    expect(await mailed()).toEqual([]);
    expect(await findSubscription('owner')).toMatchObject({ kinds: ['credit'], told });
  });

  test('stays beside those that this one knows', async () => {
    await choose(['webhooks', 'credit']);
    expect(await mailed()).toEqual(['owner']);
    expect(await findSubscription('owner')).toMatchObject({
      kinds: ['webhooks', 'credit'],
      told: [expect.stringContaining('webhook:'), ...told],
    });
  });
});

describe('the alert about a webhook', () => {
  test('comes once for an hour without a success, and again for the next failure', async () => {
    await want('owner', ['webhooks']);
    await fail(HOUR_MS - 1000);
    expect(await mailed()).toEqual([]);
    clock.advance(HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
    // Still failing, and then paused for it: the same alert.
    clock.advance(DAY_MS);
    await query(`update webhook_endpoint set status = 'disabled_failures' where team_id = $1`, [
      team(),
    ]);
    expect(await mailed()).toEqual([]);
    clock.advance(DAY_MS);
    await fail(2 * HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
  });

  test('comes again after it has passed, even between two looks', async () => {
    await want('owner', ['webhooks']);
    await fail(2 * HOUR_MS);
    await mailed();
    clock.advance(2 * DAY_MS);
    await fail(2 * HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
  });

  test('says nothing of an endpoint that somebody has paused, and names no path', async () => {
    await want('owner', ['webhooks']);
    await query(
      `update webhook_endpoint
       set status = 'disabled', failing_since = $2
       where team_id = $1 and id = $3`,
      [team(), new Date(NOW.getTime() - DAY_MS), `whe_${teamName}_2`],
    );
    await fail(2 * HOUR_MS);
    await find();
    const [received] = await runJobs();
    expect(received?.text).toContain('Webhook „hooks.test“: seit 2026-11-18 10:00 (UTC)');
    expect(received?.text).toContain(`${api.url}/admin/webhooks/whe_${teamName}\r\n`);
    expect(received?.text).not.toContain('b.test');
    expect(received?.text).not.toContain('/secret');
  });
});

describe('the alert about keys', () => {
  test('comes once, 14 days before the end, and again if a new end is near', async () => {
    await want('owner', ['keys']);
    await endKey(14 * DAY_MS + 1000);
    expect(await mailed()).toEqual([]);
    clock.advance(HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
    clock.advance(DAY_MS);
    expect(await mailed()).toEqual([]);
    await endKey(20 * DAY_MS);
    clock.advance(7 * DAY_MS);
    expect(await mailed()).toEqual(['owner']);
  });

  test('says nothing of keys that have ended, were revoked or never end', async () => {
    await want('owner', ['keys']);
    await endKey(-1000, 'by_admin');
    await endKey(DAY_MS, 'by_member');
    await query(`update api_key set revoked_at = $2 where team_id = $1 and name = 'by_member'`, [
      team(),
      new Date(NOW.getTime() + HOUR_MS),
    ]);
    expect(await mailed()).toEqual([]);
  });
});

describe('the alert about errors', () => {
  test('comes for more than five percent of twenty requests since yesterday', async () => {
    await want('owner', ['errors']);
    await count(2, 0, 1000);
    await count(1, 18, 1);
    expect(await mailed()).toEqual([]);
    await count(0, 1, 0);
    clock.advance(HOUR_MS);
    // Exactly five percent.
    expect(await mailed()).toEqual([]);
    await count(0, 1, 1);
    clock.advance(HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
  });

  test('comes again only after the errors have become few', async () => {
    await want('owner', ['errors']);
    await count(0, 50, 50);
    expect(await mailed()).toEqual(['owner']);
    clock.advance(DAY_MS);
    await count(0, 50, 50);
    expect(await mailed()).toEqual([]);
    clock.advance(2 * DAY_MS);
    expect(await mailed()).toEqual([]);
    clock.advance(DAY_MS);
    await count(0, 50, 50);
    expect(await mailed()).toEqual(['owner']);
  });
});

describe('a mail', () => {
  test('tells all that is new, in the language of each reader, with links', async () => {
    await want('owner');
    await want('admin');
    await fail(2 * HOUR_MS);
    await count(0, 900, 300);
    await endKey(3 * DAY_MS);
    await find();
    const received = await runJobs();
    expect(received.map(({ to }) => to).toSorted()).toEqual([
      `admin@${teamName}.test`,
      `owner@${teamName}.test`,
    ]);
    const text = (who: string) => received.find(({ to }) => to.startsWith(who))?.text ?? '';
    for (const line of [
      `des Teams „Team „${teamName}“ & Söhne“`,
      'Webhook „hooks.test“: seit 2026-11-18 10:00 (UTC) war keine Zustellung erfolgreich.',
      'Fehler: seit 2026-11-17, 0 Uhr (UTC), wurden 25 % von 1.200 Anfragen',
      'API-Schlüssel „full“: er läuft am 2026-11-21 12:00 (UTC) ab.',
    ])
      expect(text('owner')).toContain(line);
    for (const line of [
      `of the team "Team „${teamName}“ & Söhne"`,
      'Webhook "hooks.test": no delivery has succeeded since 2026-11-18 10:00 (UTC).',
      'Errors: since 2026-11-17, 0:00 (UTC), 25% of 1,200 requests',
      'API key "full": it expires on 2026-11-21 12:00 (UTC).',
      `${api.url}/admin/webhooks/whe_${teamName}`,
      `${api.url}/admin/requests?status=errors&past=custom&since=2026-11-17T00:00:00.000Z`,
      `${api.url}/admin/keys`,
      `${api.url}/admin/alerts`,
    ])
      expect(text('admin')).toContain(line);
    // Nobody is named, and nobody else's address.
    for (const { text: any } of received) {
      expect(any).not.toContain('member@');
      expect(any).not.toContain('mem_');
      expect(any).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    }
    expect(text('owner')).not.toContain(`admin@`);
  });

  test('comes at most once in a day, and what is new meanwhile comes with the next', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    expect(await mailed()).toEqual(['owner']);
    await endKey(3 * DAY_MS);
    clock.advance(DAY_MS - 1000);
    expect(await mailed()).toEqual([]);
    clock.advance(1000);
    await find();
    const [received, ...others] = await runJobs();
    expect(others).toEqual([]);
    expect(received?.text).toContain('API-Schlüssel „full“');
    expect(received?.text).not.toContain('Webhook „hooks.test“');
  });

  test('has only the kinds that the reader wants', async () => {
    await want('owner', ['keys']);
    await fail(2 * HOUR_MS);
    expect(await mailed()).toEqual([]);
    expect((await findSubscription('owner'))?.told).toEqual([]);
  });

  test('leaves out what has passed before it is sent', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    await endKey(3 * DAY_MS);
    await find();
    await fail(null);
    const [received] = await runJobs();
    expect(received?.text).toContain('full');
    expect(received?.text).not.toContain('hooks.test');
  });

  test('is not sent if nothing is left of it', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    await find();
    await fail(null);
    expect(await runJobs()).toEqual([]);
  });

  test.each([
    ['an admin', `update member set role = 'member' where team_id = $1 and id = $2`],
    ['in the team', `update member set status = 'ended' where team_id = $1 and id = $2`],
    [
      'one who wants it',
      `update alert_subscription set kinds = '{}' where team_id = $1 and member_id = $2`,
    ],
  ])('is not sent to somebody who is no longer %s', async (_what, change) => {
    await want('admin');
    await fail(2 * HOUR_MS);
    await find();
    await query(change, [team(), memberId(teamName, 'admin')]);
    expect(await runJobs()).toEqual([]);
  });

  test('is sent again if the mail server refused it', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    refusals.push(Object.assign(new Error('busy'), { responseCode: 451 }));
    expect(await mailed()).toEqual([]);
    await query('update graphile_worker._private_jobs set run_at = now()');
    expect((await runJobs()).length).toBe(1);
  });
});

describe('the job', () => {
  test('that runs twice at once, or is killed and runs again, enqueues one mail', async () => {
    await want('owner');
    await want('admin');
    await fail(2 * HOUR_MS);
    await Promise.all([find(), find(), find(), find()]);
    await find();
    expect((await runJobs()).length).toBe(2);
  });

  test('neither loses nor repeats an alert if its commit fails', async () => {
    await want('owner');
    await fail(2 * HOUR_MS);
    // The insert of the job is sent with the commit.
    const release = await holdLock(api, lockWhole('pending_job'));
    const failed = find().then(
      () => 'done',
      () => 'failed',
    );
    await untilWaiting(api, 1);
    await endWaiting(api);
    await release();
    expect(await failed).toBe('failed');
    expect((await findSubscription('owner'))?.told).toEqual([]);
    expect(await mailed()).toEqual(['owner']);
  });

  test('leaves a subscription that somebody holds for the next run', async () => {
    await want('owner');
    await want('admin');
    await fail(2 * HOUR_MS);
    const release = await holdLock(
      api,
      `select
       from alert_subscription
       where team_id = '${team()}' and member_id = '${memberId(teamName, 'owner')}'
       for update`,
    );
    expect(await mailed()).toEqual(['admin']);
    await release();
    expect(await mailed()).toEqual(['owner']);
  });

  test('looks at all subscriptions that are due, over several pages', async () => {
    await query(
      `insert into person (team_id, id) select $1, 'usr_many_' || n from generate_series(1, 250) n`,
      [team()],
    );
    await query(
      `insert into member (team_id, id, user_id, email, role, status, created_at)
       select $1, 'mem_many_' || n, 'usr_many_' || n, 'many' || n || '@${teamName}.test', 'admin',
         'active', now()
       from generate_series(1, 250) n`,
      [team()],
    );
    await query(
      `insert into alert_subscription (team_id, member_id, kinds, next_check_at)
       select team_id, id, '{webhooks}', $2
       from member
       where team_id = $1 and id like 'mem_many_%'`,
      [team(), NOW],
    );
    await fail(2 * HOUR_MS);
    await find();
    // The mails themselves are not sent here.
    expect(
      await query('delete from pending_job where team_id = $1 returning id', [team()]),
    ).toHaveLength(250);
    const [row] = await query(
      `select count(*)::int as due
       from alert_subscription
       where team_id = $1 and next_check_at <= $2`,
      [team(), NOW],
    );
    expect(row).toEqual({ due: 0 });
  });

  test('runs every ten minutes', () => {
    expect(ALERT_CRON).toMatchObject([{ task: FIND_ALERTS, match: '*/10 * * * *' }]);
    expect(ALL).toHaveLength(3);
  });
});

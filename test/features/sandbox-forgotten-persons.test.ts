// An address that a team forgets is found in its sandbox neither: not in the mails that are kept
// there, nor with the members who were invited with it.
import pino from 'pino';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { endExpiredInvitations } from '../../src/features/members/service.ts';
import { memberMailTasks } from '../../src/features/members/tasks.ts';
import { mailerOf } from '../../src/features/sandbox/mail-service.ts';
import { createMailer } from '../../src/runtime/mail.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsPlatform } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { eventsOf } from '../support/platform.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

const SANDBOX = 'team_a:sandbox';
const DAY_MS = 86_400_000;
let api: TestApi;
let key: string;

beforeAll(async () => {
  const names = ['once', 'twice', 'left'];
  const members = names.map((name) => makeMember('a', name));
  api = await startTestApi({ seed: makeSeed([makeTeam('a', { members }), makeTeam('none')]) });
  key = await openSandbox(api, 'a', 'empty');
});

/** Invites to the sandbox, which keeps the mail about it. */
async function invite(email: string): Promise<string> {
  const invited = await api.call(key, 'POST', '/users', { body: { email } });
  expect(invited.status).toBe(201);
  const clock = fixedClock(new Date());
  const settings = { smtpUrl: undefined, mailFrom: undefined, mailDir: 'unused' };
  const mailer = mailerOf(api.db, clock, createMailer(settings, pino({ level: 'silent' })));
  await runJobsOnce(api, memberMailTasks({ db: api.db, mailer, invitationUrl: undefined }));
  return (invited.body as { id: string }).id;
}

/** What the sandbox has with the address, whatever its case. */
async function found(address: string): Promise<{ members: number; mails: number }> {
  const count = async (table: string, column: string) =>
    (
      await api.db.pool.query(
        `select from ${table} where team_id = $1 and lower(${column}) = lower($2)`,
        [SANDBOX, address],
      )
    ).rows.length;
  return {
    members: await count('member', 'email'),
    mails: await count('sandbox_mail', 'recipient'),
  };
}

const NOTHING = { members: 0, mails: 0 };
const BOTH = { members: 1, mails: 1 };

describe('the mails of a sandbox', () => {
  beforeEach(async () => {
    await api.db.pool.query(`delete from sandbox_mail`);
  });

  test('go with the invitation that is withdrawn, and only those to its address', async () => {
    const id = await invite('Withdrawn@person.example');
    await invite('other@person.example');
    expect(await found('withdrawn@person.example')).toEqual(BOTH);
    const app = await appInSandbox(api, 'a');
    await app.admin.invitations.withdraw.mutate({ member_id: id });
    expect(await found('withdrawn@person.example')).toEqual(NOTHING);
    expect(await found('other@person.example')).toEqual(BOTH);
  });

  test('go with the invitation that nobody accepts', async () => {
    const id = await invite('expired@person.example');
    await api.db.pool.query(
      `update member set invitation_sent_at = $2 where team_id = '${SANDBOX}' and id = $1`,
      [id, new Date(Date.now() - 1000 * DAY_MS)],
    );
    expect(await endExpiredInvitations(api.db, fixedClock(new Date()))).toBe(1);
    expect(await found('expired@person.example')).toEqual(NOTHING);
  });
});

test('a mail that is being written when its recipient leaves is not kept', async () => {
  const invited = await api.call(key, 'POST', '/users', { body: { email: 'late@person.example' } });
  const app = await appInSandbox(api, 'a');
  const keep = mailerOf(api.db, fixedClock(new Date()), () => Promise.reject(new Error('sent')));
  const mailer: typeof keep = async (teamId, mail) => {
    await app.admin.invitations.withdraw.mutate({ member_id: invited.body.id });
    await keep(teamId, mail);
  };
  await runJobsOnce(api, memberMailTasks({ db: api.db, mailer, invitationUrl: undefined }));
  expect(await found('late@person.example')).toEqual(NOTHING);
});

describe('a person who is deleted in the live team', () => {
  const remove = async (name: string, team = 'a') => {
    const { platform } = await appAsPlatform(api);
    await platform.members.deletePerson.mutate({
      team_id: `team_${team}`,
      user_id: userId(team, name),
    });
  };

  test('leaves the sandbox, too, with the mails to them', async () => {
    const id = await invite('ONCE@a.test');
    await invite('stays@person.example');
    expect(await found('once@a.test')).toEqual(BOTH);
    await remove('once');
    expect(await found('once@a.test')).toEqual(NOTHING);
    expect(await found('stays@person.example')).toEqual(BOTH);
    const { rows } = await api.db.pool.query(
      `select status, email from member where team_id = '${SANDBOX}' and id = $1`,
      [id],
    );
    expect(rows).toEqual([{ status: 'ended', email: null }]);
    const [event] = (await eventsOf(api, SANDBOX)).toReversed();
    expect(event).toMatchObject({ type: 'member.removed', data: { member_id: id } });
    const [entry] = (await auditOf(api, SANDBOX)).toReversed();
    expect(entry).toMatchObject({ action: 'member.removed', target_id: id });
  });

  test('is forgotten by former members of the sandbox, and by its last admin', async () => {
    const former = await invite('twice@a.test');
    await api.db.pool.query(
      `update member
       set status = 'ended', ended_at = now()
       where team_id = '${SANDBOX}' and id = $1`,
      [former],
    );
    const admin = await invite('twice@a.test');
    await api.db.pool.query(
      `update member set role = 'admin' where team_id = '${SANDBOX}' and id = $1`,
      [admin],
    );
    await remove('twice');
    expect(await found('twice@a.test')).toEqual(NOTHING);
  });

  test('loses mails whose invitation was withdrawn before they went with it', async () => {
    await api.db.pool.query(
      `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
       values ('${SANDBOX}', 'sbm_before', 'left@a.test', 'Welcome', 'Text', now())`,
    );
    await remove('left');
    expect(await found('left@a.test')).toEqual(NOTHING);
  });

  test('is deleted in a team without a sandbox', async () => {
    await remove('member', 'none');
    const { rows } = await api.db.pool.query(
      `select from member where team_id = 'team_none' and email = 'member@none.test'`,
    );
    expect(rows).toEqual([]);
  });
});

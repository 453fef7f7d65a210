// Members, and what belongs to people: assignments, trainings, evaluations, cases and events, among
// those of two teams with the same ids.
import { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import * as platformAssignments from '../../src/features/assignments/platform-store.ts';
import {
  searchAssignments,
  type AssignmentFilters,
} from '../../src/features/assignments/search-store.ts';
import * as assignments from '../../src/features/assignments/store.ts';
import * as platformCases from '../../src/features/cases/platform-store.ts';
import * as cases from '../../src/features/cases/store.ts';
import { findStored } from '../../src/features/evaluations/platform-store.ts';
import { findEvaluation } from '../../src/features/trainings/evaluation-store.ts';
import { listEvents } from '../../src/features/events/store.ts';
import * as invitations from '../../src/features/members/invitation-store.ts';
import * as platformMembers from '../../src/features/members/platform-store.ts';
import * as members from '../../src/features/members/store.ts';
import * as platformTrainings from '../../src/features/trainings/platform-store.ts';
import * as trainings from '../../src/features/trainings/store.ts';
import { untilWaiting } from '../support/locks.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const LATER = '2026-11-20T11:00:00.000Z';
const TEAMS = ['team_a', 'team_b'] as const;

let twins: TwinStores;
/** Addresses say whose they are. */
beforeEach(async () => {
  twins = await openTwinStores();
  await run(`update member set email = team_id || '.' || id || '@of.test' where email is not null`);
});

const run = (text: string, values: unknown[] = []) => twins.pool.query(text, values);
const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
/** Table and key of each row that `work` changed, and the columns. */
async function columnsChangedIn(work: (tx: Tx) => unknown): Promise<string[]> {
  const changed = await twins.changesIn(work);
  return Object.entries(changed).flatMap(([table, lines]) =>
    lines.map((line) => `${table} ${line.replace(/^(.*): (\w+) .*$/, '$1: $2')}`),
  );
}
/** Gives mem_2 assignments, all of one moment. */
const addAssignments = (status: string, count: number) =>
  run(
    `insert into assignment (team_id, id, member_id, title, status, created_at)
     select 'team_a', 'many_' || $1 || n, 'mem_2', 'Practise', $1, '2026-11-19Z'
     from generate_series(1, $2::int) n`,
    [status, count],
  );
const page = (limit = 9, after: { at: string; id: string } | null = null) => ({ limit, after });

describe('members', () => {
  test('are listed while they are live, the newest first', async () => {
    await run(`delete from member_block`);
    await run(`update member set created_at = '2026-11-01Z'`);
    await run(`update member set created_at = '2026-11-02Z' where id in ('mem_2', 'mem_4')`);
    const list = async (...args: Parameters<typeof page>) =>
      idsOf(await members.listMembers(twins.db, 'team_a', page(...args)));
    const after = { at: '2026-11-01T00:00:00.000Z', id: 'mem_9' };
    expect(await list(3)).toEqual(['mem_2', 'mem_owner', 'mem_9']);
    expect(await list(9, after)).toEqual([
      'mem_8',
      'mem_7',
      'mem_6',
      'mem_5',
      'mem_3',
      'mem_10',
      'mem_1',
    ]);
  });

  test('are found while they are live', async () => {
    for (const team of TEAMS) {
      const found = await members.findMember(twins.db, team, 'mem_2');
      expect(found).toMatchObject({ email: `${team}.mem_2@of.test` });
    }
    expect(await members.findMember(twins.db, 'team_a', 'mem_4')).toBeNull();
  });

  test('are found for a change, and whether another admin is active', async () => {
    const hasAnother = (team: string, id: string) =>
      twins.inTransaction(async (tx) => {
        const found = await members.findTarget(tx, team, id);
        return found && [found.email, found.has_another_admin];
      });
    // Admins of A: 1, 9, and 10, who is invited. Those of B: 2, and 9, who is invited.
    expect(await hasAnother('team_a', 'mem_2')).toEqual(['team_a.mem_2@of.test', true]);
    expect(await hasAnother('team_a', 'mem_1')).toEqual(['team_a.mem_1@of.test', true]);
    expect(await hasAnother('team_b', 'mem_1')).toEqual(['team_b.mem_1@of.test', true]);
    expect(await hasAnother('team_b', 'mem_2')).toEqual(['team_b.mem_2@of.test', false]);
    expect(await hasAnother('team_a', 'mem_4')).toBeNull();
  });

  test.each<{ name: string; write: (tx: Tx) => unknown; lines: string[] }>([
    {
      name: 'updateRole',
      write: (tx: Tx) => members.updateRole(tx, 'team_a', 'mem_1', 'member'),
      lines: ['member team_a mem_1: rights', 'member team_a mem_1: role'],
    },
    {
      name: 'endMembership',
      write: (tx: Tx) => members.endMembership(tx, 'team_a', 'mem_1', AT),
      lines: ['member team_a mem_1: ended_at', 'member team_a mem_1: status'],
    },
    {
      name: 'activate',
      write: (tx: Tx) =>
        platformMembers.activate(tx, 'team_a', 'mem_5', { userId: 'usr_new', at: AT }),
      lines: [
        'member team_a mem_5: joined_at',
        'member team_a mem_5: status',
        'member team_a mem_5: user_id',
        'person + team_a usr_new',
      ],
    },
  ])('$name writes one row', async ({ write, lines }) => {
    await run(`update member set role = 'admin', rights = '{schnittstellen}' where id = 'mem_1'`);
    expect(await columnsChangedIn(write)).toEqual(lines);
  });

  test('forgetEmails removes the addresses of ended members', async () => {
    // Both have joined: an invitation that ends loses its address at once.
    await run(`update member set user_id = 'usr_4' where team_id = 'team_a' and id = 'mem_5'`);
    await run(`update member set status = 'ended', rights = '{}' where id in ('mem_4', 'mem_5')`);
    await run(`update member set language = 'de'`);
    const forget = (tx: Tx) => members.forgetEmails(tx, 'team_a', ['mem_4', 'mem_5']);
    const changed = await columnsChangedIn(forget);
    expect(changed.filter((line) => line.startsWith('member'))).toEqual([
      'member team_a mem_4: email',
      'member team_a mem_4: language',
      'member team_a mem_5: email',
      'member team_a mem_5: language',
    ]);
  });
});

describe('invitations', () => {
  const facts = (email: string, since = new Date('2026-11-18T11:00:00.000Z')) =>
    twins.inTransaction((tx) => invitations.readInvitationFacts(tx, 'team_a', email, since));

  test('depend on the seats and the address', async () => {
    await run(`update team set seats = 77 where id = 'team_a'`);
    expect(await facts('Team_A.MEM_2@of.test')).toMatchObject({
      seats: 77,
      seatsUsed: 10,
      takenBy: 'mem_2',
    });
    expect(await facts('team_a.mem_4@of.test')).toMatchObject({ takenBy: null });
    expect(await facts('team_b.mem_2@of.test')).toMatchObject({ takenBy: null });
    await run(
      `update member set status = 'ended' where team_id = 'team_a' and id in ('mem_2', 'mem_3')`,
    );
    expect(await facts('x@of.test')).toMatchObject({ seatsUsed: 8 });
  });

  test('are limited by those of the last hour, mailed again or not', async () => {
    await run(`delete from invitation_resend`);
    await run(`update member set invited_at = null`);
    const resend = (team: string, count: number, at: string) =>
      run(
        `insert into invitation_resend (team_id, id, member_id, sent_at)
         select $1, gen_random_uuid()::text, 'mem_5', $3::timestamptz + interval '1 s' * n
         from generate_series(1, $2::int) n`,
        [team, count, at],
      );
    await resend('team_b', 99, '2026-11-18T11:30:00Z');
    await resend('team_a', 99, '2026-11-18T10:00:00Z');
    await resend('team_a', 59, '2026-11-18T11:40:00Z');
    expect(await facts('x@of.test')).toMatchObject({ limitingInvitedAt: null });
    // In team B one was invited, too; in team A long ago, and then within the hour.
    await run(`update member set invited_at = '2026-11-18T11:30:00Z' where team_id = 'team_b'`);
    await run(`update member set invited_at = '2026-11-18T10:00:00Z' where team_id = 'team_a'`);
    const since = new Date('2026-11-18T11:00:00.000Z');
    const find = (id: string) =>
      twins.inTransaction((tx) => invitations.findForResend(tx, 'team_a', id, since));
    expect(await facts('x@of.test')).toMatchObject({ limitingInvitedAt: null });
    expect(await find('mem_5')).toMatchObject({ limitingInvitedAt: null });
    await run(
      `update member
       set invited_at = '2026-11-18T11:35:00Z'
       where team_id = 'team_a' and id = 'mem_5'`,
    );
    const limiting = { limitingInvitedAt: '2026-11-18T11:35:00.000Z' };
    expect(await facts('x@of.test')).toMatchObject(limiting);
    expect(await find('mem_5')).toMatchObject({
      member: { id: 'mem_5', email: 'team_a.mem_5@of.test' },
      ...limiting,
    });
    expect(await find('mem_4')).toBeNull();
    const ofB = await twins.inTransaction((tx) =>
      invitations.findForResend(tx, 'team_b', 'mem_5', since),
    );
    expect(ofB).toMatchObject({ member: { email: 'team_b.mem_5@of.test' } });
    await run(`delete from invitation_resend where sent_at > '2026-11-18T11:40:30Z'`);
    expect(await find('mem_5')).toMatchObject({ limitingInvitedAt: null });
    expect(await facts('x@of.test')).toMatchObject({ limitingInvitedAt: null });
  });

  test('that are mailed again are counted, and begin anew', async () => {
    const resend = { id: 'inv_new', memberId: 'mem_5', at: AT };
    expect(await columnsChangedIn((tx) => invitations.insertResend(tx, 'team_a', resend))).toEqual([
      'invitation_resend + team_a inv_new',
      'member team_a mem_5: invitation_sent_at',
    ]);
  });

  test('are found for their mail while they are open', async () => {
    await run(`update member set language = null`);
    const find = (id: string) => invitations.findInvitation(twins.db, 'team_a', id);
    expect(await find('mem_5')).toEqual({
      email: 'team_a.mem_5@of.test',
      language: 'de',
      team_name: 'Twin a',
    });
    expect(await invitations.findInvitation(twins.db, 'team_b', 'mem_6')).toMatchObject({
      email: 'team_b.mem_6@of.test',
      team_name: 'Twin b',
    });
    expect(await find('mem_6')).toBeNull();
    await run(`update team set status = 'suspended'`);
    expect(await find('mem_5')).not.toBeNull();
    await run(`update team set status = 'ended' where id = 'team_a'`);
    expect(await find('mem_5')).toBeNull();
  });

  test('expire, the oldest first, but not those of a team that is being erased', async () => {
    await run(`update member set invitation_sent_at = '2026-11-10Z'`);
    await run(`update member set invitation_sent_at = '2026-11-09Z' where id = 'mem_9'`);
    await run(`update member set invitation_sent_at = '2026-11-20T10:00Z' where id = 'mem_10'`);
    const read = (limit: number, after: invitations.ExpiredRow | null = null) =>
      invitations.listExpired(twins.db, AT, { after, limit });
    const list = async (limit = 9) => (await read(limit)).map((row) => `${row.team_id} ${row.id}`);
    expect((await list()).toSorted()).toEqual(['team_a mem_5', 'team_b mem_6', 'team_b mem_9']);
    expect(await list(1)).toEqual(['team_b mem_9']);
    const [first, second, third] = await read(9);
    expect(await read(1, first)).toEqual([second]);
    expect(await read(9, second)).toEqual([third]);
    expect(await read(9, third)).toEqual([]);
    await run(`update team set status = 'ended', erasing_since = now() where id = 'team_b'`);
    expect(await list()).toEqual(['team_a mem_5']);
    const find = (id: string) =>
      twins.inTransaction((tx) => invitations.findExpired(tx, 'team_a', id, AT));
    expect(await find('mem_5')).toMatchObject({ id: 'mem_5' });
    expect(await find('mem_6')).toBeNull();
    expect(await find('mem_10')).toBeNull();
    await run(`delete from invitation_resend`);
    await run(`update member set status = 'ended' where team_id = 'team_a' and id = 'mem_5'`);
    expect(await find('mem_5')).toBeNull();
  });

  test('are accepted by their id or their address', async () => {
    const find = (memberId: string | null, email: string | null, userId = 'usr_new') =>
      twins.inTransaction((tx) =>
        platformMembers.findInvited(tx, 'team_a', { memberId, email, userId }),
      );
    expect(await find('mem_5', null)).toMatchObject({ id: 'mem_5', is_live_already: false });
    expect(await find(null, 'TEAM_A.mem_5@of.test')).toMatchObject({ id: 'mem_5' });
    expect(await find(null, 'team_b.mem_5@of.test')).toBeNull();
    expect(await find('mem_4', null)).toBeNull();
    expect(await find('mem_5', null, 'usr_1')).toMatchObject({ is_live_already: true });
    // `usr_4` has left team A, and is in team B; `usr_10` is only in team B.
    expect(await find('mem_5', null, 'usr_4')).toMatchObject({ is_live_already: false });
    expect(await find('mem_5', null, 'usr_10')).toMatchObject({ is_live_already: false });
  });

  test('of a person are found with their memberships', async () => {
    const list = async (userId: string) =>
      idsOf(
        await twins.inTransaction((tx) =>
          platformMembers.listMembershipsOfPerson(tx, 'team_a', userId),
        ),
      );
    await run(`update member set created_at = '2026-11-01Z'`);
    expect(await list('usr_4')).toEqual(['mem_4']);
    await run(`update member set email = 'left@of.test' where id = 'mem_4'`);
    await run(`update member set email = 'LEFT@of.test' where team_id = 'team_a' and id = 'mem_5'`);
    // Somebody else of team B has an address that is invited in team A.
    await run(
      `update member set email = 'team_a.mem_10@of.test' where team_id = 'team_b' and id = 'mem_2'`,
    );
    expect(await list('usr_4')).toEqual(['mem_4', 'mem_5']);
    await run(`update member set created_at = '2026-10-01Z' where id = 'mem_5'`);
    expect(await list('usr_4')).toEqual(['mem_5', 'mem_4']);
    // Somebody who is a member now had the same address.
    await run(`update member set user_id = 'usr_2', status = 'ended' where id = 'mem_5'`);
    expect(await list('usr_4')).toEqual(['mem_4']);
  });

  test('of addresses are found in any case, but for the owner', async () => {
    const list = async (...addresses: string[]) =>
      idsOf(
        await twins.inTransaction((tx) => platformMembers.listByAddresses(tx, 'team_a', addresses)),
      );
    await run(`update member set created_at = '2026-11-01Z'`);
    await run(`update member set email = 'Left@of.test' where id = 'mem_4'`);
    const both = ['LEFT@of.test', 'team_a.MEM_2@of.test'];
    expect(await list(...both, 'team_b.mem_5@of.test')).toEqual(['mem_2', 'mem_4']);
    await run(`update member set created_at = '2026-10-01Z' where id = 'mem_4'`);
    expect(await list(...both)).toEqual(['mem_4', 'mem_2']);
    await run(
      `update member set email = 'left@of.test' where team_id = 'team_a' and role = 'owner'`,
    );
    expect(await list('left@of.test')).toEqual(['mem_4']);
    await run(`update team set erasing_since = now(), status = 'ended' where id = 'team_a'`);
    expect(await list(...both)).toEqual([]);
  });

  test('forgetCreation forgets the hash of a team that was created with the member', async () => {
    await run(`update team set creation_hash = decode(repeat('ab', 32), 'hex')`);
    await run(`update team set created_at = '2026-02-01Z'`);
    await run(`update member set created_at = '2026-01-01Z'`);
    await run(
      `update member set created_at = '2026-02-01Z'
       where team_id = 'team_b' and id = 'mem_9' or team_id = 'team_a' and id = 'mem_3'`,
    );
    const forget = (id: string) => (tx: Tx) => platformMembers.forgetCreation(tx, 'team_a', [id]);
    expect(await columnsChangedIn(forget('mem_9'))).toEqual([]);
    expect(await columnsChangedIn(forget('mem_1'))).toEqual([]);
    expect(await columnsChangedIn(forget('mem_3'))).toEqual(['team team_a: creation_hash']);
  });
});

describe('assignments', () => {
  const list = async (...args: Parameters<typeof page>) =>
    (await assignments.listAssignments(twins.db, 'team_a', page(...args))).map(
      ({ id, member_email }) => `${id} ${member_email}`,
    );
  const of = (number: number) => `asg_${number} team_a.mem_${number}@of.test`;

  /** Each is of the member with its number. */
  beforeEach(async () => {
    await run(`update assignment set completed_training_id = null`);
    await run(`update assignment set member_id = 'mem_' || right(id, 1), status = 'open'`);
    await run(`update assignment set created_at = '2026-11-01Z'`);
    await run(`update assignment set created_at = '2026-11-02Z' where id in ('asg_2', 'asg_3')`);
  });

  test('are listed with their recipients, the newest first', async () => {
    expect(await list(3)).toEqual([of(3), of(2), of(9)]);
    expect(await list(9, { at: '2026-11-01T00:00:00.000Z', id: 'asg_5' })).toEqual([of(4), of(1)]);
  });

  test('are found with their recipient', async () => {
    for (const team of TEAMS) {
      const expected = { id: 'asg_2', member_email: `${team}.mem_2@of.test` };
      expect(await assignments.findAssignment(twins.db, team, 'asg_2')).toMatchObject(expected);
    }
  });

  test('are locked with the one of a training', async () => {
    await run(
      `update training set assignment_id = case team_id when 'team_a' then 'asg_3' else 'asg_4' end
       where id = 'trn_1'`,
    );
    await run(`update training set assignment_id = null where id <> 'trn_1'`);
    const lock = (tx: Tx) => platformAssignments.lockAssignments(tx, 'team_a', 'trn_1', 'asg_1');
    const emails = (await twins.inTransaction(lock)).map(({ member_email }) => member_email);
    expect(new Set(emails)).toEqual(new Set(['team_a.mem_1@of.test', 'team_a.mem_3@of.test']));
    expect(await twins.lockedBy('assignment', lock)).toEqual(['team_a asg_1', 'team_a asg_3']);
  });

  test('are completed, changed and removed alone', async () => {
    const complete = (tx: Tx) =>
      platformAssignments.completeAssignment(tx, 'team_a', 'asg_2', 'trn_1');
    expect(await columnsChangedIn(complete)).toEqual([
      'assignment team_a asg_2: completed_training_id',
      'assignment team_a asg_2: status',
      'assignment team_a asg_2: updated_at',
    ]);
    const row = await assignments.findAssignment(twins.db, 'team_a', 'asg_3');
    if (!row) throw new Error('no assignment');
    const update = (tx: Tx) => assignments.updateAssignment(tx, 'team_a', { ...row, note: 'new' });
    expect(await columnsChangedIn(update)).toEqual([
      'assignment team_a asg_3: note',
      'assignment team_a asg_3: updated_at',
    ]);
    await run(
      `update training
       set assignment_id = case when id in ('trn_1', 'trn_2') then 'asg_4' else 'asg_5' end`,
    );
    const remove = (tx: Tx) => assignments.removeAssignment(tx, 'team_a', 'asg_4');
    expect(await columnsChangedIn(remove)).toEqual([
      'assignment - team_a asg_4',
      'training team_a trn_1: assignment_id',
      'training team_a trn_2: assignment_id',
    ]);
    expect(await twins.inTransaction(remove)).toBe(false);
  });

  test('are locked for their removal', async () => {
    // Another transaction has it; the removal waits, and holds nothing else.
    const remove = () =>
      twins.inTransaction((tx) => assignments.removeAssignment(tx, 'team_a', 'asg_4'));
    const held = `assignment where team_id = 'team_a' and id = 'asg_4'`;
    expect(await twins.lockedBefore(held, 'training', remove)).toEqual([]);
  });

  test('give back a training that was recorded for them while their removal waited', async () => {
    const recording = new Client({ connectionString: twins.url });
    await recording.connect();
    onTestFinished(() => recording.end());
    await recording.query(
      `begin;
       update training
       set assignment_id = 'asg_4'
       where team_id = 'team_a' and id = 'trn_3'`,
    );
    const removing = twins.inTransaction((tx) =>
      assignments.removeAssignment(tx, 'team_a', 'asg_4'),
    );
    await Promise.race([removing, untilWaiting(twins, 1)]);
    await recording.query('commit');
    expect(await removing).toBe(true);
    const { rows } = await run(
      `select assignment_id from training where team_id = 'team_a' and id = 'trn_3'`,
    );
    expect(rows).toEqual([{ assignment_id: null }]);
  });

  test('are revoked while they are open', async () => {
    await run(`update assignment set member_id = 'mem_2' where id in ('asg_2', 'asg_3', 'asg_4')`);
    await run(`update assignment set status = 'done' where id = 'asg_3'`);
    const revoke = (tx: Tx) => assignments.revokeOpenAssignments(tx, 'team_a', 'mem_2');
    expect(await columnsChangedIn(revoke)).toEqual([
      'assignment team_a asg_2: status',
      'assignment team_a asg_2: updated_at',
      'assignment team_a asg_4: status',
      'assignment team_a asg_4: updated_at',
    ]);
  });

  test('are revoked, a thousand at a time, with those of one moment', async () => {
    await addAssignments('open', 2_500);
    await twins.inTransaction((tx) => assignments.revokeOpenAssignments(tx, 'team_a', 'mem_2'));
    const { rows } = await run(
      `select member_id, status, count(*)::int as count
       from assignment
       where team_id = 'team_a' and id ~ '^many'
       group by 1, 2`,
    );
    expect(rows).toEqual([{ member_id: 'mem_2', status: 'revoked', count: 2_500 }]);
  });

  test('are touched from a position on, whatever their status', async () => {
    await run(`update assignment set member_id = 'mem_2' where id in ('asg_2', 'asg_3', 'asg_4')`);
    await run(
      `update assignment
       set status = 'done', created_at = '2026-11-02' where id in ('asg_3', 'asg_4')`,
    );
    const progress: assignments.Progress = new Map([
      ['open', null],
      ['done', { at: '2026-11-02T00:00:00.000Z', id: 'asg_4' }],
    ]);
    const touch = async (tx: Tx): Promise<void> => {
      const end = await assignments.touchAssignments(tx, 'team_a', 'mem_2', progress);
      expect(end.size).toBe(0);
    };
    expect(await columnsChangedIn(touch)).toEqual([
      'assignment team_a asg_2: updated_at',
      'assignment team_a asg_3: updated_at',
    ]);
  });

  test('are touched all, a thousand of each status at a time', async () => {
    for (const status of ['open', 'done', 'revoked']) await addAssignments(status, 1_001);
    let progress = assignments.NOTHING_TOUCHED;
    const left: number[] = [];
    while (progress.size > 0) {
      const before = progress;
      progress = await twins.inTransaction((tx) =>
        assignments.touchAssignments(tx, 'team_a', 'mem_2', before),
      );
      left.push(progress.size);
    }
    expect(left).toEqual([3, 0]);
    const { rows } = await run(
      `select status, count(*)::int as count, bool_and(updated_at > '2026-11-20') as touched
       from assignment
       where team_id = 'team_a' and id ~ '^many'
       group by 1
       order by 1`,
    );
    expect(rows).toEqual(
      ['done', 'open', 'revoked'].map((status) => ({ status, count: 1_001, touched: true })),
    );
  });

  describe('searchAssignments', () => {
    const search = async (filters: AssignmentFilters, ...args: Parameters<typeof page>) => {
      const found = await searchAssignments(twins.db, 'team_a', page(...args), filters);
      expect(found.reached).toBeNull();
      return found.rows.map(({ id, member_email }) => `${id} ${member_email}`);
    };
    const after = { at: '2026-11-01T00:00:00.000Z', id: 'asg_8' };

    beforeEach(async () => {
      await run(`update assignment set member_id = 'mem_2', due_date = '2026-12-01'`);
      await run(`update assignment set external_ref = '{"id": "other"}'`);
      await run(
        `update assignment set updated_at = created_at - right(id, 1)::int * interval '1 day'`,
      );
    });
    const of2 = (...numbers: number[]) => numbers.map((n) => `asg_${n} team_a.mem_2@of.test`);

    test('finds those of a status, the newest first', async () => {
      await run(`update assignment set status = 'done' where right(id, 1)::int % 3 = 0`);
      expect(await search({ status: 'done' })).toEqual(of2(3, 9, 6));
      expect(await search({ status: 'done' }, 2)).toEqual(of2(3, 9));
      expect(await search({ status: 'done' }, 9, after)).toEqual(of2(6));
    });

    test('finds those of a member, whatever their status, the newest first', async () => {
      await run(`update assignment set member_id = 'mem_3' where id in ('asg_1', 'asg_4')`);
      await run(`update assignment set status = 'done' where id in ('asg_2', 'asg_8')`);
      await run(`update assignment set status = 'revoked' where id in ('asg_3', 'asg_9')`);
      const member = { member_id: 'mem_2' };
      expect(await search(member)).toEqual(of2(3, 2, 9, 8, 7, 6, 5));
      expect(await search(member, 3)).toEqual(of2(3, 2, 9));
      expect(await search(member, 9, after)).toEqual(of2(7, 6, 5));
      expect(await search({ ...member, status: 'revoked' })).toEqual(of2(3, 9));
      expect(await search({ ...member, status: 'open' }, 2)).toEqual(of2(7, 6));
    });

    test('finds those that are due before a day', async () => {
      await run(`update assignment set due_date = '2026-11-30' where id in ('asg_1', 'asg_2')`);
      await run(`update assignment set due_date = null where id = 'asg_3'`);
      expect(await search({ due_before: '2026-12-01' })).toEqual(of2(2, 1));
      expect(await search({ due_before: '2026-12-01', member_id: 'mem_2' }, 1)).toEqual(of2(2));
    });

    test('finds those with an external id, be it a text or a number', async () => {
      await run(
        `update assignment set external_ref = '{"id": 7}' where id in ('asg_1', 'asg_2', 'asg_5')`,
      );
      await run(`update assignment set external_ref = '{"id": "7", "a": 1}' where id = 'asg_8'`);
      await run(`update assignment set external_ref = '{"of": "7"}' where id = 'asg_7'`);
      await run(`update assignment set external_ref = null where id = 'asg_6'`);
      expect(await search({ external_ref_id: '7' })).toEqual(of2(2, 8, 5, 1));
      expect(await search({ external_ref_id: '7' }, 2)).toEqual(of2(2, 8));
      expect(await search({ external_ref_id: '7' }, 9, after)).toEqual(of2(5, 1));
    });

    test('finds those that were changed, the last change first', async () => {
      await run(`update assignment set updated_at = null where id = 'asg_9'`);
      const since = { updated_since: '2026-10-29T00:00:00.000Z' };
      expect(await search(since)).toEqual(of2(9, 2, 1, 3));
      expect(await search(since, 2)).toEqual(of2(9, 2));
      const changed = { at: '2026-10-31T00:00:00.000Z', id: 'asg_2' };
      expect(await search(since, 9, changed)).toEqual(of2(1, 3));
      expect(await search({ ...since, status: 'done' })).toEqual([]);
    });
  });

  describe('readRecipients', () => {
    const read = (ids: string, memberId = 'mem_7') => {
      const [situation = '', personality = '', industry = ''] = ids.split(' ');
      const combination = { situation, personality, industry } as never;
      return async (tx: Tx) => {
        const wanted = [{ memberId, combination }];
        const [recipient = null] = await assignments.readRecipients(tx, 'team_a', wanted);
        return recipient;
      };
    };
    const factsOf = async (ids: string, memberId?: string) => {
      const recipient = await twins.inTransaction(read(ids, memberId));
      const { visible, blocked, forbidden } = recipient?.facts ?? {};
      return { visible: visible?.toSorted(), blocked: blocked?.toSorted(), forbidden };
    };
    const ALL = ['industry', 'personality', 'situation'];
    beforeEach(() => run(`update team set all_released = false`));

    test('finds a live member, and shares their row', async () => {
      const find = read('sit_cold per_calm ind_saas');
      expect(await twins.inTransaction(find)).toMatchObject({
        member: { email: 'team_a.mem_7@of.test' },
      });
      expect(await twins.lockedBy('member', find)).toEqual(['team_a mem_7']);
      expect(await twins.inTransaction(read('sit_cold per_calm ind_saas', 'mem_4'))).toBeNull();
    });

    test('finds the recipient of each one, and shares each row once', async () => {
      const combination = { situation: 'own_a', personality: 'per_tough', industry: 'x' };
      const wanted = ['mem_7', 'mem_4', 'mem_2', 'x', 'mem_7'].map((memberId, place) => ({
        memberId,
        combination: place === 4 ? { ...combination, situation: 'own_1' } : combination,
      }));
      const find = (tx: Tx) => assignments.readRecipients(tx, 'team_a', wanted);
      const found = await twins.inTransaction(find);
      const of = (id: string, visible: string[], blocked: string[]) => ({
        member: expect.objectContaining({ email: `team_a.${id}@of.test` }),
        facts: expect.objectContaining({ visible, blocked, forbidden: null }),
      });
      const sorted = found.map(
        (one) =>
          one && {
            ...one,
            facts: {
              ...one.facts,
              visible: one.facts.visible.toSorted(),
              blocked: one.facts.blocked.toSorted(),
            },
          },
      );
      expect(sorted).toMatchObject([
        of('mem_7', ['personality', 'situation'], ['per_tough']),
        null,
        of('mem_2', ['personality', 'situation'], ['per_tough']),
        null,
        of('mem_7', ['personality', 'situation'], ['own_1', 'per_tough']),
      ]);
      expect(await twins.lockedBy('member', find)).toEqual(['team_a mem_2', 'team_a mem_7']);
    });

    test('says what is visible', async () => {
      const visibleOf = async (ids: string) => (await factsOf(ids)).visible;
      expect(await visibleOf('sit_cold per_calm ind_saas')).toEqual(ALL);
      expect(await visibleOf('own_a per_tough ind_saas')).toEqual(ALL);
      // Of the other team, of another kind, not released, or unknown.
      expect(await visibleOf('own_a own_b own_1')).toEqual(['situation']);
      expect(await visibleOf('per_calm ind_saas own_a')).toEqual([]);
      expect(await visibleOf('sit_renewal per_calm ind_public')).toEqual(['personality']);
      await run(`update team set all_released = id = 'team_a'`);
      expect(await visibleOf('sit_renewal per_calm ind_public')).toEqual(ALL);
      await run(`update team set all_released = id = 'team_b'`);
      expect(await visibleOf('sit_renewal per_calm ind_public')).toEqual(['personality']);
      // An own entry of another kind hides the global one.
      await run(
        `update team_catalog_entry set kind = 'role' where team_id = 'team_a' and id = 'sit_cold'`,
      );
      expect(await visibleOf('sit_cold per_calm x')).toEqual(['personality']);
    });

    test('says what is blocked for the team or the member', async () => {
      const blockedOf = async (ids: string, memberId?: string) =>
        (await factsOf(ids, memberId)).blocked;
      expect(await blockedOf('own_1 per_tough ind_saas')).toEqual(['own_1', 'per_tough']);
      expect(await blockedOf('own_1 per_tough ind_saas', 'mem_2')).toEqual([
        'ind_saas',
        'per_tough',
      ]);
      expect(await blockedOf('sit_cold per_calm ind_public')).toEqual([]);
    });

    test('says which rule forbids the combination', async () => {
      const forbiddenOf = async (ids: string) => (await factsOf(ids)).forbidden;
      const set = (situation: string | null, personality: string | null, industry: string | null) =>
        run(
          `insert into catalog_rule (id, situation_id, personality_id, industry_id)
           values (gen_random_uuid()::text, $1, $2, $3)`,
          [situation, personality, industry],
        );
      expect(await forbiddenOf('sit_renewal per_calm ind_public')).toBe('situation');
      await run(`delete from catalog_rule`);
      await set('sit_cold', 'per_calm', 'ind_saas');
      expect(await forbiddenOf('sit_cold per_calm ind_saas')).toBe('situation');
      expect(await forbiddenOf('sit_renewal per_calm ind_saas')).toBeNull();
      expect(await forbiddenOf('sit_cold per_tough ind_saas')).toBeNull();
      expect(await forbiddenOf('sit_cold per_calm ind_public')).toBeNull();
      await run(`delete from catalog_rule`);
      await set(null, 'per_calm', 'ind_saas');
      expect(await forbiddenOf('sit_cold per_calm ind_saas')).toBe('personality');
      await set('sit_cold', null, 'ind_saas');
      expect(await forbiddenOf('sit_cold per_calm ind_saas')).toBe('situation');
      expect(await forbiddenOf('sit_cold per_tough ind_saas')).toBe('situation');
      expect(await forbiddenOf('sit_cold per_tough ind_public')).toBeNull();
      expect(await forbiddenOf('sit_renewal per_calm ind_public')).toBeNull();
      expect(await forbiddenOf('sit_renewal per_tough ind_saas')).toBeNull();
      await set('sit_cold', 'per_tough', null);
      expect(await forbiddenOf('sit_cold per_tough ind_public')).toBe('situation');
    });
  });
});

describe('trainings', () => {
  test('lock their person', async () => {
    await run(
      `update training set user_id = case team_id when 'team_a' then 'usr_1' else 'usr_2' end
       where id = 'trn_1'`,
    );
    const lock = (tx: Tx) => platformTrainings.lockPerson(tx, 'team_a', 'usr_3');
    expect(await twins.lockedBy('person', lock)).toEqual(['team_a usr_3']);
    const lockOf = (tx: Tx) => platformTrainings.lockPersonOf(tx, 'team_a', 'trn_1');
    expect(await twins.lockedBy('person', lockOf)).toEqual(['team_a usr_1']);
    expect(await twins.inTransaction(lockOf)).toBe(true);
    const unknown = (tx: Tx) => platformTrainings.lockPersonOf(tx, 'team_a', 'trn_x');
    expect(await twins.inTransaction(unknown)).toBe(false);
  });

  test('know a person of their team', async () => {
    const knows = (userId: string) =>
      twins.inTransaction((tx) => platformTrainings.knowsPerson(tx, 'team_a', userId));
    expect(await knows('usr_4')).toBe(true);
    expect(await knows('usr_x')).toBe(false);
    await run(`insert into person (team_id, id) values ('team_b', 'usr_new')`);
    expect(await knows('usr_new')).toBe(false);
  });

  test('are found and written in one team', async () => {
    await run(`update training set duration_s = case team_id when 'team_a' then 1 else 2 end`);
    const find = (team: string) => (tx: Tx) =>
      platformTrainings.findTrainingOfAnybody(tx, team, 'trn_2');
    expect(await twins.inTransaction(find('team_b'))).toMatchObject({ id: 'trn_2', duration_s: 2 });
    const found = await twins.inTransaction(find('team_a'));
    if (!found) throw new Error('no training');
    expect(found).toMatchObject({ id: 'trn_2', duration_s: 1 });
    const update = (tx: Tx) =>
      platformTrainings.updateTraining(tx, 'team_a', { ...found, duration_s: 9 });
    expect(await columnsChangedIn(update)).toEqual(['training team_a trn_2: duration_s']);
    await run(`update training set status = 'running'`);
    const mark = (tx: Tx) => platformTrainings.markScored(tx, 'team_a', 'trn_2');
    expect(await columnsChangedIn(mark)).toEqual(['training team_a trn_2: status']);
    await run(`update training set duration_s = 1, user_id = 'usr_4' where id = 'trn_2'`);
    expect(await trainings.findTraining(twins.db, 'team_a', 'trn_2')).toBeNull();
    expect(await trainings.findTraining(twins.db, 'team_b', 'trn_2')).toMatchObject({
      id: 'trn_2',
      user_id: 'usr_4',
    });
    expect(await trainings.findTraining(twins.db, 'team_a', 'trn_11')).toMatchObject({
      id: 'trn_11',
    });
  });

  test('have an evaluation, which shows while their person is a member', async () => {
    await run(`update evaluation set total = case team_id when 'team_a' then 1 else 2 end`);
    for (const [place, team] of TEAMS.entries()) {
      const stored = await twins.inTransaction((tx) => findStored(tx, team, 'trn_11'));
      expect(stored).toMatchObject({ total: place + 1 });
      const unknown = await twins.inTransaction((tx) => findStored(tx, team, 'trn_x'));
      expect(unknown).toBeNull();
      const found = await findEvaluation(twins.db, team, 'trn_11');
      expect(found).toMatchObject({ total: place + 1, training_id: 'trn_11', user_id: 'usr_1' });
      const other = await findEvaluation(twins.db, team, 'trn_12');
      expect(other).toMatchObject({ total: place + 1, training_id: 'trn_12', user_id: 'usr_2' });
    }
    await run(
      `update member set status = 'ended', rights = '{}' where team_id = 'team_a' and id = 'mem_1'`,
    );
    expect(await findEvaluation(twins.db, 'team_a', 'trn_11')).toBeNull();
    expect(await findEvaluation(twins.db, 'team_a', 'trn_12')).not.toBeNull();
  });
});

describe('cases', () => {
  const list = async (userId: string | null = null, ...args: Parameters<typeof page>) =>
    idsOf(await cases.listCases(twins.db, 'team_a', { ...page(...args), userId }));

  beforeEach(async () => {
    await run(
      `update training_case
       set private = (team_id = 'team_a') = (id = 'cas_6'), user_id = 'usr_1',
         created_at = case when id in ('cas_1', 'cas_2') then timestamptz '2026-11-02Z'
           else '2026-11-01Z' end`,
    );
    await run(`update training_case set user_id = 'usr_2' where id in ('cas_1', 'cas_3')`);
  });

  test('are listed unless they are private, the newest first', async () => {
    expect(await list()).toEqual(['cas_2', 'cas_1', 'cas_5', 'cas_4', 'cas_3']);
    expect(await list(null, 3)).toEqual(['cas_2', 'cas_1', 'cas_5']);
    const after = { at: '2026-11-01T00:00:00.000Z', id: 'cas_4' };
    expect(await list(null, 9, after)).toEqual(['cas_3']);
    expect(await list('usr_2')).toEqual(['cas_1', 'cas_3']);
    expect(await list('usr_2', 1)).toEqual(['cas_1']);
    expect(await list('usr_1', 9, after)).toEqual([]);
  });

  test.each([null, 'usr_1'])('end with the first that does not fit, of %s', async (userId) => {
    await run(`update training_case set json_bytes = 700000, user_id = 'usr_1'`);
    expect(await list(userId)).toEqual(['cas_2', 'cas_1']);
    await run(`update training_case set created_at = '2026-11-01Z'`);
    expect(await list(userId)).toEqual(['cas_5', 'cas_4']);
  });

  test('are of an active member, who stays one', async () => {
    const lock = (userId: string) => (tx: Tx) => cases.lockActiveMember(tx, 'team_a', userId);
    expect(await twins.inTransaction(lock('usr_1'))).toBe(true);
    expect(await twins.inTransaction(lock('usr_4'))).toBe(false);
    expect(await twins.lockedBy('member', lock('usr_7'))).toEqual(['team_a mem_7']);
  });

  test('are found for a change, locked and written alone', async () => {
    const find = (team: string) => (tx: Tx) => cases.findCaseForUpdate(tx, team, 'cas_2');
    expect(await twins.inTransaction(find('team_b'))).toMatchObject({ title: 'cas_2 of b' });
    const found = await twins.inTransaction(find('team_a'));
    if (!found) throw new Error('no case');
    expect(found).toMatchObject({ id: 'cas_2', title: 'cas_2 of a' });
    expect(await twins.lockedBy('training_case', find('team_a'))).toEqual(['team_a cas_2']);
    const update = (tx: Tx) => cases.updateCase(tx, 'team_a', { ...found, title: 'new' });
    const changed = await columnsChangedIn(update);
    expect(changed).toContain('training_case team_a cas_2: title');
    expect(changed.filter((line) => !line.startsWith('training_case team_a cas_2: '))).toEqual([]);
  });

  test.each([
    ['the host application', platformCases.removeCase, true],
    ['the team', cases.removeCase, false],
  ])('are removed alone by %s', async (_who, removeCase, mayPrivate) => {
    const remove = (id: string) => (tx: Tx) => removeCase(tx, 'team_a', id);
    expect(await columnsChangedIn(remove('cas_2'))).toEqual(['training_case - team_a cas_2']);
    expect(await twins.inTransaction(remove('cas_2'))).toBe(false);
    expect(await twins.inTransaction(remove('cas_6'))).toBe(mayPrivate);
  });
});

describe('events', () => {
  const list = async (since: string | null = null, ...args: Parameters<typeof page>) =>
    (await listEvents(twins.db, 'team_a', page(...args), since === null ? {} : { since })).rows.map(
      ({ id, data }) => `${id} ${String(data['of'])}`,
    );

  test('are listed for their team, the newest first', async () => {
    await run(`delete from webhook_delivery where event_id not in ('evt_1', 'evt_2', 'evt_3')`);
    await run(`delete from event where id not in ('evt_1', 'evt_2', 'evt_3')`);
    await run(
      `update event
       set created_at = case id when 'evt_1' then timestamptz '2026-11-20T11:00Z'
         else '2026-11-20T10:00Z' end`,
    );
    expect(await list()).toEqual(['evt_1 a', 'evt_3 a', 'evt_2 a']);
    expect(await list(null, 2)).toEqual(['evt_1 a', 'evt_3 a']);
    expect(await list(null, 9, { at: AT.toISOString(), id: 'evt_3' })).toEqual(['evt_2 a']);
    expect(await list(LATER)).toEqual(['evt_1 a']);
  });
});

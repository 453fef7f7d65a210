// What belongs to a team: its members, settings, catalog and keys, and its erasure, among those of
// two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { MailNotTaken } from '../../src/core/mail.ts';
import type { Tx } from '../../src/db/client.ts';
import type { TEAM_LIMITS } from '../../src/core/team-limits.ts';
import { TENANT_TABLES, TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { lockTeam } from '../../src/db/team-lock.ts';
import { announce } from '../../src/features/announcements/service.ts';
import * as announcements from '../../src/features/announcements/store.ts';
import * as keys from '../../src/features/api-keys/store.ts';
import * as platformCatalog from '../../src/features/catalog/platform-store.ts';
import * as catalog from '../../src/features/catalog/store.ts';
import * as connections from '../../src/features/crm/connections/store.ts';
import * as invitations from '../../src/features/members/invitation-store.ts';
import { isDone, runBatch, STEPS } from '../../src/features/team-lifecycle/erasure-steps-store.ts';
import * as erasure from '../../src/features/team-lifecycle/erasure-store.ts';
import * as teams from '../../src/features/team-lifecycle/store.ts';
import * as policies from '../../src/features/team-settings/catalog-store.ts';
import * as settings from '../../src/features/team-settings/store.ts';
import { OF_SANDBOXES } from '../support/twins.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');

let twins: TwinStores;
beforeEach(async () => {
  twins = await openTwinStores();
});

const run = (text: string, values: unknown[] = []) => twins.pool.query(text, values);
/** Table and key of each row that `work` changed, and the columns. */
async function columnsChangedIn(work: (tx: Tx) => unknown): Promise<string[]> {
  const changed = await twins.changesIn(work);
  return Object.entries(changed).flatMap(([table, lines]) =>
    lines.map((line) => `${table} ${line.replace(/^(.*): (\w+) .*$/, '$1: $2')}`),
  );
}

const OF_LIVE_TEAMS = TENANT_TABLE_NAMES.filter((table) => !OF_SANDBOXES.includes(table));

describe('a team', () => {
  const find = (tx: Tx) => teams.findTeamForUpdate(tx, 'team_a');

  test('is created once', async () => {
    const team = {
      id: 'team_c',
      name: 'C',
      plan: 'team' as const,
      seats: 1,
      language: 'de' as const,
      rate_limit_per_min: 1,
      status: 'active' as const,
      creation_hash: Buffer.alloc(32),
      created_at: AT.toISOString(),
    };
    const insert = (id: string) => (tx: Tx) => teams.insertTeam(tx, { ...team, id });
    expect(await columnsChangedIn(insert('team_c'))).toEqual(['team + team_c']);
    expect(await twins.inTransaction(insert('team_c'))).toBe(false);
  });

  test('has the member of its own age as the owner that it was created with', async () => {
    await run(`update team set created_at = '2026-02-01Z'`);
    await run(`update member set created_at = '2026-01-01Z'`);
    await run(`update member set created_at = '2026-02-01Z' where id in ('mem_2', 'mem_3')`);
    await run(`update member set user_id = 'usr_3', status = 'ended' where id = 'mem_4'`);
    const creation = (userId: string) => (tx: Tx) => teams.findCreation(tx, 'team_a', userId);
    expect(await twins.inTransaction(creation('usr_3'))).toBeNull();
    await run(
      `update team set creation_hash = decode(repeat('ab', 32), 'hex') where id = 'team_a'`,
    );
    expect(await twins.inTransaction(creation('usr_1'))).toBeNull();
    expect(await twins.inTransaction(creation('usr_3'))).toEqual({
      hash: Buffer.from('ab'.repeat(32), 'hex'),
      ownerMemberId: 'mem_3',
    });
  });

  test('gets an owner with a person of their own', async () => {
    const owner = { memberId: 'mem_new', userId: 'usr_new', email: 'x@of.test' };
    await run(`update member set role = 'member' where team_id = 'team_a' and role = 'owner'`);
    expect(await columnsChangedIn((tx) => teams.insertOwner(tx, 'team_a', owner, AT))).toEqual([
      'member + team_a mem_new',
      'person + team_a usr_new',
    ]);
  });

  test('is found and locked, unless it is being erased', async () => {
    expect(await twins.inTransaction(find)).toMatchObject({ id: 'team_a', name: 'Twin a' });
    expect(await twins.lockedBy('team', find)).toEqual(['team_a']);
    await run(`update team set status = 'ended', erasing_since = now() where id = 'team_a'`);
    expect(await twins.inTransaction(find)).toBeNull();
  });

  test('is written alone', async () => {
    const changed = await columnsChangedIn(async (tx) => {
      const team = await find(tx);
      if (team) await teams.updateTeam(tx, { ...team, name: 'New', plan: 'starter', seats: 99 });
    });
    expect(changed).toEqual(['team team_a: name', 'team team_a: plan', 'team team_a: seats']);
  });

  test('is locked by lockTeam', async () => {
    expect(await twins.lockedBy('team', (tx) => lockTeam(tx, 'team_a'))).toEqual(['team_a']);
  });

  test('has one owner, whom another member can follow', async () => {
    const facts = (memberId: string) =>
      twins.inTransaction(async (tx) =>
        (await teams.findOwnerAndMember(tx, 'team_a', memberId))
          .map(({ id, role }) => `${id} ${role}`)
          .toSorted(),
      );
    expect(await facts('mem_2')).toEqual(['mem_2 member', 'mem_owner owner']);
    expect(await facts('mem_4')).toEqual(['mem_owner owner']);
    await run(`update member set rights = '{schnittstellen}' where id in ('mem_owner', 'mem_1')`);
    expect(await columnsChangedIn((tx) => teams.makeAdmin(tx, 'team_a', 'mem_owner'))).toEqual([
      'member team_a mem_owner: rights',
      'member team_a mem_owner: role',
    ]);
    expect(await columnsChangedIn((tx) => teams.makeOwner(tx, 'team_a', 'mem_2'))).toEqual([
      'member team_a mem_2: rights',
      'member team_a mem_2: role',
    ]);
  });
});

describe('the erasure of a team', () => {
  const LIMIT = 1000;
  const find = (tx: Tx) => erasure.findForErasure(tx, 'team_a');

  test('goes on while the team is marked', async () => {
    await run(`update team set status = 'ended', erasing_since = now() where id = 'team_b'`);
    expect(await erasure.isErasing(twins.db, 'team_a')).toBe(false);
    expect(await erasure.isErasing(twins.db, 'team_b')).toBe(true);
  });

  test('finds and locks the team', async () => {
    expect(await twins.inTransaction(find)).toEqual({ status: 'active', is_erasing: false });
    expect(await twins.lockedBy('team', find)).toEqual(['team_a']);
  });

  test('marks the team, and stops its webhooks and synchronizations', async () => {
    await run(`update team set status = 'ended', creation_hash = decode(repeat('ab', 32), 'hex')`);
    await run(`update webhook_endpoint set status = 'active' where id = 'whe_1'`);
    const changed = await columnsChangedIn((tx) => erasure.markErasing(tx, 'team_a', AT));
    const rows = [...new Set(changed.map((line) => line.replace(/: .*/, '')))];
    expect(rows).toEqual([
      // `crm_4` is disconnected already.
      ...[1, 2, 3, 5].map((number) => `crm_connection team_a crm_${number}`),
      'team team_a',
      ...[1, 2, 3, 4, 5].map((number) => `webhook_endpoint - team_a whe_${number}`),
    ]);
    expect(changed).toContain('team team_a: creation_hash');
    expect(await erasure.listErasing(twins.db, 9)).toEqual(['team_a']);
    await run(`update team set erasing_since = '2026-01-01Z' where id = 'team_b'`);
    expect((await erasure.listErasing(twins.db, 9)).toSorted()).toEqual(['team_a', 'team_b']);
    const chosen = new Set<string>();
    for (let run = 0; run < 100; run += 1)
      for (const id of await erasure.listErasing(twins.db, 1)) chosen.add(`${run % 2} ${id}`);
    expect(chosen.size).toBe(4);
  });

  test('locks webhook endpoints in the order of their keys', async () => {
    await run(`update team set status = 'ended'`);
    const held = `webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`;
    const mark = () => twins.inTransaction((tx) => erasure.markErasing(tx, 'team_a', AT));
    expect(await twins.lockedBefore(held, 'webhook_endpoint', mark)).toEqual([
      'team_a whe_1',
      'team_a whe_2',
    ]);
  });

  /** Only the twin is marked, or only the team. */
  const markOnly = (teamId: string) =>
    run(`update team set status = 'ended', erasing_since = case id when $1 then now() end`, [
      teamId,
    ]);

  test('removes jobs of the team that no worker runs', async () => {
    await run(
      `select graphile_worker.add_job('x', json_build_object('teamId', team_id))
       from unnest(array['team_a', 'team_a', 'team_a', 'team_b']) team_id`,
    );
    await run(
      `update graphile_worker._private_jobs
       set locked_at = now() - interval '5 hours', locked_by = 'worker'
       where id = (select min(id) from graphile_worker._private_jobs)`,
    );
    const leftOf = async (jobsMax: number) => {
      expect(await twins.inTransaction((tx) => erasure.removeTeam(tx, 'team_a', jobsMax))).toBe(
        false,
      );
      const { rows } = await run(
        `select payload ->> 'teamId' as of from graphile_worker._private_jobs order by 1`,
      );
      return rows.map(({ of }) => of as string);
    };
    await markOnly('team_b');
    expect(await leftOf(9)).toEqual(['team_a', 'team_a', 'team_a', 'team_b']);
    await markOnly('team_a');
    expect(await leftOf(1)).toEqual(['team_a', 'team_a', 'team_b']);
    expect(await leftOf(9)).toEqual(['team_a', 'team_b']);
  });

  test('unlinks trainings and assignments, behind a position', async () => {
    const [step] = STEPS;
    if (!step) throw new Error('no step');
    await run(
      `update assignment
       set completed_training_id =
         case when id in ('asg_3', 'asg_5', 'asg_7') then 'trn_' || right(id, 1) end`,
    );
    const unlink = (after: string, limit: number) => () =>
      runBatch(twins.db, 'team_a', step, { after: [after], limit });
    const unlinked = (...ids: string[]) => ({
      assignment: ids.flatMap((id) =>
        ['completed_training_id', 'updated_at'].map((column) =>
          expect.stringMatching(`team_a ${id}: ${column}`),
        ),
      ),
    });
    await markOnly('team_b');
    expect(await twins.changes(unlink('', 9))).toEqual({});
    expect(await isDone(twins.db, 'team_a', step)).toBe(true);
    await markOnly('team_a');
    expect(await twins.changes(unlink('asg_3', 1))).toEqual(unlinked('asg_5'));
    expect(await isDone(twins.db, 'team_a', step)).toBe(false);
    const held = `assignment where team_id = 'team_a' and id = 'asg_3'`;
    const passing = () => twins.whileLocked(held, unlink('', 9));
    expect(await twins.changes(passing)).toEqual(unlinked('asg_7'));
    await run(`update assignment set completed_training_id = 'trn_5' where id = 'asg_5'`);
    expect(await unlink('', 9)()).toEqual(['asg_5']);
    expect(await isDone(twins.db, 'team_a', step)).toBe(true);
  });

  test.each(OF_LIVE_TEAMS)('removes rows of %s in the order of their keys', async (table) => {
    const step = STEPS.find(({ name }) => name === table);
    if (!step) throw new Error(`no step for ${table}`);
    await prepare(table);
    const columns = Object.keys(TENANT_TABLES[table]).join(', ');
    const { rows } = await run(
      `select array[${columns.replaceAll(',', '::text,')}::text] as key
       from ${table}
       where team_id = 'team_a'
       order by ${columns}`,
    );
    const all = rows.map((row) => (row as { key: string[] }).key);
    expect(all.length).toBeGreaterThan(2);
    const remove = (after: readonly string[], limit: number) => () =>
      runBatch(twins.db, 'team_a', step, { after, limit });
    const keyLines = (keys_: string[][]) =>
      keys_.map((key) => `- team_a ${key.join(' ')}`).toSorted();
    await markOnly('team_b');
    expect(await twins.changes(remove(step.start, LIMIT))).toEqual({});
    expect(await isDone(twins.db, 'team_a', step)).toBe(true);
    await markOnly('team_a');
    // The first row, one behind the second, then what is left. Others may go with a row.
    let last: unknown = null;
    for (const [after, next] of [
      [step.start, 0],
      [all[1] ?? [], 2],
    ] as const) {
      const changed = await twins.changes(async () => {
        last = await remove(after, 1)();
      });
      expect(last).toEqual(all[next]);
      expect(changed[table]).toEqual(keyLines(all.slice(next, next + 1)));
    }
    expect(await isDone(twins.db, 'team_a', step)).toBe(false);
    const rest = await twins.changes(async () => {
      last = await remove(step.start, LIMIT)();
    });
    expect(last).toEqual(all.length > 3 ? all.at(-1) : all[1]);
    expect(rest[table]).toEqual(keyLines([...all.slice(1, 2), ...all.slice(3)]));
    expect(await isDone(twins.db, 'team_a', step)).toBe(true);
  });

  test('passes over rows that are locked', async () => {
    const step = STEPS.find(({ name }) => name === 'audit_log');
    if (!step) throw new Error('no step');
    const remove = () => runBatch(twins.db, 'team_a', step, { after: step.start, limit: LIMIT });
    const held = `audit_log where team_id = 'team_a' and id = 'aud_1'`;
    await markOnly('team_a');
    await twins.whileLocked(held, remove);
    expect(await remove()).toEqual(['aud_1']);
  });

  /** Removes what refers to rows of a table, and adds rows where there are few. */
  async function prepare(table: string): Promise<void> {
    await run(`update assignment set completed_training_id = null`);
    for (const other of TENANT_TABLE_NAMES) {
      if (other === table) break;
      await run(`delete from ${other} where team_id = 'team_a'`);
    }
    if (table === 'pending_job')
      await run(
        `insert into pending_job (team_id, id, task, payload)
         select team_id, 'job_' || n, task, payload
         from pending_job, generate_series(2, 4) n`,
      );
    if (table === 'api_key_usage')
      await run(
        `insert into api_key_usage
         select team_id, day, 'key_ended', count_2xx, count_4xx, count_429, count_5xx
         from api_key_usage
         where team_id = 'team_a' and key_id = 'key_full' and day = '2026-11-17'`,
      );
    if (table === 'webhook_resend')
      await run(
        `insert into webhook_resend
           (team_id, id, endpoint_id, state, since, total, has_more, created_at, finished_at)
         select team_id, 'whr_' || n, endpoint_id, 'done', since, total, has_more, now(), now()
         from webhook_resend, generate_series(3, 4) n
         where id = 'whr_1'`,
      );
    if (table === 'team_block' || table === 'catalog_release' || table === 'member_block')
      await run(
        `insert into ${table} (team_id, ${table === 'member_block' ? 'member_id, ' : ''}entry_id)
         select 'team_a', ${table === 'member_block' ? `'mem_1', ` : ''}id from catalog_entry
         on conflict do nothing`,
      );
    if (table === 'team_counter')
      await run(
        `insert into team_counter (team_id, bucket, minute, count)
         select 'team_a', 'person:' || n, 1, 1 from generate_series(1, 3) n`,
      );
    if (table === 'announcement_mail')
      await run(
        `insert into announcement_mail (team_id, announcement, member_id, sent_at)
         select 'team_a', 'v2', 'mem_' || n, now() from generate_series(1, 3) n`,
      );
  }

  test('removes the directory of its keys with the team', async () => {
    await run(`update assignment set completed_training_id = null`);
    await run('delete from api_key_usage');
    for (const table of TENANT_TABLE_NAMES)
      await run(`delete from ${table} where team_id = $1`, ['team_a']);
    await run(`update team set status = 'ended', erasing_since = now() where id = 'team_a'`);
    const directory = async () =>
      (await run('select distinct team_id from key_directory order by 1')).rows.map(
        ({ team_id }) => team_id as string,
      );
    expect(await directory()).toEqual(['team_a', 'team_b']);
    expect(await twins.inTransaction((tx) => erasure.removeTeam(tx, 'team_a', LIMIT))).toBe(true);
    expect(await directory()).toEqual(['team_b']);
  });

  describe('removes the team itself', () => {
    const end = () => twins.inTransaction((tx) => erasure.removeTeam(tx, 'team_a', LIMIT));
    /** Nothing is left of the team but its row, which is marked. */
    beforeEach(async () => {
      await run(`update assignment set completed_training_id = null`);
      for (const table of TENANT_TABLE_NAMES)
        await run(`delete from ${table} where team_id = 'team_a'`);
      await run(`insert into team_counter values ('team_b', 'app', 1, 1)`);
      await run(`update team set status = 'ended', erasing_since = now() where id = 'team_a'`);
    });

    test('when nothing else is left', async () => {
      expect(await end()).toBe(true);
    });

    test('not while it is not marked', async () => {
      await run(`update team set erasing_since = null where id = 'team_a'`);
      await run(`update team set status = 'ended', erasing_since = now() where id = 'team_b'`);
      expect(await end()).toBe(false);
    });

    test('not while somebody has locked it', async () => {
      expect(await twins.whileLocked(`team where id = 'team_a'`, end)).toBe(false);
    });

    test('not while it has a job that runs', async () => {
      await run(`select graphile_worker.add_job('x', '{"teamId": "team_b"}')`);
      await run(`select graphile_worker.add_job('x', '{"teamId": "team_a"}')`);
      await run(`update graphile_worker._private_jobs set locked_at = now(), locked_by = 'worker'`);
      expect(await end()).toBe(false);
      await run(`delete from graphile_worker._private_jobs where payload ->> 'teamId' = 'team_a'`);
      expect(await end()).toBe(true);
    });

    test.each(OF_LIVE_TEAMS)('not while it has a row in %s', async (table) => {
      // What the row refers to is not there, so foreign keys are not checked.
      await run(
        `begin;
         set local session_replication_role = replica;
         update ${table}
         set team_id = 'team_a'
         where ctid = (select ctid from ${table} where team_id = 'team_b' limit 1);
         commit`,
      );
      expect((await run(`select from ${table} where team_id = 'team_a'`)).rowCount).toBe(1);
      expect(await end()).toBe(false);
    });

    test('and locks it meanwhile', async () => {
      expect(await twins.lockedBy('team', (tx) => erasure.removeTeam(tx, 'team_a', LIMIT))).toEqual(
        ['team_a'],
      );
    });
  });
});

describe('settings', () => {
  test('listAdmins shows live admins, the newest first', async () => {
    const list = async (limit = 9, after: { at: string; id: string } | null = null) =>
      (await settings.listAdmins(twins.db, 'team_a', { limit, after })).map(({ id }) => id);
    // In team B members 2 and 3 are admins.
    await run(
      `update member
       set role = case when team_id = 'team_a' and id in ('mem_1', 'mem_9', 'mem_10', 'mem_4')
           or team_id = 'team_b' and id in ('mem_2', 'mem_3') then 'admin' else 'member' end,
         rights = '{}',
         created_at = case id when 'mem_1' then timestamptz '2026-11-02Z' else '2026-11-01Z' end
       where role <> 'owner'`,
    );
    expect(await list()).toEqual(['mem_1', 'mem_9', 'mem_10']);
    expect(await list(2)).toEqual(['mem_1', 'mem_9']);
    expect(await list(9, { at: '2026-11-01T00:00:00.000Z', id: 'mem_9' })).toEqual(['mem_10']);
  });

  test('findMember finds a live member', async () => {
    await run(`update member set email = team_id || '.' || id || '@of.test'`);
    const find = (id: string) => settings.findMember(twins.db, 'team_a', id);
    expect(await find('mem_2')).toMatchObject({ email: 'team_a.mem_2@of.test' });
    expect(await settings.findMember(twins.db, 'team_b', 'mem_2')).toMatchObject({
      email: 'team_b.mem_2@of.test',
    });
    expect(await find('mem_4')).toBeNull();
  });

  test('setRights and setSwitches write one row', async () => {
    await run(`update member set rights = '{}'`);
    const rights = ['schnittstellen'];
    expect(
      await columnsChangedIn((tx) => settings.setRights(tx, 'team_a', 'mem_1', rights)),
    ).toEqual(['member team_a mem_1: rights']);
    const switches = { member_detail_enabled: false, leaderboard_enabled: false };
    await run(`update team set leaderboard_enabled = true`);
    expect(await settings.findSwitches(twins.db, 'team_a')).toEqual({
      member_detail_enabled: true,
      leaderboard_enabled: true,
    });
    expect(await columnsChangedIn((tx) => settings.setSwitches(tx, 'team_a', switches))).toEqual([
      'team team_a: leaderboard_enabled',
      'team team_a: member_detail_enabled',
    ]);
    expect(await settings.findSwitches(twins.db, 'team_a')).toEqual(switches);
    expect(await settings.findSwitches(twins.db, 'team_b')).toMatchObject({
      leaderboard_enabled: true,
    });
  });

  test('listBlocked lists what a policy blocks, by id', async () => {
    const list = (memberId: string | null) => policies.listBlocked(twins.db, 'team_a', memberId);
    expect(await list(null)).toEqual(['per_tough', 'rol_buyer']);
    await run(
      `insert into member_block (team_id, member_id, entry_id) values
         ('team_a', 'mem_7', 'sit_cold'), ('team_a', 'mem_7', 'ind_public')`,
    );
    expect(await list('mem_7')).toEqual(['ind_public', 'own_1', 'sit_cold']);
  });

  test('changeBlocked changes one policy', async () => {
    const change = { added: ['own_1'], removed: ['rol_buyer'] };
    expect(
      await twins.changesIn((tx) => policies.changeBlocked(tx, 'team_a', null, change)),
    ).toEqual({ team_block: ['+ team_a own_1', '- team_a rol_buyer'] });
    await run(
      `insert into member_block (team_id, member_id, entry_id) values
         ('team_a', 'mem_8', 'own_1'), ('team_a', 'mem_7', 'sit_cold')`,
    );
    const ofMember = { added: ['own_a'], removed: ['own_1'] };
    expect(
      await twins.changesIn((tx) => policies.changeBlocked(tx, 'team_a', 'mem_7', ofMember)),
    ).toEqual({ member_block: ['+ team_a mem_7 own_a', '- team_a mem_7 own_1'] });
  });

  test('findKnownEntries finds global entries and those of the team', async () => {
    const known = await policies.findKnownEntries(twins.db, 'team_a', [
      'own_b',
      'own_1',
      'sit_cold',
    ]);
    expect(known.toSorted()).toEqual(['own_1', 'sit_cold']);
  });

  test('findGlobalEntries finds global entries and locks them', async () => {
    const find = (tx: Tx) => policies.findGlobalEntries(tx, ['own_1', 'sit_cold']);
    expect(await twins.inTransaction(find)).toEqual(['sit_cold']);
    expect(await twins.lockedBy('catalog_entry', find)).toEqual(['sit_cold']);
  });

  test('changeRelease changes the release of one team', async () => {
    await run(`update team set all_released = true`);
    const change = { added: ['rol_buyer'], removed: ['ind_saas', 'per_calm'] };
    expect(
      await twins.changesIn((tx) => policies.changeRelease(tx, 'team_a', false, change)),
    ).toEqual({
      catalog_release: ['+ team_a rol_buyer', '- team_a ind_saas', '- team_a per_calm'],
      team: ['team_a: all_released true → false'],
    });
    expect(await policies.findRelease(twins.db, 'team_a')).toEqual({
      all: false,
      ids: ['per_tough', 'rol_buyer', 'sit_cold'],
    });
    expect(await policies.findRelease(twins.db, 'team_b')).toMatchObject({ all: true });
  });
});

describe('the catalog', () => {
  const NOTHING_RELEASED = `update team set all_released = false`;

  test('lists for admins what is released, blocked, or the own', async () => {
    await run(NOTHING_RELEASED);
    const list = async (limit = 99, afterId = '', kind: string | null = null) =>
      (await policies.listCatalog(twins.db, 'team_a', { limit, afterId, kind })).map((row) =>
        [row.id, ...(['own', 'released', 'blocked'] as const).filter((name) => row[name])].join(
          ' ',
        ),
      );
    expect(await list()).toEqual([
      'ind_public',
      'ind_saas released',
      'met_spin',
      'own_1 own released',
      'own_a own released',
      'per_calm released',
      'per_tough released blocked',
      'rol_buyer blocked',
      'sit_cold own released',
      'sit_renewal',
    ]);
    expect(await list(2, 'ind_saas')).toEqual(['met_spin', 'own_1 own released']);
    expect(await list(9, '', 'role')).toEqual(['rol_buyer blocked']);
    await run(`update team set all_released = id = 'team_b'`);
    expect(await list(9, '', 'methodology')).toEqual(['met_spin']);
    await run(`update team set all_released = id = 'team_a'`);
    expect(await list(9, '', 'methodology')).toEqual(['met_spin released']);
  });

  test('shows members what they may use', async () => {
    const list = async () =>
      (await catalog.listVisibleEntries(twins.db, 'team_a')).map(({ id }) => id).toSorted();
    await run(NOTHING_RELEASED);
    const released = ['ind_saas', 'own_1', 'own_a', 'per_calm', 'sit_cold'];
    expect(await list()).toEqual(released);
    await run(`update team set all_released = id = 'team_b'`);
    expect(await list()).toEqual(released);
    await run(`update team set all_released = id = 'team_a'`);
    expect(await list()).toEqual([...released, 'ind_public', 'met_spin', 'sit_renewal'].toSorted());
  });

  test('keeps entries of the teams and global ones apart', async () => {
    const entry = { id: 'own_1', kind: 'role', name_de: 'N', name_en: 'N', icon: null } as never;
    expect(
      await columnsChangedIn((tx) => platformCatalog.saveTeamEntries(tx, 'team_a', [entry])),
    ).toEqual(
      ['kind', 'name_de', 'name_en', 'icon']
        .map((name) => `team_catalog_entry team_a own_1: ${name}`)
        .toSorted(),
    );
    expect(await columnsChangedIn((tx) => platformCatalog.saveEntries(tx, [entry]))).toEqual([
      'catalog_entry + own_1',
    ]);
  });

  test('adds rules that are not there yet, in the order of their entries', async () => {
    const rule = (id: string, situation: string, personality: string, industry: string) => ({
      id,
      situation_id: situation,
      personality_id: personality,
      industry_id: industry,
    });
    await run(`delete from catalog_rule`);
    await twins.inTransaction((tx) =>
      platformCatalog.saveRules(tx, [
        rule('rul_4', 'sit_renewal', 'per_calm', 'ind_public'),
        rule('rul_3', 'sit_cold', 'per_tough', 'ind_public'),
        rule('rul_2', 'sit_cold', 'per_calm', 'ind_saas'),
        rule('rul_1', 'sit_cold', 'per_calm', 'ind_public'),
        rule('rul_5', 'sit_cold', 'per_calm', 'ind_public'),
      ]),
    );
    const { rows } = await run(`select id from catalog_rule order by ctid`);
    expect(rows.map(({ id }) => id as string)).toEqual(['rul_1', 'rul_2', 'rul_3', 'rul_4']);
  });
});

describe('API keys', () => {
  const find = (id: string, now: Date | null = AT) => keys.findKey(twins.db, 'team_a', id, now);
  const list = async (
    limit = 9,
    after: { at: string; id: string } | null = null,
    state?: 'active',
  ) => {
    const query = { now: AT, limit, after, state };
    return (await keys.listKeys(twins.db, 'team_a', query)).map(({ id }) => id);
  };

  /** Creators say whose they are. */
  beforeEach(async () => {
    await run(`update member set email = team_id || '.' || id || '@of.test'`);
    await run(
      `update api_key
       set created_at =
         case id when 'key_ended' then timestamptz '2026-11-02Z' else '2026-11-01Z' end`,
    );
    await run(`update api_key set created_by = 'mem_1' where id = 'key_second'`);
    await run(
      `insert into team_counter (team_id, bucket, minute, count)
       select team_id, 'key:' || prefix, case team_id when 'team_a' then 60 else 120 end, 1
       from api_key
       where id <> 'key_second'`,
    );
    // The other team has a count under the same name.
    await run(
      `insert into team_counter (team_id, bucket, minute, count)
       select 'team_b', 'key:' || prefix, 240, 1
       from api_key
       where team_id = 'team_a'
       on conflict do nothing`,
    );
  });

  test('are listed in any state, the newest first', async () => {
    expect(await list()).toEqual(['key_ended', 'key_second', 'key_full']);
    expect(await list(2)).toEqual(['key_ended', 'key_second']);
    expect(await list(9, { at: '2026-11-01T00:00:00.000Z', id: 'key_second' })).toEqual([
      'key_full',
    ]);
  });

  test('are listed while they are live, the newest first', async () => {
    expect(await list(9, null, 'active')).toEqual(['key_second', 'key_full']);
    expect(await list(1, null, 'active')).toEqual(['key_second']);
    const after = { at: '2026-11-01T00:00:00.000Z', id: 'key_second' };
    expect(await list(9, after, 'active')).toEqual(['key_full']);
  });

  test('have a creator, a last use and a state', async () => {
    expect(await find('key_full')).toMatchObject({
      id: 'key_full',
      creator_email: 'team_a.mem_owner@of.test',
      last_used_at: '1970-01-01T01:00:00.000Z',
      state: 'active',
    });
    expect(await keys.findKey(twins.db, 'team_b', 'key_full', AT)).toMatchObject({
      creator_email: 'team_b.mem_owner@of.test',
    });
    expect(await find('key_second')).toMatchObject({
      creator_email: 'team_a.mem_1@of.test',
      last_used_at: null,
    });
  });

  test.each([
    ['revoked', `revoked_at = '2026-11-20T10:00:00Z'`],
    ['active', `revoked_at = '2026-11-20T10:00:01Z'`],
    ['expired', `expires_at = '2026-11-20T10:00:00Z'`],
    ['active', `expires_at = '2026-11-20T10:00:01Z'`],
  ])('are %s with %s', async (state, change) => {
    await run(`update api_key set ${change} where team_id = 'team_a' and id = 'key_full'`);
    expect(await find('key_full')).toMatchObject({ state });
    const page = { now: AT, limit: 9, after: null };
    const listed = await keys.listKeys(twins.db, 'team_a', page);
    expect(listed.find(({ id }) => id === 'key_full')).toMatchObject({ state });
    expect((await list(9, null, 'active')).includes('key_full')).toBe(state === 'active');
    const locked = (tx: Tx) => keys.findKeyForUpdate(tx, 'team_a', 'key_full', AT);
    expect(await twins.inTransaction(locked)).toMatchObject({ state });
    const { liveKeys } = await twins.inTransaction((tx) =>
      keys.countLiveAndNames(tx, 'team_a', ['second'], AT),
    );
    expect(liveKeys).toBe(state === 'active' ? 2 : 1);
  });

  test('are counted in one team, with those of some names that it has', async () => {
    await run(`update api_key set name = 'other' where team_id = 'team_b' and id = 'key_full'`);
    const count = (names: string[]) =>
      twins.inTransaction((tx) => keys.countLiveAndNames(tx, 'team_a', names, AT));
    expect(await count(['second', 'other'])).toEqual({ liveKeys: 2, names: ['second'] });
    expect(await count(['other'])).toEqual({ liveKeys: 2, names: [] });
  });

  test('are named by their ids, in any state', async () => {
    await run(`update api_key set name = 'other' where team_id = 'team_b' and id = 'key_full'`);
    const named = await keys.findKeyNames(twins.db, 'team_a', ['key_full', 'key_ended', 'key_x']);
    expect(named.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
      { id: 'key_ended', name: 'ended' },
      { id: 'key_full', name: 'full' },
    ]);
  });

  test('are found for a change and locked, without their creators', async () => {
    const findForUpdate = (teamId: string) => (tx: Tx) =>
      keys.findKeyForUpdate(tx, teamId, 'key_second', AT);
    for (const teamId of ['team_a', 'team_b'])
      expect(await twins.inTransaction(findForUpdate(teamId))).toMatchObject({
        creator_email: `${teamId}.mem_1@of.test`,
      });
    expect(await twins.lockedBy('api_key', findForUpdate('team_a'))).toEqual(['team_a key_second']);
    expect(await twins.lockedBy('member', findForUpdate('team_a'))).toEqual([]);
  });

  test('end alone, and never later than before', async () => {
    const end = (graceS: number) =>
      twins.changesIn((tx) => keys.endKey(tx, 'team_a', 'key_full', { graceS, now: AT }));
    expect(await end(60)).toEqual({
      api_key: ['team_a key_full: revoked_at null → 2026-11-20T10:01:00+00:00'],
    });
    expect(await end(120)).toEqual({});
    await run(`update api_key set revoked_at = null, expires_at = '2026-11-20T10:00:30Z'`);
    const [atExpiry, atOnce] = ['2026-11-20T10:00:30+00:00', '2026-11-20T10:00:00+00:00'];
    expect(await end(60)).toEqual({
      api_key: [`team_a key_full: revoked_at null → ${atExpiry}`],
    });
    expect(await end(0)).toEqual({
      api_key: [`team_a key_full: revoked_at ${atExpiry} → ${atOnce}`],
    });
    await run(`update api_key set revoked_at = null, expires_at = '2026-11-20T09:00:00Z'`);
    expect(await end(0)).toEqual({ api_key: [`team_a key_full: revoked_at null → ${atOnce}`] });
  });
});

interface Counted {
  readonly table: string;
  /** SQL: what one row becomes so that it counts. */
  readonly counts: string;
  /** SQL: what it becomes so that it takes no room any more. */
  readonly ended: Readonly<Record<string, string>>;
  readonly count: (tx: Tx) => Promise<number>;
}

/** A webhook endpoint goes at once. A resend counts its deliveries while it writes. */
type Uncounted = 'webhookEndpoints' | 'resentDeliveries';

const COUNTED: Readonly<Record<'seats' | Exclude<keyof typeof TEAM_LIMITS, Uncounted>, Counted>> = {
  seats: {
    table: 'member',
    counts: `status = 'active'`,
    ended: { ended: `status = 'ended'` },
    count: async (tx) =>
      (await invitations.readInvitationFacts(tx, 'team_a', 'x@of.test', AT)).seatsUsed,
  },
  liveKeys: {
    table: 'api_key',
    counts: `revoked_at = '2026-11-20T10:00:01Z', expires_at = null`,
    ended: {
      revoked: `revoked_at = '2026-11-20T10:00:00Z', expires_at = null`,
      expired: `revoked_at = null, expires_at = '2026-11-20T10:00:00Z'`,
    },
    count: async (tx) => (await keys.countLiveAndNames(tx, 'team_a', [], AT)).liveKeys,
  },
  crmConnections: {
    table: 'crm_connection',
    counts: `status = 'active'`,
    ended: { disconnected: `status = 'disconnected', credentials_encrypted = null` },
    count: (tx) => connections.countConnections(tx, 'team_a'),
  },
};

describe('what takes room within a limit of a team', () => {
  test.each(
    Object.entries(COUNTED).flatMap(([limit, { ended, ...counted }]) =>
      Object.entries(ended).map(([what, change]) => ({ limit, what, change, ...counted })),
    ),
  )('$limit: is none that is $what', async ({ table, counts, change, count }) => {
    const set = (to: string) =>
      run(
        `update ${table}
         set ${to}
         where (team_id, id) in (
           select 'team_a', min(id)
           from ${table}
           where team_id = 'team_a'
         )`,
      );
    await set(counts);
    const before = await twins.inTransaction(count);
    await set(change);
    expect(await twins.inTransaction(count)).toBe(before - 1);
  });
});

describe('announcements', () => {
  const BOTH = ['team_a', 'team_b'];
  const list = async (teamIds = BOTH) =>
    (await announcements.listRecipients(twins.db, 'v2', { now: AT, teamIds })).map((row) =>
      [row.team_id, row.member_id, row.keys.join('+')].join(' '),
    );
  const count = (teamIds = BOTH) =>
    announcements.countRecipients(twins.db, 'v2', { now: AT, teamIds });
  const setKey = (key: string, text: string) =>
    run(`update api_key set ${text} where team_id || ' ' || id = $1`, [key]);
  const ALL = [
    'team_a mem_1 second',
    'team_a mem_owner full',
    'team_b mem_owner ended+full+second',
  ];

  /** Key `second` is of member 1, an admin only in team A. */
  beforeEach(async () => {
    await run(`update api_key set created_by = 'mem_1' where id = 'key_second'`);
    await run(`update member set email = team_id || '.' || id || '@of.test'`);
  });

  // What the mail server answers to one after the other: + takes it, - does not now, x never does.
  test.each([
    ['+----+----+----+', { sent: 4, failed: 12 }],
    ['-----', 'The mail server takes nothing. Run it again later.'],
    ['+--x-x-x-', 'The mail server takes nothing. Run it again later.'],
    ['xxxxxxxx-+x----x', { sent: 1, failed: 15 }],
  ])('go on unless five in a row are not taken: %s', async (answers, outcome) => {
    await run(`update member set role = 'admin' where status = 'active' and role <> 'owner'`);
    await run(`update api_key set revoked_at = '2026-11-01Z'`);
    await run(
      `with made as (
         select m.team_id, m.id, md5(m.team_id || m.id) as prefix,
           k.scopes, k.secret_hash, k.created_at
         from member m
         join api_key k on k.team_id = m.team_id and k.id = 'key_full'
         where m.status = 'active'
       ), directory as (
         insert into key_directory (team_id, prefix)
         select team_id, prefix
         from made
       )
       insert into api_key
         (team_id, id, name, prefix, created_by, scopes, secret_hash, created_at)
       select team_id, 'key_' || id, 'of ' || id, prefix, id, scopes, secret_hash, created_at
       from made`,
    );
    const asked: string[] = [];
    const announcing = announce(
      {
        db: twins.db,
        clock: fixedClock(AT),
        mailer: async (_teamId, { to }) => {
          const answer = answers[asked.push(to) - 1] ?? '+';
          if (answer === '+') return;
          throw new MailNotTaken('no', answer === 'x' ? 'refused' : 'failed');
        },
        publicUrl: 'https://api.test',
        onFailure: () => undefined,
        onTeamFailure: (_teamId, error) => {
          throw error;
        },
      },
      { version: 'v1', since: '2030-01-01', sunset: '2031-01-01' },
    ).catch(({ message }: Error) => message);
    expect(await announcing).toEqual(outcome);
    expect(asked).toHaveLength(answers.length);
    expect(new Set(asked).size).toBe(answers.length);
    const { rows } = await run(
      `select from announcement_mail where announcement = 'v1 2030-01-01 2031-01-01'`,
    );
    expect(rows).toHaveLength(answers.replaceAll(/[^+]/g, '').length);
  });

  test('go to the creators of live keys, or to the owner if they are no admins', async () => {
    expect(await list()).toEqual(ALL);
    expect(await count()).toEqual([
      { team_id: 'team_a', waiting: 2, sent: 0 },
      { team_id: 'team_b', waiting: 1, sent: 0 },
    ]);
    const [row] = await announcements.listRecipients(twins.db, 'v2', {
      now: AT,
      teamIds: BOTH,
    });
    expect(row).toMatchObject({
      email: 'team_a.mem_1@of.test',
      language: 'de',
      team_name: 'Twin a',
    });
  });

  test('are those of the given teams', async () => {
    expect(await list(['team_a'])).toEqual(ALL.slice(0, 2));
    expect(await list(['team_b'])).toEqual(ALL.slice(2));
    expect(await count(['team_b'])).toEqual([{ team_id: 'team_b', waiting: 1, sent: 0 }]);
    expect(await list([])).toEqual([]);
  });

  test('go to no former owner, and no owner of another team', async () => {
    await setKey('team_a key_second', `revoked_at = '2026-11-01Z'`);
    await run(`update member set role = 'owner' where team_id = 'team_a' and id = 'mem_4'`);
    await run(`update member set role = 'member' where team_id = 'team_b' and role = 'owner'`);
    await run(`update member set role = 'owner' where team_id = 'team_b' and id = 'mem_2'`);
    await setKey('team_a key_full', `created_by = 'mem_2'`);
    expect((await list())[0]).toBe('team_a mem_owner full');
    const [ofA] = await count();
    expect(ofA).toEqual({ team_id: 'team_a', waiting: 1, sent: 0 });
  });

  test.each([
    [
      'is suspended',
      [ALL[0], ALL[1], ALL[2]],
      `update team set status = 'suspended' where id = 'team_b'`,
    ],
    ['has ended', [ALL[0], ALL[1]], `update team set status = 'ended' where id = 'team_b'`],
  ])('go to a team that %s: %j', async (_case, expected, change) => {
    await run(change);
    expect(await list()).toEqual(expected);
    expect(await count()).toHaveLength(expected.length - 1);
  });

  test.each([
    [`revoked_at = '2026-11-20T10:00:00Z'`, false],
    [`revoked_at = '2026-11-20T10:00:01Z'`, true],
    [`expires_at = '2026-11-20T10:00:00Z'`, false],
    [`expires_at = '2026-11-20T10:00:01Z'`, true],
  ])('are about a key with %s: %s', async (change, isLive) => {
    await setKey('team_a key_full', change);
    expect(await list()).toEqual(isLive ? ALL : [ALL[0], ALL[2]]);
    const [ofA] = await count();
    expect(ofA).toEqual({ team_id: 'team_a', waiting: isLive ? 2 : 1, sent: 0 });
  });

  test('go to the owner when the creator has left or is invited again', async () => {
    await run(`update member set status = 'ended' where team_id = 'team_a' and id = 'mem_1'`);
    expect(await list()).toEqual(['team_a mem_owner full+second', ALL[2]]);
    await setKey('team_a key_full', `revoked_at = '2026-11-01Z'`);
    expect(await list()).toEqual(['team_a mem_owner second', ALL[2]]);
    const [ofA] = await count();
    expect(ofA).toEqual({ team_id: 'team_a', waiting: 1, sent: 0 });
  });

  test('are sent once to each member', async () => {
    const sent = { teamId: 'team_a', memberId: 'mem_1', at: AT };
    const insert = (of: typeof sent) => (tx: Tx) => announcements.insertSent(tx, 'v2', of);
    expect(await twins.changesIn(insert({ ...sent, memberId: 'mem_gone' }))).toEqual({});
    expect(await twins.changesIn(insert(sent))).toEqual({
      announcement_mail: ['+ team_a v2 mem_1'],
    });
    expect(await twins.lockedBy('member', insert(sent))).toEqual(['team_a mem_1']);
    await run(
      `insert into announcement_mail (team_id, announcement, member_id, sent_at)
       values ('team_b', 'v1', 'mem_owner', now()), ('team_a', 'v1', 'mem_owner', now()),
         ('team_b', 'v2', 'mem_owner', now())`,
    );
    expect(await list()).toEqual(ALL.slice(1, 2));
    expect(await count()).toEqual([
      { team_id: 'team_a', waiting: 1, sent: 1 },
      { team_id: 'team_b', waiting: 0, sent: 1 },
    ]);
  });
});

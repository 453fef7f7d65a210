// The statements about subscriptions, on the database of the twin tenants.
import { beforeEach, describe, expect, test } from 'vitest';
import { listEndingKeys } from '../../src/features/api-keys/store.ts';
import * as store from '../../src/features/alerts/store.ts';
import { findPauseMailRow } from '../../src/features/webhook-endpoints/pause-store.ts';
import { listFailingEndpoints } from '../../src/features/webhook-endpoints/store.ts';
import { endAlerts } from '../../src/http/app/unsubscribe-store.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const LATER = new Date('2026-11-20T11:00:00.000Z');
const OWNER = { teamId: 'team_a', memberId: 'mem_owner' };

let twins: TwinStores;
beforeEach(async () => {
  twins = await openTwinStores();
});
const run = (sql: string, values: unknown[] = []) => twins.pool.query(sql, values);
/** Changes the subscription of a member of team A. */
const set = (member: string, text: string) =>
  run(`update alert_subscription set ${text} where team_id = 'team_a' and member_id = $1`, [
    member,
  ]);

describe('the subscriptions that are due', () => {
  const list = async (after: store.DueRow | null = null, limit = 9) =>
    (await store.listDue(twins.db, AT, { after, limit })).map(
      ({ team_id, member_id }) => `${team_id} ${member_id}`,
    );

  test('come in the order of their times and keys, from a position on', async () => {
    await run('update alert_subscription set next_check_at = $1', [AT]);
    await set('mem_2', `next_check_at = '2026-11-20T09:00:00Z'`);
    await run(
      `update alert_subscription
       set next_check_at = '2026-11-20T10:00:00.001Z'
       where team_id = 'team_b' and member_id <> 'mem_2'`,
    );
    const all = ['team_a mem_2', 'team_a mem_1', 'team_a mem_owner', 'team_b mem_2'];
    expect(await list()).toEqual(all);
    expect(await list(null, 2)).toEqual(all.slice(0, 2));
    const next_check_at = AT.toISOString();
    expect(await list({ next_check_at, team_id: 'team_a', member_id: 'mem_1' })).toEqual(
      all.slice(2),
    );
    expect(await list({ next_check_at, team_id: 'team_a', member_id: 'mem_owner' })).toEqual(
      all.slice(3),
    );
    const early = {
      next_check_at: '2026-11-20T09:00:00.000Z',
      team_id: 'team_a',
      member_id: 'mem_2',
    };
    expect(await list(early)).toEqual(all.slice(1));
  });

  test('are taken by one transaction, which locks nothing else', async () => {
    await set('mem_owner', 'next_check_at = now()');
    await run('update alert_subscription set next_check_at = $1', [AT]);
    const take = () => twins.inTransaction((tx) => store.takeDue(tx, OWNER, AT));
    expect(await take()).toMatchObject({ is_admin: true, is_open: true });
    await twins.whileLocked(
      `alert_subscription where team_id = 'team_a' and member_id = 'mem_owner'`,
      async () => expect(await take()).toBeNull(),
    );
    const locked = (table: string) => twins.lockedBy(table, (tx) => store.takeDue(tx, OWNER, AT));
    expect(await locked('alert_subscription')).toEqual(['team_a']);
    expect(await locked('member')).toEqual([]);
    expect(await locked('team')).toEqual([]);
    await set('mem_owner', `next_check_at = '2026-11-20T10:00:00.001Z'`);
    expect(await take()).toBeNull();
  });

  test.each([
    [`update member set role = 'admin'`, true, true],
    [`update member set role = 'member'`, false, true],
    [`update member set status = 'ended', ended_at = now()`, false, true],
    [`update team set status = 'suspended'`, true, false],
    [`update team set status = 'ended'`, true, false],
  ])('tell whether the member is an admin, and the team open: %s', async (text, admin, open) => {
    const what = text.includes('member set') ? `team_id = 'team_a' and id = 'mem_owner'` : '';
    await run(`${text} where ${what || `id = 'team_a'`}`);
    await run('update alert_subscription set next_check_at = $1', [AT]);
    const taken = await twins.inTransaction((tx) => store.takeDue(tx, OWNER, AT));
    expect(taken).toMatchObject({ is_admin: admin, is_open: open });
    const recipient = await store.findRecipient(twins.db, OWNER);
    expect(recipient !== null).toBe(admin && open);
  });
});

describe('a subscription', () => {
  test('is chosen for one member, and when it is due stays', async () => {
    const choose = (memberId: string) => () =>
      store.setKinds(twins.db, { teamId: 'team_a', memberId }, { kinds: ['keys'], at: AT });
    await set('mem_owner', `kinds = '{errors}'`);
    expect(await twins.changes(choose('mem_owner'))).toEqual({
      alert_subscription: ['team_a mem_owner: kinds ["errors"] → ["keys"]'],
    });
    expect(await twins.changes(choose('mem_9'))).toEqual({
      alert_subscription: ['+ team_a mem_9'],
    });
    const { rows } = await run(
      `select kinds, told, next_check_at from alert_subscription where member_id = 'mem_9'`,
    );
    expect(rows).toEqual([{ kinds: ['keys'], told: [], next_check_at: AT.toISOString() }]);
    expect(await store.findKinds(twins.db, { ...OWNER, memberId: 'mem_9' })).toEqual(['keys']);
    expect(await store.findKinds(twins.db, { ...OWNER, memberId: 'mem_8' })).toEqual([]);
  });

  test('is changed and removed alone', async () => {
    await set('mem_owner', `told = '{x}', next_check_at = '2026-11-20T10:00:00Z'`);
    const change = (values: { told?: string[]; nextCheckAt: Date }) =>
      twins.changesIn((tx) => store.updateTaken(tx, OWNER, values));
    expect(await change({ nextCheckAt: LATER })).toEqual({
      alert_subscription: [
        'team_a mem_owner: next_check_at 2026-11-20T10:00:00+00:00 → 2026-11-20T11:00:00+00:00',
      ],
    });
    expect(await change({ nextCheckAt: LATER, told: [] })).toEqual({
      alert_subscription: ['team_a mem_owner: told ["x"] → []'],
    });
    expect(await twins.changesIn((tx) => store.removeTaken(tx, OWNER))).toEqual({
      alert_subscription: ['- team_a mem_owner'],
    });
  });

  test('is ended by its link alone', async () => {
    await set('mem_owner', `kinds = '{errors}'`);
    expect(await twins.changes(() => endAlerts(twins.db, OWNER))).toEqual({
      alert_subscription: ['team_a mem_owner: kinds ["errors"] → []'],
    });
  });

  test('has the language of the member, or of the team', async () => {
    await run(`update team set language = 'de', name = 'Own' where id = 'team_a'`);
    await run(`update member set language = null, email = team_id || '.' || id || '@of.test'`);
    await set('mem_owner', `kinds = '{errors}'`);
    const recipient = { email: 'team_a.mem_owner@of.test', team_name: 'Own', kinds: ['errors'] };
    expect(await store.findRecipient(twins.db, OWNER)).toEqual({ ...recipient, language: 'de' });
    await run(`update member set language = 'en' where team_id = 'team_a' and id = 'mem_owner'`);
    expect(await store.findRecipient(twins.db, OWNER)).toEqual({ ...recipient, language: 'en' });
    expect(await store.findRecipient(twins.db, { ...OWNER, memberId: 'mem_9' })).toBeNull();
  });
});

describe('a mail to an admin', () => {
  const ADMIN = { teamId: 'team_a', memberId: 'mem_1' };
  const MAILS = {
    'new alerts': () => store.findRecipient(twins.db, ADMIN),
    'a paused endpoint': () => findPauseMailRow(twins.db, { ...ADMIN, endpointId: 'whe_2' }),
  };

  test.each(Object.entries(MAILS))('about %s is for no former admin', async (_what, find) => {
    await store.setKinds(twins.db, ADMIN, { kinds: ['keys'], at: AT });
    await run(`update webhook_endpoint set status = 'disabled_failures' where id = 'whe_2'`);
    const reached: string[] = [];
    for (const now of [
      `role = 'admin'`,
      `role = 'member'`,
      `role = 'admin', status = 'invited'`,
      `role = 'admin', status = 'ended'`,
    ]) {
      await run(`update member set ${now} where team_id = 'team_a' and id = 'mem_1'`);
      if (await find()) reached.push(now);
    }
    expect(reached).toEqual([`role = 'admin'`]);
  });
});

describe('what an alert is about', () => {
  test('keys of the team that are not revoked, by their end', async () => {
    const key = (id: string, text: string) =>
      run(`update api_key set ${text} where team_id = 'team_a' and id = $1`, [id]);
    await run('update api_key set expires_at = null, revoked_at = null');
    const list = async (limit = 9) =>
      (await listEndingKeys(twins.db, 'team_a', { after: AT, until: LATER, limit })).map(
        ({ id }) => id,
      );
    expect(await list()).toEqual([]);
    await key('key_full', `expires_at = '2026-11-20T11:00:00Z'`);
    await key('key_second', `expires_at = '2026-11-20T10:00:00.001Z'`);
    expect(await list()).toEqual(['key_second', 'key_full']);
    expect(await list(1)).toEqual(['key_second']);
    await key('key_second', `expires_at = '2026-11-20T10:00:00Z'`);
    await key('key_full', `expires_at = '2026-11-20T11:00:00.001Z'`);
    expect(await list()).toEqual([]);
    await key('key_full', `expires_at = '2026-11-20T11:00:00Z', revoked_at = '2027-01-01Z'`);
    expect(await list()).toEqual([]);
  });

  test('webhook endpoints of the team that fail, by their first failure', async () => {
    const hook = (id: string, text: string) =>
      run(`update webhook_endpoint set ${text} where team_id = 'team_a' and id = $1`, [id]);
    await run(`update webhook_endpoint set failing_since = null, status = 'active'`);
    const list = async () =>
      (await listFailingEndpoints(twins.db, 'team_a', AT)).map(({ id }) => id);
    expect(await list()).toEqual([]);
    await hook('whe_1', `failing_since = '2026-11-20T10:00:00Z'`);
    await hook('whe_2', `failing_since = '2026-11-19Z', status = 'disabled_failures'`);
    await hook('whe_3', `failing_since = '2026-11-19Z', status = 'disabled'`);
    await hook('whe_4', `failing_since = '2026-11-20T10:00:00.001Z'`);
    expect(await list()).toEqual(['whe_2', 'whe_1']);
  });
});

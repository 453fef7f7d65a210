// What a synchronization writes to its connection, and only while it owns it. Every connection of
// both teams has the same token, so each condition has a row that only this one leaves out.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import * as connections from '../../src/features/crm/connections/store.ts';
import * as removal from '../../src/features/crm/sync/removal-store.ts';
import * as runs from '../../src/features/crm/sync/run-store.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const EARLIER = new Date('2026-11-20T09:59:00.000Z');
const AT = new Date('2026-11-20T10:00:00.000Z');
const LATER = new Date('2026-11-20T10:02:00.000Z');
const RUN = { teamId: 'team_a', connectionId: 'crm_3', token: 'mine' };
const STATE = { since: { deals: '2026-11-01T00:00:00.000Z' }, fullAt: null, round: null };

const OF_CRM_3 = { teamId: 'team_a', connectionId: 'crm_3' };

let twins: TwinStores;
beforeEach(async () => {
  twins = await openTwinStores();
  await twins.pool.query(
    `update crm_connection
     set status = 'active', sync_token = 'mine', sync_lease_until = $1, next_sync_at = $1,
       sync_state = '{"round": {}}', failure_streak = 2`,
    [AT],
  );
});

const set = (text: string) =>
  twins.pool.query(`update crm_connection set ${text} where team_id = 'team_a' and id = 'crm_3'`);
/** Columns of `team_a crm_3` that changed; throws if another row changed. */
async function columnsChangedBy(work: (tx: Tx) => unknown): Promise<string[]> {
  const { crm_connection: lines = [], ...others } = await twins.changes(() =>
    twins.db.transaction(async (tx) => {
      await work(tx);
    }),
  );
  expect(others).toEqual({});
  return lines.map((line) => {
    const [, column = line] = /^team_a crm_3: (\w+) /.exec(line) ?? [];
    return column;
  });
}

/** The states in which a run has lost its connection. */
const LOST = ["sync_token = 'of another run'", "status = 'paused'"];

describe.each([
  {
    name: 'holdRun',
    write: (tx: Tx) => runs.holdRun(tx, RUN, STATE, LATER),
    columns: ['sync_lease_until', 'sync_state'],
    lost: LOST,
  },
  {
    name: 'endRound',
    write: async (tx: Tx) =>
      (await runs.endRound(tx, RUN, { state: STATE, next: LATER, at: AT })) !== 'lost',
    columns: [
      'failure_streak',
      'last_synced_at',
      'next_sync_at',
      'sync_lease_until',
      'sync_state',
      'sync_token',
    ],
    lost: LOST,
  },
  {
    name: 'failRun',
    write: async (tx: Tx) =>
      (await runs.failRun(tx, RUN, { reason: 'timeout', forgetRound: true })) !== null,
    columns: ['failure_streak', 'last_error', 'sync_lease_until', 'sync_state', 'sync_token'],
    lost: LOST,
  },
])('$name', ({ write, columns, lost }) => {
  test('writes the row of its connection', async () => {
    expect(await columnsChangedBy(async (tx) => expect(await write(tx)).toBe(true))).toEqual(
      columns,
    );
  });

  test.each(lost)('writes nothing while %s', async (state) => {
    await set(state);
    expect(await columnsChangedBy(async (tx) => expect(await write(tx)).toBe(false))).toEqual([]);
  });
});

test('failRun leaves where the round is, unless it is to start again', async () => {
  const fail = (tx: Tx) => runs.failRun(tx, RUN, { reason: 'timeout', forgetRound: false });
  expect(await columnsChangedBy(fail)).not.toContain('sync_state');
});

test('resumeConnection makes no connection due that has no credentials', async () => {
  await set(`status = 'paused', credentials_encrypted = null, next_sync_at = null`);
  const of = { connectionId: 'crm_3', at: LATER };
  expect(await columnsChangedBy((tx) => connections.resumeConnection(tx, 'team_a', of))).toEqual([
    'status',
    'sync_state',
  ]);
});

test('replaceCredentials makes no paused connection due, and forgets its failure', async () => {
  await set(`status = 'paused', next_sync_at = null, last_error = 'unauthorized'`);
  const write = (tx: Tx) =>
    connections.replaceCredentials(tx, 'team_a', {
      connectionId: 'crm_3',
      credentialsEncrypted: Buffer.from('new'),
      next: null,
    });
  const changed = await columnsChangedBy(write);
  expect(changed).toContain('last_error');
  expect(changed).not.toContain('next_sync_at');
  expect(changed).not.toContain('status');
});

test('findSettings reads its connection, unless it is disconnected', async () => {
  const find = () => connections.findSettings(twins.db, 'team_a', 'crm_3');
  await set(`objection_marker = 'Mine', base_url = 'http://mine'`);
  expect(await find()).toMatchObject({ objection_marker: 'Mine', base_url: 'http://mine' });
  await set(`status = 'disconnected'`);
  expect(await find()).toBeNull();
});

describe('release', () => {
  const release = (next: Date | null, madeProgress = false) =>
    columnsChangedBy(() => runs.release(twins.db, RUN, { next, madeProgress }));

  test('gives the connection of this run back, also when it was paused meanwhile', async () => {
    await set(`status = 'paused'`);
    const changed = await release(LATER);
    expect(changed).toEqual(['next_sync_at', 'sync_lease_until', 'sync_token']);
  });

  test('leaves when it is due next if the run says nothing', async () => {
    expect(await release(null)).toEqual(['sync_lease_until', 'sync_token']);
  });

  test('after some pages it is no longer a connection that failed', async () => {
    await set(`last_error = 'timeout'`);
    const changed = await release(null, true);
    expect(changed).toEqual(['last_error', 'sync_lease_until', 'sync_token']);
  });

  test('leaves a connection that another run has', async () => {
    await set(`sync_token = 'of another run'`);
    expect(await release(LATER, true)).toEqual([]);
  });
});

describe('claim', () => {
  const claim = (token = 'job_1 a') => runs.claim(twins.db, { ...RUN, token }, AT, LATER);

  test('takes a connection that is due and whose lease has ended', async () => {
    expect(await columnsChangedBy(() => claim())).toEqual(['sync_lease_until', 'sync_token']);
    expect(await claim('job_2 b')).toBeNull();
    await set(`sync_lease_until = null, sync_token = null`);
    expect(await claim()).not.toBeNull();
  });

  test.each([
    `sync_lease_until = '2026-11-20T10:00:01Z'`,
    `next_sync_at = '2026-11-20T10:00:01Z'`,
    `status = 'paused'`,
    'credentials_encrypted = null',
  ])('takes nothing while %s', async (state) => {
    await set(state);
    expect(await columnsChangedBy(async () => expect(await claim()).toBeNull())).toEqual([]);
  });

  test('takes nothing of a suspended team', async () => {
    await twins.pool.query(`update team set status = 'suspended' where id = 'team_a'`);
    expect(await columnsChangedBy(async () => expect(await claim()).toBeNull())).toEqual([]);
  });
});

test.each<{
  name: string;
  write: (tx: Tx) => unknown;
  columns: string[];
}>([
  {
    name: 'setNext',
    write: (tx: Tx) => runs.setNext(tx, RUN, LATER),
    columns: ['next_sync_at'],
  },
  {
    name: 'pauseConnection',
    write: (tx: Tx) => connections.pauseConnection(tx, 'team_a', 'crm_3'),
    columns: ['next_sync_at', 'status', 'sync_lease_until', 'sync_token'],
  },
  {
    name: 'makeDue',
    write: (tx: Tx) => connections.makeDue(tx, 'team_a', { connectionId: 'crm_3', at: EARLIER }),
    columns: ['next_sync_at', 'sync_requested_at'],
  },
  {
    name: 'resumeConnection',
    write: (tx: Tx) =>
      connections.resumeConnection(tx, 'team_a', { connectionId: 'crm_3', at: LATER }),
    columns: ['next_sync_at', 'sync_state'],
  },
  {
    name: 'replaceCredentials',
    write: (tx: Tx) =>
      connections.replaceCredentials(tx, 'team_a', {
        connectionId: 'crm_3',
        credentialsEncrypted: Buffer.from('new'),
        next: LATER,
      }),
    columns: [
      'credentials_encrypted',
      'failure_streak',
      'next_sync_at',
      'sync_lease_until',
      'sync_state',
      'sync_token',
    ],
  },
  {
    name: 'disconnect',
    write: (tx: Tx) => connections.disconnect(tx, 'team_a', 'crm_3'),
    columns: [
      'base_url',
      'credentials_encrypted',
      'next_sync_at',
      'status',
      'sync_lease_until',
      'sync_state',
      'sync_token',
    ],
  },
])('$name writes the row of its connection', async ({ write, columns }) => {
  expect(await columnsChangedBy(write)).toEqual(columns);
});

describe('the removal of a disconnected connection', () => {
  const removedBy = async (work: () => Promise<unknown>) => {
    const { crm_connection = [], crm_deal = [] } = await twins.changes(work);
    return [...crm_connection, ...crm_deal];
  };
  const deals = async () =>
    (
      await twins.pool.query<{ line: string }>(
        `select '- team_a ' || id as line
         from crm_deal
         where team_id = 'team_a' and connection_id = 'crm_3'
         order by 1`,
      )
    ).rows.map(({ line }) => line);

  test('removes its deals', async () => {
    // All others are disconnected too.
    await twins.pool.query(`update crm_connection set status = 'disconnected'`);
    const expected = await deals();
    expect(expected).not.toEqual([]);
    expect(await removedBy(() => removal.removeDeals(twins.db, OF_CRM_3, ''))).toEqual(expected);
  });

  test('removes no deals of a connection that is not disconnected', async () => {
    await twins.pool.query(`update crm_connection set status = 'disconnected' where id <> 'crm_3'`);
    expect(await removedBy(() => removal.removeDeals(twins.db, OF_CRM_3, ''))).toEqual([]);
  });

  test('removes its row once it has no deals', async () => {
    await twins.pool.query(`update crm_connection set status = 'disconnected'`);
    const remove = () => removal.removeConnection(twins.db, OF_CRM_3);
    expect(await removedBy(remove)).toEqual([]);
    await twins.pool.query(
      `delete from crm_deal where team_id = 'team_a' and connection_id in ('crm_3', 'crm_4')`,
    );
    expect(await removedBy(remove)).toEqual(['- team_a crm_3']);
  });

  test('leaves the row of a connection that is not disconnected', async () => {
    await twins.pool.query(`delete from crm_deal`);
    expect(await removedBy(() => removal.removeConnection(twins.db, OF_CRM_3))).toEqual([]);
  });
});

describe('connections', () => {
  const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
  const find = (tx: Tx) =>
    connections.findConnectionLocked(tx, 'team_a', { connectionId: 'crm_3', now: AT });

  test('listConnections shows those of the team, the newest first', async () => {
    await twins.pool.query(
      `update crm_connection
       set created_at = timestamptz '2026-11-20Z' + interval '1 s' * (id = 'crm_1')::int`,
    );
    await set(`status = 'disconnected', sync_token = null, sync_lease_until = null`);
    const rows = await connections.listConnections(twins.db, 'team_a', AT);
    expect(idsOf(rows)).toEqual(['crm_1', 'crm_5', 'crm_4', 'crm_2']);
  });

  test('findConnectionLocked finds and locks one', async () => {
    await set(`failure_streak = 7`);
    let found: connections.ConnectionRow | null = null;
    const locked = await twins.lockedBy('crm_connection', async (tx) => {
      found = await find(tx);
    });
    expect(found).toMatchObject({ id: 'crm_3', failure_streak: 7, has_credentials: true });
    expect(locked).toEqual(['team_a crm_3']);
  });

  test('findConnectionLocked finds none that is disconnected, or unknown', async () => {
    await set(`status = 'disconnected'`);
    expect(await twins.inTransaction(find)).toBeNull();
    await twins.pool.query(`delete from crm_objection where team_id = 'team_a'`);
    await twins.pool.query(`delete from crm_deal where team_id = 'team_a'`);
    await twins.pool.query(`delete from crm_connection where team_id = 'team_a' and id = 'crm_3'`);
    expect(await twins.inTransaction(find)).toBeNull();
  });

  test('countConnections counts those of the team', async () => {
    const count = (tx: Tx) => connections.countConnections(tx, 'team_a');
    await set(`status = 'disconnected'`);
    expect(await twins.inTransaction(count)).toBe(4);
  });

  test('removeDeals goes on behind a deal of the CRM', async () => {
    await twins.pool.query(`update crm_connection set status = 'disconnected'`);
    await twins.pool.query(
      `update crm_deal
       set connection_id = case when id < 'deal_13' then 'crm_3' else 'crm_2' end,
         external_id = id
       where id in ('deal_10', 'deal_11', 'deal_12', 'deal_13', 'deal_14')`,
    );
    await twins.pool.query(`delete from crm_deal where id not like 'deal_1_'`);
    await twins.pool.query(`delete from crm_deal where id = 'deal_15'`);
    let last: string | null = null;
    const changed = await twins.changes(async () => {
      last = await removal.removeDeals(twins.db, OF_CRM_3, 'deal_10');
    });
    expect(last).toBe('deal_12');
    expect(changed).toEqual({
      crm_deal: ['- team_a deal_11', '- team_a deal_12'],
      crm_objection: ['- team_a obj_11', '- team_a obj_12'],
    });
  });

  test('removeDeals takes the first ones of more than a batch', async () => {
    await twins.pool.query(`update crm_connection set status = 'disconnected'`);
    await twins.pool.query(
      `insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
       select 'team_a', 'deal_n' || n, 'crm_3', to_char(n, 'FM000'), 'open', now()
       from generate_series(100, 700) n`,
    );
    // Numbers of the other deals have two digits at most.
    await twins.pool.query(`delete from crm_deal where id not like 'deal_n%'`);
    expect(await removal.removeDeals(twins.db, OF_CRM_3, '')).toBe('599');
    expect(await removal.removeDeals(twins.db, OF_CRM_3, '599')).toBe('700');
  });

  test('removeDeals removes a batch of objections before their deals', async () => {
    await twins.pool.query(`update crm_connection set status = 'disconnected'`);
    await twins.pool.query(`delete from crm_deal where id <> 'deal_3'`);
    await twins.pool.query(`update crm_deal set connection_id = 'crm_3'`);
    await twins.pool.query(
      `insert into crm_objection
         (team_id, id, deal_id, connection_id, category, text, lang, created_at)
       select team_id, 'obj_many' || n, 'deal_3', 'crm_3', 'price', 'x', 'en', now()
       from generate_series(1, 600) n, unnest(array['team_a', 'team_b']) team_id`,
    );
    const remove = () => removal.removeDeals(twins.db, OF_CRM_3, '');
    const first = await twins.changes(async () => expect(await remove()).toBe(''));
    expect(Object.keys(first)).toEqual(['crm_objection']);
    expect(first['crm_objection']).toHaveLength(500);
    const { crm_deal } = await twins.changes(remove);
    expect(crm_deal).toEqual(['- team_a deal_3']);
  });
});

// Which deals and objections the lists show, and a page of a synchronization removes.
import { beforeEach, describe, expect, test } from 'vitest';
import type { PagePosition } from '../../src/core/page.ts';
import type { Tx } from '../../src/db/client.ts';
import * as lists from '../../src/features/crm/store.ts';
import * as pages from '../../src/features/crm/sync/page-store.ts';
import * as sweeps from '../../src/features/crm/sync/sweep-store.ts';
import { PAGE_DEAL } from '../support/crm/deals.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const OF = { teamId: 'team_a', connectionId: 'crm_1' };

let twins: TwinStores;
/**
 * Three deals of `crm_1`, one of `crm_2`, each with an objection. Team B knows the same deals of
 * the CRM by other ids, and all of them are of `crm_1`.
 */
beforeEach(async () => {
  twins = await openTwinStores();
  await twins.pool.query(
    `delete from crm_deal where id not in ('deal_1', 'deal_2', 'deal_3', 'deal_4')`,
  );
  await twins.pool.query(
    `update crm_deal
     set synced_at = '2026-10-01Z',
       connection_id =
         case when id = 'deal_4' and team_id = 'team_a' then 'crm_2' else 'crm_1' end,
       external_id = 'of deal_' ||
         case
           when team_id = 'team_b' then (right(id, 1)::int + 2) % 4 + 1
           when id = 'deal_4' then 1
           else right(id, 1)::int
         end`,
  );
  await twins.pool.query(
    `update crm_objection set source = 'lost_reason', synced_at = '2026-10-01Z'`,
  );
});

async function removedBy(work: (tx: Tx) => unknown): Promise<Record<string, readonly string[]>> {
  return twins.changes(() =>
    twins.db.transaction(async (tx) => {
      await work(tx);
    }),
  );
}

test('upsertDeals gives a deal to the active member with the email of its owner', async () => {
  // In team A the fourth has left and the fifth is only invited; in team B both are active.
  const owners = ['MEM_3@twin.test', 'mem_4@twin.test', 'mem_5@twin.test', 'x@twin.test', null];
  const deals = owners.map((owner_email, index) => ({
    ...PAGE_DEAL,
    external_id: `${index}`,
    owner_email,
  }));
  const upsert = () =>
    twins.db.transaction(async (tx) => pages.upsertDeals(tx, OF, { deals, at: AT }));
  await upsert();
  const ownersNow = async () =>
    (
      await twins.pool.query<{ owner: string | null }>(
        `select owner_user_id as owner
         from crm_deal
         where team_id = 'team_a' and synced_at = $1
         order by external_id`,
        [AT],
      )
    ).rows.map(({ owner }) => owner);
  expect(await ownersNow()).toEqual(['usr_3', null, null, null, null]);
  // Who leaves has no deals after the next round.
  await twins.pool.query(
    `update member set status = 'ended' where team_id = 'team_a' and id = 'mem_3'`,
  );
  await upsert();
  expect(await ownersNow()).toEqual([null, null, null, null, null]);
});

test('removeDeals removes those with the given ids in the CRM, of its connection', async () => {
  const removed = await removedBy((tx) => pages.removeDeals(tx, OF, ['of deal_1', 'unknown']));
  expect(removed).toEqual({
    crm_deal: ['- team_a deal_1'],
    crm_objection: ['- team_a obj_1'],
  });
});

test('removeDeals removes the objections of its team', async () => {
  // In team B the objection 2 is one of deal 1.
  await twins.pool.query(
    `update crm_objection
     set source = id, deal_id = 'deal_1'
     where team_id = 'team_b' and id = 'obj_2'`,
  );
  const { crm_objection } = await removedBy((tx) => pages.removeDeals(tx, OF, ['of deal_1']));
  expect(crm_objection).toEqual(['- team_a obj_1']);
});

test('removeDeals removes a batch of objections before their deal', async () => {
  await twins.pool.query(
    `insert into crm_objection
       (team_id, id, deal_id, connection_id, category, text, lang, created_at)
     select 'team_a', 'obj_many' || n, 'deal_1', 'crm_1', 'price', 'x', 'en', now()
     from generate_series(1, 1500) n`,
  );
  const remove = () => twins.db.transaction((tx) => pages.removeDeals(tx, OF, ['of deal_1']));
  const left = async () =>
    (
      await twins.pool.query(
        `select
         from crm_deal
         where team_id = 'team_a' and id = 'deal_1'`,
      )
    ).rowCount;
  expect([await remove(), await left()]).toEqual([false, 1]);
  expect([await remove(), await left()]).toEqual([true, 0]);
});

test('replaceLostReasons removes those of the deals that are not lost any more', async () => {
  await twins.pool.query(`update crm_objection set source = 'note:1' where deal_id = 'deal_2'`);
  const read = { dealIds: ['of deal_1', 'of deal_2'], objections: [], at: AT };
  const removed = await removedBy((tx) => pages.replaceLostReasons(tx, OF, read));
  expect(removed).toEqual({ crm_objection: ['- team_a obj_1'] });
});

test('replaceLostReasons keeps the objection of a deal that is still lost', async () => {
  const text = { category: 'price' as const, text: 'new', lang: 'en' as const };
  const objections = [{ source: 'lost_reason', dealId: 'of deal_1', ...text }];
  const read = { dealIds: ['of deal_1', 'of deal_2'], objections, at: AT };
  const changed = await removedBy((tx) => pages.replaceLostReasons(tx, OF, read));
  expect(changed).toEqual({
    crm_objection: [
      '- team_a obj_2',
      expect.stringMatching(/^team_a obj_1: synced_at /),
      'team_a obj_1: text obj_1 of a → new',
    ],
  });
});

test('replaceNotes removes what a note does not say any more', async () => {
  await twins.pool.query(
    `update crm_objection
     set source = case when deal_id = 'deal_3' then 'note:2' else 'note:1' end`,
  );
  await twins.pool.query(
    `insert into crm_objection
       (team_id, id, deal_id, connection_id, category, text, lang, created_at, source)
     values ('team_a', 'obj_x', 'deal_2', 'crm_1', 'price', 'x', 'en', now(), 'note:3')`,
  );
  const objections = [
    {
      source: 'note:1',
      dealId: 'of deal_2',
      category: 'price' as const,
      text: 'obj_2 of a',
      lang: 'en' as const,
    },
  ];
  const read = { sources: ['note:1', 'note:3'], objections, at: AT };
  const removed = await removedBy((tx) => pages.replaceNotes(tx, OF, read));
  expect(removed).toEqual({
    crm_objection: [
      '- team_a obj_1',
      '- team_a obj_x',
      expect.stringMatching(/^team_a obj_2: synced_at /),
    ],
  });
});

test('replaceNotes adds what a note says to the deal of its connection', async () => {
  const text = { category: 'price' as const, text: 'x', lang: 'en' as const };
  const objections = [{ source: 'note:9', dealId: 'of deal_1', ...text }];
  const read = { sources: ['note:9'], objections, at: AT };
  const { crm_objection } = await removedBy((tx) => pages.replaceNotes(tx, OF, read));
  expect(crm_objection).toEqual([expect.stringMatching(/^\+ team_a /)]);
  const { rows } = await twins.pool.query(
    `select deal_id from crm_objection where source = 'note:9'`,
  );
  expect(rows).toEqual([{ deal_id: 'deal_1' }]);
});

describe('sweep', () => {
  const since = '2026-11-01T00:00:00.000Z';
  const sweepDeals = (after = '') =>
    twins.db.transaction((tx) => sweeps.sweepDeals(tx, OF, { since, after }));
  const sweepNotes = (after: PagePosition | null = null) =>
    twins.db.transaction((tx) => sweeps.sweepNotes(tx, OF, { since, after }));

  test('removes deals that no page contained since then, or ever', async () => {
    await twins.pool.query(
      `update crm_deal
       set synced_at = case id when 'deal_2' then null when 'deal_3' then $1::timestamptz
         else synced_at end
       where team_id = 'team_a'`,
      [since],
    );
    await twins.pool.query(`delete from crm_objection`);
    const removed = await twins.changes(async () => expect(await sweepDeals()).toBeNull());
    expect(removed).toEqual({ crm_deal: ['- team_a deal_1', '- team_a deal_2'] });
    expect(await sweepDeals()).toBeNull();
  });

  test('removes the objections of those deals only', async () => {
    await twins.pool.query(
      `update crm_deal set synced_at = $1 where team_id = 'team_a' and id <> 'deal_1'`,
      [since],
    );
    await twins.pool.query(
      `update crm_objection
       set source = id, deal_id = 'deal_1'
       where team_id = 'team_b' and id = 'obj_2'`,
    );
    expect(await twins.changes(() => sweepDeals())).toEqual({
      crm_deal: ['- team_a deal_1'],
      crm_objection: ['- team_a obj_1'],
    });
  });

  test('removes a batch of objections before their deal, and stays there', async () => {
    await twins.pool.query(
      `insert into crm_objection
         (team_id, id, deal_id, connection_id, category, text, lang, created_at)
       select 'team_a', 'obj_many' || n, 'deal_1', 'crm_1', 'price', 'x', 'en', now()
       from generate_series(1, 1100) n`,
    );
    const removed = await twins.changes(async () => expect(await sweepDeals('a')).toBe('a'));
    expect(Object.keys(removed)).toEqual(['crm_objection']);
    expect(await sweepDeals('a')).toBeNull();
  });

  test('reads 2,000 deals a step, by their ids in the CRM', async () => {
    await twins.pool.query(
      `insert into crm_deal
         (team_id, id, connection_id, external_id, outcome, created_at, synced_at)
       select 'team_a', 'many_' || n, 'crm_1', 'a' || to_char(n, 'FM0000'), 'open', now(), $1
       from generate_series(1, 2000) n`,
      [since],
    );
    await twins.pool.query(`delete from crm_objection`);
    const none = await twins.changes(async () => expect(await sweepDeals()).toBe('a2000'));
    expect(none).toEqual({});
    const rest = await twins.changes(async () => expect(await sweepDeals('a2000')).toBeNull());
    expect(rest).toEqual({
      crm_deal: ['- team_a deal_1', '- team_a deal_2', '- team_a deal_3'],
    });
  });

  test('removes notes that no page contained since then', async () => {
    await twins.pool.query(
      `update crm_objection
       set connection_id = case when id = 'obj_4' then 'crm_2' else 'crm_1' end,
         source = case when deal_id = 'deal_2' then 'lost_reason' else 'note:1' end,
         synced_at = case when deal_id = 'deal_3' then $1::timestamptz else synced_at end
       where team_id = 'team_a'`,
      [since],
    );
    // In team B the objection 3 is an old note.
    await twins.pool.query(
      `update crm_objection
       set connection_id = 'crm_1', source = 'note:1'
       where team_id = 'team_b' and id = 'obj_3'`,
    );
    const removed = await twins.changes(async () => expect(await sweepNotes()).toBeNull());
    expect(removed).toEqual({ crm_objection: ['- team_a obj_1'] });
  });

  test('reads 2,000 objections a step, the newest first', async () => {
    await twins.pool.query(`delete from crm_objection where id <> 'obj_1'`);
    await twins.pool.query(
      `update crm_objection set connection_id = 'crm_1', source = 'note:1', created_at = $1`,
      [since],
    );
    await twins.pool.query(
      `insert into crm_objection
         (team_id, id, deal_id, connection_id, category, text, lang, created_at, source, synced_at)
       select 'team_a', 'many_' || to_char(n, 'FM0000'), 'deal_1', 'crm_1', 'price', 'x', 'en', $1,
         'note:many' || n, $2
       from generate_series(1, 2000) n`,
      [AT, AT],
    );
    const last = { at: AT.toISOString(), id: 'many_0001' };
    const none = await twins.changes(async () => expect(await sweepNotes()).toEqual(last));
    expect(none).toEqual({});
    const rest = await twins.changes(async () => expect(await sweepNotes(last)).toBeNull());
    expect(rest).toEqual({ crm_objection: ['- team_a obj_1'] });
  });
});

describe.each([
  ['deal', 'crm_deal', 'deal'],
  ['objection', 'crm_objection', 'obj'],
] as const)('the list of %ss', (_name, table, prefix) => {
  const list = async (limit = 9, after: { at: string; id: string } | null = null) => {
    const show = table === 'crm_deal' ? lists.listDeals : lists.listObjections;
    return (await show(twins.db, 'team_a', { limit, after })).map(({ id }) => id);
  };
  const named = (...numbers: number[]) => numbers.map((number) => `${prefix}_${number}`);

  /** One to three belong to `crm_1`, which is active only in team A, four to `crm_2`. */
  beforeEach(async () => {
    await twins.pool.query(
      `update crm_deal
       set created_at = timestamptz '2026-11-20T09:00Z' + interval '1 minute' * right(id, 1)::int`,
    );
    await twins.pool.query(`delete from crm_objection where right(id, 2) ~ '[5-9]|1\\d'`);
    await twins.pool.query(
      `update crm_objection
       set connection_id = case when id = 'obj_4' then 'crm_2' else 'crm_1' end,
         created_at = timestamptz '2026-11-20T09:00Z' + interval '1 minute' * right(id, 1)::int`,
    );
    await twins.pool.query(`update crm_connection set status = 'paused' where id <> 'crm_1'`);
  });

  test('shows those of active connections, the newest first', async () => {
    expect(await list()).toEqual(named(3, 2, 1));
    expect(await list(2)).toEqual(named(3, 2));
    expect(await list(9, { at: '2026-11-20T09:03:00.000Z', id: `${prefix}_3` })).toEqual(
      named(2, 1),
    );
  });

  test('shows none when the connection is active only in the other team', async () => {
    await twins.pool.query(
      `update crm_connection
       set status = case team_id when 'team_a' then 'paused' else 'active' end
       where id = 'crm_1'`,
    );
    expect(await list()).toEqual([]);
  });

  test('merges the connections, by ids if the time is the same', async () => {
    await twins.pool.query(`update crm_connection set status = 'active' where id = 'crm_2'`);
    await twins.pool.query(`update ${table} set created_at = $1`, [AT]);
    expect(await list()).toEqual(named(4, 3, 2, 1));
    expect(await list(2)).toEqual(named(4, 3));
    const after = { at: AT.toISOString(), id: `${prefix}_3` };
    expect(await list(9, after)).toEqual(named(2, 1));
  });

  test('merges the connections by their times', async () => {
    await twins.pool.query(`update crm_connection set status = 'active' where id = 'crm_2'`);
    await twins.pool.query(
      `update ${table} set created_at = '2026-11-20T09:01:30Z' where id = '${prefix}_4'`,
    );
    expect(await list()).toEqual(named(3, 2, 4, 1));
    expect(await list(1)).toEqual(named(3));
  });

  test.each(['created_at', `timestamptz '2026-11-20T09:00Z'`])(
    'ends with the first that does not fit, at the time %s',
    async (createdAt) => {
      const text = table === 'crm_deal' ? 'title' : 'text';
      await twins.pool.query(
        `update ${table} set ${text} = repeat('x', 700000), created_at = ${createdAt}`,
      );
      expect(await list()).toEqual(named(3, 2));
    },
  );

  test.each([
    ['of one moment', `timestamptz '2026-11-21Z'`, '210'],
    ['of many', `timestamptz '2026-11-21Z' - interval '1 s' * n`, '001'],
  ])('begins with the newest of more than a page, %s', async (_case, createdAt, newest) => {
    const columns =
      table === 'crm_deal'
        ? ['connection_id, external_id, outcome', `'crm_1', 'many' || n, 'open'`]
        : ['deal_id, connection_id, category, text, lang', `'deal_1', 'crm_1', 'price', 'x', 'en'`];
    await twins.pool.query(
      `insert into ${table} (team_id, id, created_at, ${columns[0]})
       select 'team_a', '${prefix}_n' || to_char(n, 'FM000'), ${createdAt}, ${columns[1]}
       from generate_series(1, 210) n`,
    );
    expect(await list(1)).toEqual([`${prefix}_n${newest}`]);
  });
});

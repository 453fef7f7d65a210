import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { idsOf, readPage } from '../support/lists.ts';
import { makeSeed, makeTeam, userId, type TeamSeed } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

const day = (number: number): string => `2026-10-${String(number).padStart(2, '0')}T08:00:00.000Z`;

/** Deals 1 to 6, in turn of the connections `hub` and `pipe`, each with its own objection. */
function crmTeam(name: string, fields: Partial<TeamSeed> = {}): TeamSeed {
  const numbers = [1, 2, 3, 4, 5, 6];
  return makeTeam(name, {
    crm_connections: [
      { id: 'hub', provider: 'hubspot' },
      { id: 'pipe', provider: 'pipedrive' },
    ],
    crm_deals: numbers.map((number) => ({
      id: `deal_${number}`,
      connection_id: number % 2 === 1 ? 'hub' : 'pipe',
      external_id: `ext-${number}`,
      owner_user_id: userId(name, 'member'),
      synced_at: day(number),
    })),
    crm_objections: numbers.map((number) => ({
      id: `obj_${number}`,
      deal_id: `deal_${number}`,
      category: 'price',
      text: `Objection ${number}`,
      lang: 'en',
      created_at: day(10 + number),
    })),
    ...fields,
  });
}

let api: TestApi;

const list = (path: string, team = 'team_a') => readPage(api, path, api.key(team, 'cases:read'));

function setConnection(id: string, status: string): Promise<unknown> {
  return api.db.pool.query(
    `update crm_connection
     set status = $2
     where team_id = 'team_a' and id = $1`,
    [id, status],
  );
}

beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([
      crmTeam('a'),
      crmTeam('off', { privacy: { member_detail_enabled: false } }),
      makeTeam('bare'),
    ]),
  });
});
beforeEach(() => putSeedBack(api));

describe.each([
  { path: '/crm/deals', table: 'crm_deal', id: 'deal' },
  { path: '/crm/objections', table: 'crm_objection', id: 'obj' },
])('GET $path', ({ path, table, id }) => {
  const ids = (...numbers: number[]) => numbers.map((number) => `${id}_${number}`);

  test('lists the rows of all active connections, newest first', async () => {
    const page = await list(path);
    expect(idsOf(page)).toEqual(ids(6, 5, 4, 3, 2, 1));
    expect(page.next_cursor).toBeNull();
  });

  test.each(['paused', 'disconnected'])(
    'hides the rows of a %s connection until it is active again',
    async (status) => {
      await setConnection('hub', status);
      expect(idsOf(await list(path))).toEqual(ids(6, 4, 2));
      await setConnection('hub', 'active');
      expect(idsOf(await list(path))).toEqual(ids(6, 5, 4, 3, 2, 1));
    },
  );

  test('is an empty page without an active connection or without any', async () => {
    await setConnection('hub', 'paused');
    await setConnection('pipe', 'disconnected');
    expect(await list(path)).toEqual({ data: [], next_cursor: null });
    expect(await list(path, 'team_bare')).toEqual({ data: [], next_cursor: null });
  });

  test('pages neither repeat nor skip rows while others come and go', async () => {
    const first = await list(`${path}?limit=2`);
    await api.db.pool
      .query(`delete from ${table} where team_id = 'team_a' and id = $1`, [`${id}_5`])
      .catch(() => undefined);
    await api.db.pool.query(
      `update ${table}
       set created_at = '2026-11-01'
       where team_id = 'team_a' and id = $1`,
      [`${id}_1`],
    );
    const second = await list(`${path}?limit=2&cursor=${first.next_cursor}`);
    const third =
      second.next_cursor === null
        ? null
        : await list(`${path}?limit=2&cursor=${second.next_cursor}`);
    expect(idsOf(first)).toEqual(ids(6, 5));
    expect([...idsOf(second), ...(third ? idsOf(third) : [])]).toEqual(ids(4, 3, 2));
  });

  test('the last page has a null cursor, even if rows of a paused connection follow', async () => {
    await api.db.pool.query(
      `update ${table}
       set created_at = '2020-01-01'
       where team_id = 'team_a' and id = any ($1)`,
      [ids(1, 3, 5)],
    );
    await setConnection('hub', 'paused');
    const page = await list(`${path}?limit=3`);
    expect(idsOf(page)).toEqual(ids(6, 4, 2));
    expect(page.next_cursor).toBeNull();
  });

  test('refuses the cursor of the other list', async () => {
    const { next_cursor } = await list(
      `${path === '/crm/deals' ? '/crm/objections' : '/crm/deals'}?limit=1`,
    );
    const refused = await api.call(api.key('team_a'), 'GET', `${path}?cursor=${next_cursor}`);
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'query.cursor' }] } });
  });
});

describe('a deal', () => {
  test('has every field; money is the stored text', async () => {
    await api.db.pool.query(
      `update crm_deal
       set amount = '12345678901234567890.10', currency = 'EUR', close_date = '2026-12-31',
         probability = 40, title = 'Licence', pipeline_id = 'p', stage_id = 's',
         industry_id = 'ind_saas', lost_reason = 'r', last_activity_at = '2026-10-01T00:00:00Z'
       where team_id = 'team_a' and id = 'deal_6'`,
    );
    const { data } = await list('/crm/deals?limit=1');
    expect(data).toEqual([
      {
        id: 'deal_6',
        external_id: 'ext-6',
        outcome: 'open',
        title: 'Licence',
        amount: '12345678901234567890.10',
        currency: 'EUR',
        close_date: '2026-12-31',
        probability: 40,
        pipeline_id: 'p',
        stage_id: 's',
        industry_id: 'ind_saas',
        lost_reason: 'r',
        owner_user_id: userId('a', 'member'),
        last_activity_at: '2026-10-01T00:00:00.000Z',
        synced_at: day(6),
      },
    ]);
  });

  test('has no owner while member details are off, but all other fields', async () => {
    const { data } = await list('/crm/deals', 'team_off');
    expect(data).toHaveLength(6);
    for (const deal of data) expect(deal).not.toHaveProperty('owner_user_id');
    expect(data[0]).toMatchObject({ id: 'deal_6', external_id: 'ext-6', synced_at: day(6) });
  });

  test('without an owner has null as its owner', async () => {
    await api.db.pool.query(
      `update crm_deal
       set owner_user_id = null
       where team_id = 'team_a' and id = 'deal_6'`,
    );
    expect((await list('/crm/deals?limit=1')).data[0]).toMatchObject({ owner_user_id: null });
  });
});

describe('an objection', () => {
  test('has every field, even while member details are off', async () => {
    for (const team of ['team_a', 'team_off']) {
      const { data } = await list('/crm/objections?limit=1', team);
      expect(data).toEqual([
        {
          id: 'obj_6',
          deal_id: 'deal_6',
          category: 'price',
          text: 'Objection 6',
          lang: 'en',
          created_at: day(16),
        },
      ]);
    }
  });
});

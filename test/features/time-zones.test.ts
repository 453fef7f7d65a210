// Instants and days are those of UTC, whatever the time zones of the process and the database.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { deprecationHeaders } from '../../src/core/deprecation.ts';
import { weekOf } from '../../src/features/analytics/platform-rules.ts';
import { periodOf } from '../../src/features/analytics/rules.ts';
import { openProvider } from '../../src/features/crm/providers/registry.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { startUsageCounter } from '../../src/features/usage/counter.ts';
import { loadTestSeed, startTestApi, type TestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';
import { startCrm } from '../support/crm/fake.ts';
import { setOddly } from '../support/odd-database.ts';
import { describeEvaluation, describeTraining } from '../support/platform.ts';
import { readRollups } from '../support/rollups.ts';
import {
  makeEvaluation,
  makeSeed,
  makeTeam,
  makeTraining,
  memberId,
  userId,
} from '../support/seed.ts';

/** Half an hour before and after midnight UTC, at the end of a week and of a year. */
const INSTANTS = [
  { at: '2026-11-15T23:30:00.000Z', monday: '2026-11-09', day: 7 },
  { at: '2026-11-16T00:30:00.000Z', monday: '2026-11-16', day: 1 },
  { at: '2026-12-31T23:30:00.000Z', monday: '2026-12-28', day: 4 },
  { at: '2027-01-01T00:30:00.000Z', monday: '2026-12-28', day: 5 },
  { at: '2026-11-01T23:30:00.000Z', monday: '2026-10-26', day: 7 },
  { at: '2026-11-02T00:30:00.000Z', monday: '2026-11-02', day: 1 },
];
const SUNDAY = '2026-11-15T23:30:00.000Z';
const MONDAY = '2026-11-16T00:30:00.000Z';

/** Two scored trainings of one night, an hour apart. */
const TRAININGS = [
  { id: 'trn_sunday', at: SUNDAY, total: 20 },
  { id: 'trn_monday', at: MONDAY, total: 40 },
];

// Behind UTC, ahead of it, and ahead by a half hour.
describe.each(['America/New_York', 'Asia/Tokyo', 'Asia/Kolkata'])('in %s', (zone) => {
  const machineZone = process.env['TZ'];
  const clock = fixedClock(new Date(MONDAY));
  const keys: Record<string, string> = {};
  let api: TestApi;
  beforeAll(async () => {
    process.env['TZ'] = zone;
    api = await startTestApi({ seed: makeSeed([]), clock });
    // This must come before the API connects, because a session keeps its first time zone.
    await setOddly(api.databaseUrl, { timezone: zone });
    const trainings = TRAININGS.map(({ id, at, total }) =>
      makeTraining('seeded', id, {
        created_at: at,
        finished_at: at,
        evaluation: makeEvaluation(total),
      }),
    );
    const seed = makeSeed([makeTeam('told'), makeTeam('seeded', { trainings })]);
    const { teams } = await loadTestSeed({ url: api.databaseUrl }, seed);
    for (const [id, { api_keys }] of Object.entries(teams)) keys[id] = api_keys['full'] ?? '';
  });
  afterAll(() => {
    if (machineZone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = machineZone;
  });

  const readWith = async (team: string, path: string) => {
    const { status, body } = await api.call(keys[`team_${team}`] ?? '', 'GET', path);
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  };

  test('the process and the database have this zone; its days are not those of UTC', async () => {
    const client = new Client({ connectionString: api.databaseUrl });
    await client.connect();
    expect((await client.query('show timezone')).rows).toEqual([{ TimeZone: zone }]);
    await client.end();
    expect((await api.db.pool.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
    const isOtherDay = ({ at }: { at: string }) =>
      new Date(at).getDay() !== new Date(at).getUTCDay();
    expect(INSTANTS.filter(isOtherDay)).toHaveLength(INSTANTS.length / 2);
  });

  test.each(INSTANTS)('$at is day $day of the week of $monday', ({ at, monday, day }) => {
    expect(weekOf(at)).toEqual({ monday, day });
    const { today, weeks } = periodOf(new Date(at));
    expect([today, weeks.at(-1)]).toEqual([at.slice(0, 10), monday]);
  });

  test.each(['told', 'seeded'])(
    'a score counts for the UTC day of its training (%s)',
    async (team) => {
      const token = await tokenOf({ kind: 'platform', service: 'training' }, clock.now());
      const { platform } = appAs(api, token);
      for (const { id, at, total } of team === 'told' ? TRAININGS : []) {
        await platform.trainings.end.mutate({
          ...describeTraining(team, id, { created_at: at, finished_at: at }),
        });
        await platform.evaluations.save.mutate(describeEvaluation(team, id, total, at));
      }
      const dayOf = (day: number, total: number) => ({
        total_sum: total,
        total_count: 1,
        day_sums: Array.from({ length: 7 }, (_, index) => (index === day - 1 ? total : 0)),
        day_counts: Array.from({ length: 7 }, (_, index) => (index === day - 1 ? 1 : 0)),
      });
      expect((await readRollups(api.db.pool, `team_${team}`)).weeks).toEqual({
        [`${userId(team, 'member')} 2026-11-09`]: dayOf(7, 20),
        [`${userId(team, 'member')} 2026-11-16`]: dayOf(1, 40),
      });
      const trend = async () => {
        const { trend: weeks } = await readWith(team, '/analytics/team');
        return (weeks as { score: number | null }[]).slice(-2).map(({ score }) => score);
      };
      expect(await trend()).toEqual([20, 40]);
      clock.set(new Date(SUNDAY));
      expect(await trend()).toEqual([null, 20]);
      clock.set(new Date(MONDAY));
      expect(await readWith(team, '/trainings/trn_sunday')).toMatchObject({ created_at: SUNDAY });
    },
  );

  test('a request counts for its UTC day, and is kept for 90 UTC days', async () => {
    const { rows } = await api.db.pool.query<{ id: string }>(
      `select id from api_key where team_id = 'team_told' and name = 'full'`,
    );
    const days = async () => {
      const { rows: found } = await api.db.pool.query(
        'select day, count_2xx as count from api_key_usage order by day',
      );
      return found;
    };
    const counted = fixedClock(new Date(SUNDAY));
    const counter = startUsageCounter({ db: api.db, clock: counted, onError: () => undefined });
    counter.count('team_told', rows[0]?.id ?? '', 200, 0);
    counted.set(new Date(MONDAY));
    for (let n = 0; n < 2; n += 1) counter.count('team_told', rows[0]?.id ?? '', 200, 0);
    await counter.stop();
    const [sunday, monday] = [
      { day: '2026-11-15', count: 1 },
      { day: '2026-11-16', count: 2 },
    ];
    const DAY_MS = 86_400_000;
    const removeAt = (at: string) =>
      removeOld(api.db, fixedClock(new Date(Date.parse(at) + 90 * DAY_MS)));
    await removeAt(SUNDAY);
    expect(await days()).toEqual([sunday, monday]);
    await removeAt(MONDAY);
    expect(await days()).toEqual([monday]);
  });

  test('a due date stays the day that was sent', async () => {
    const made = await api.call(keys['team_told'] ?? '', 'POST', '/assignments', {
      body: {
        member_id: memberId('told', 'member'),
        title: 'Due',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
        due_date: '2026-12-01',
      },
    });
    expect(made).toMatchObject({ status: 201, body: { due_date: '2026-12-01' } });
    const { id } = made.body as { id: string };
    expect(await readWith('told', `/assignments/${id}`)).toMatchObject({ due_date: '2026-12-01' });
  });

  // Some statements are Prisma's and some are ours, which do not write an instant in the same form.
  test('an instant is the same in all that writes and reads it', async () => {
    const key = keys['team_told'] ?? '';
    const made = await api.call(key, 'POST', '/cases', {
      body: { user_id: userId('told', 'member'), fields: { name: 'A' } },
    });
    expect(made).toMatchObject({ status: 201, body: { created_at: MONDAY } });
    const { id } = made.body as { id: string };
    const listed = (await readWith('told', '/cases')) as { data: { created_at: string }[] };
    expect(listed.data.map(({ created_at }) => created_at)).toEqual([MONDAY]);
    expect(await readWith('told', `/cases/${id}`)).toMatchObject({ created_at: MONDAY });
    const identity = {
      kind: 'user',
      userId: userId('told', 'owner'),
      teamId: 'team_told',
    } as const;
    const owner = appAs(api, await tokenOf(identity, clock.now()));
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const created = await owner.admin.apiKeys.create.mutate({
      name: 'short',
      scopes: ['users:read'],
      expires_at,
    });
    expect(created).toMatchObject({ expires_at, state: 'active' });
    const { data } = await owner.admin.apiKeys.list.query({});
    const listedKeys = data.filter(({ name }) => name === 'short');
    expect(listedKeys).toMatchObject([{ expires_at, state: 'active' }]);
    expect((await api.call(created.key ?? '', 'GET', '/users')).status).toBe(200);
  });

  test('the days of a deprecation begin at midnight UTC', () => {
    const dates = { since: '2027-01-01', sunset: '2028-01-01' };
    expect(deprecationHeaders(dates, '')).toMatchObject({
      Deprecation: `@${Date.UTC(2027, 0, 1) / 1000}`,
      Sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
    });
  });

  test("the times of Pipedrive's notes, which have no zone, are read as UTC", async () => {
    const crm = await startCrm('pipedrive');
    crm.notes.set(1, { id: 1, dealId: 1, html: 'A note', modified: MONDAY });
    const provider = await openProvider(
      { timeoutMs: 60_000, allowBaseUrl: true },
      {
        teamId: 'team_a',
        at: new Date(),
        provider: 'pipedrive',
        storedCredentials: crm.token,
        baseUrl: crm.url,
        readsNotes: true,
      },
    );
    const { modifiedUntil } = await provider.readPage('notes', { since: null, cursor: null });
    provider.close();
    expect(modifiedUntil).toBe(MONDAY);
  });
});

// A call of Prisma that does not name its team does not compile, and is refused before anything is
// sent: Prisma leaves out a condition whose value is undefined.
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { wholePrisma } from '../support/whole-prisma.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a'), makeFullTeam('b')]) });
});

const ofTeam = () => api.db.forCaller({ share: 'team_a' });
const prisma = () => wholePrisma(ofTeam());
/** What a caller forgets that the compiler does not notice. */
const forgotten = undefined as unknown as string;
const unbound = { teamId: forgotten, id: 'cas_1' };
const titles = async (): Promise<unknown> =>
  (await api.db.pool.query('select team_id, id, title from training_case order by 1, 2')).rows;

describe('a call of Prisma without its team is refused:', () => {
  test.each([
    ['findFirst', () => prisma().trainingCase.findFirst({ where: unbound })],
    ['findFirst without a condition', () => prisma().trainingCase.findFirst()],
    ['findMany', () => prisma().trainingCase.findMany({ where: { id: 'cas_1' } })],
    [
      'findMany of others',
      () => prisma().trainingCase.findMany({ where: { teamId: { not: '' } } }),
    ],
    ['findMany of either', () => prisma().trainingCase.findMany({ where: { OR: [unbound] } })],
    ['count', () => prisma().trainingCase.count({ where: unbound })],
    [
      'updateMany',
      () => prisma().trainingCase.updateMany({ where: unbound, data: { title: 'changed' } }),
    ],
    ['deleteMany', () => prisma().trainingCase.deleteMany({ where: { teamId: forgotten } })],
    ['createMany', () => prisma().teamBlock.createMany({ data: [{ ...unbound, entryId: 'x' }] })],
    ['findFirst of teams', () => prisma().team.findFirst({ where: { name: 'a' } })],
    [
      'findUnique, also with it',
      () =>
        prisma().trainingCase.findUnique({ where: { teamId_id: { teamId: 'team_a', id: 'x' } } }),
    ],
    [
      'update, also with it',
      () =>
        prisma().trainingCase.update({
          where: { teamId_id: { teamId: 'team_a', id: 'cas_1' } },
          data: { title: 'changed' },
        }),
    ],
  ])('%s', async (_operation, call) => {
    const before = await titles();
    await expect(call()).rejects.toThrow(/names no team|is not for use/);
    expect(await titles()).toEqual(before);
  });

  test.each([
    ['findFirst', () => prisma().trainingCase.findFirst({ where: { teamId: 'team_a' } })],
    ['count of a table of no team', () => prisma().catalogEntry.count()],
    ['findFirst of teams', () => prisma().team.findFirst({ where: { id: 'team_a' } })],
  ])('%s is not', async (_operation, call) => {
    expect(await call()).toBeTruthy();
  });
});

test('a call of Prisma without its team does not compile', () => {
  const { prisma: bound } = ofTeam();
  const calls = [
    () => bound.trainingCase.findFirst({ where: { teamId: 'team_a', id: 'cas_1' } }),
    () => bound.teamBlock.createMany({ data: [{ teamId: 'team_a', entryId: 'x' }] }),
    () => bound.team.updateMany({ where: { id: 'team_a' }, data: { name: 'A' } }),
    () => bound.catalogEntry.count({}),
    // @ts-expect-error no condition
    () => bound.trainingCase.findFirst({}),
    // @ts-expect-error no team
    () => bound.trainingCase.findMany({ where: { id: 'cas_1' } }),
    // @ts-expect-error other teams
    () => bound.trainingCase.findMany({ where: { teamId: { not: 'team_a' } } }),
    // @ts-expect-error the team among others
    () => bound.trainingCase.count({ where: { OR: [{ teamId: 'team_a' }] } }),
    // @ts-expect-error up to a number
    () => bound.trainingCase.count({ where: { teamId: 'team_a' }, take: 1 }),
    // @ts-expect-error up to a number, of a table of no team
    () => bound.catalogEntry.count({ take: 1 }),
    // @ts-expect-error only what is written names it
    () => bound.trainingCase.updateMany({ where: { id: 'x' }, data: { teamId: 'team_a' } }),
    // @ts-expect-error one row of no team
    () => bound.teamBlock.createMany({ data: [{ entryId: 'x' }] }),
    // @ts-expect-error another column of a team
    () => bound.team.findFirst({ where: { name: 'a' } }),
    // @ts-expect-error an unknown column
    () => bound.team.findFirst({ where: { id: 'team_a', nme: 'a' } }),
    // @ts-expect-error by a unique key
    () => bound.team.findUnique({ where: { id: 'team_a' } }),
    // @ts-expect-error raw SQL
    () => bound.$queryRaw`select 1`,
  ];
  expect(calls.length).toBeGreaterThan(0);
});

describe('a count up to a number is refused, because it reads all that match:', () => {
  const where = { teamId: 'team_a' };
  test.each([
    ['count', () => prisma().trainingCase.count({ where, take: 1 })],
    ['count of a table of no team', () => prisma().catalogEntry.count({ take: 1 })],
    ['aggregate', () => prisma().trainingCase.aggregate({ where, take: 1, _count: true })],
  ])('%s', async (_operation, call) => {
    await expect(call()).rejects.toThrow('with take is not for use');
  });
});

test('a call that would begin a transaction of its own is refused', async () => {
  const member = { id: 'mem_nested', role: 'member', status: 'invited', createdAt: new Date() };
  const nested = ofTeam().prisma.member.create({
    data: { teamId: 'team_a', ...member, blocks: { create: { entryId: 'sit_cold' } } },
  });
  await expect(nested).rejects.toThrow('a call of Prisma is one statement');
  const { rows } = await api.db.pool.query("select from member where id = 'mem_nested'");
  expect(rows).toEqual([]);
});

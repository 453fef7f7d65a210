// Prisma leaves out a condition whose value is undefined. A call that does not name its team is
// refused before anything is sent.
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a'), makeFullTeam('b')]) });
});

const prisma = () => api.db.forCaller({ share: 'team_a' }).prisma;
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

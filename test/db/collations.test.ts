// Operators choose how their database sorts texts. The service works with any order.
import { expect, test } from 'vitest';
import { listAdmins, type AdminPlace } from '../../src/db/team-admins.ts';
import { startTestApi } from '../support/api.ts';
import { createIcuDatabase } from '../support/database.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

test('all admins of a team are found where signs sort before letters', async () => {
  const database = await createIcuDatabase();
  const { db } = await startTestApi({ database, seed: makeSeed([makeTeam('x')]) });
  const page = (after: AdminPlace | null) =>
    db.transaction((tx) => listAdmins(tx, 'team_x', { after, limit: 1 }));
  const [owner] = await page(null);
  const [admin] = await page(owner ?? null);
  expect([owner?.id, admin?.id]).toEqual(['mem_x_owner', 'mem_x_admin']);
  expect(await page(admin ?? null)).toEqual([]);
});

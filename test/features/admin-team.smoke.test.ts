import { expect, test } from 'vitest';
import { createCall, loadTestSeed } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { startApiProcess } from '../support/processes.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

test('a switch set on one process takes effect at the next request on another', async () => {
  const database = await createTestDatabase();
  const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
  const [one, two] = await Promise.all([
    startApiProcess(database.url),
    startApiProcess(database.url),
  ]);
  const app = await appAsMember(one, 'a', 'owner');
  const call = createCall(two.url);
  const statuses = [];
  for (const member_detail_enabled of [false, true, false]) {
    await app.admin.team.privacy.set.mutate({ member_detail_enabled });
    statuses.push(
      (await call(teams['team_a']?.api_keys['full'] ?? '', 'GET', '/trainings')).status,
    );
  }
  expect(statuses).toEqual([403, 200, 403]);
  await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')]);
  await database.drop();
});

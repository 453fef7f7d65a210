// A made-up next release migrates beside a running API of this release: a column, an index that is
// built concurrently, a table and a function with another text.
import { appendFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { expectedMigrations, isMigrated } from '../../src/db/operator/migrations.ts';
import { startTestApi } from '../support/api.ts';
import { makeFolder } from '../support/folder.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';

const PRISMA = join(import.meta.dirname, '../../prisma');

const NEXT = {
  '99990101000000_extend_member': `
ALTER TABLE "member" ADD COLUMN "next_release" text NOT NULL DEFAULT '';
ALTER TABLE "team" ADD COLUMN "next_release" text;`,
  '99990101000001_index_member':
    'CREATE INDEX CONCURRENTLY "member_next_release_idx" ON "member" ("team_id", "next_release");',
  '99990101000002_create_next': `
CREATE TABLE "next" (
  "team_id" text NOT NULL,
  "id" text NOT NULL,
  CONSTRAINT "next_pkey" PRIMARY KEY ("team_id", "id")
);
SELECT distribute_by_team('next');`,
};

test('processes of this release go on after the next one has migrated', async () => {
  const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
  const key = api.key('team_a');
  const path = `/users/${memberId('a', 'member')}`;
  let invited = 0;
  const useAll = async () => {
    invited += 1;
    const body = { email: `new${invited}@a.test` };
    const headers = { 'idempotency-key': `invitation ${invited}` };
    const list = await api.call(key, 'GET', '/users');
    const one = await api.call(key, 'GET', path);
    const made = await api.call(key, 'POST', '/users', { body, headers });
    const again = await api.call(key, 'POST', '/users', { body, headers });
    expect([list, one, made, again].map(({ status }) => status)).toEqual([200, 200, 201, 201]);
    return one.body;
  };
  const before = await useAll();

  const folder = await makeFolder('next-release');
  await cp(PRISMA, folder, { recursive: true });
  for (const [name, sql] of Object.entries(NEXT)) {
    await mkdir(join(folder, 'migrations', name));
    await writeFile(join(folder, 'migrations', name, 'migration.sql'), sql);
  }
  await appendFile(join(folder, 'functions', 'begin_idempotent_call.sql'), '-- The next text.\n');
  expect(await migrate(api.databaseUrl, { folder })).toEqual([
    ...Object.keys(NEXT),
    'functions/begin_idempotent_call',
  ]);

  expect(await useAll()).toEqual(before);
  expect(await isMigrated(api.db, await expectedMigrations())).toBe(true);
  // A rollback: the former text of the function comes back, and migrations stay.
  expect(await migrate(api.databaseUrl)).toEqual(['functions/begin_idempotent_call']);
  expect(await useAll()).toEqual(before);
});

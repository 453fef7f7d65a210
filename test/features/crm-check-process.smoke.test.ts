// What an API process loads to check the credentials of a CRM.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { PROVIDER_NAMES } from '../../src/features/crm/providers/registry.ts';
import { loadTestSeed } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { SOURCES } from '../support/sources.ts';
import { appAsMember } from '../support/app.ts';
import { startCrm } from '../support/crm/fake.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** Makes Node write the package of each file of `node_modules` that the process loads, once. */
const tellPackages = (file: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const told = new Set();
  registerHooks({
    load(url, context, next) {
      const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
      if (name && !told.has(name)) appendFileSync(${JSON.stringify(file)}, name + '\\n');
      told.add(name);
      return next(url, context);
    },
  });
`)}`;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const nothing = { crm_connections: [], crm_deals: [], crm_objections: [] };
  await loadTestSeed(database, makeSeed([makeTeam('a', nothing)]));
  return () => database.drop();
});

// Their first load stops the process for up to 0.4 s, and takes 50 to 120 MB for good.
test('an API process connects a CRM without loading its package', async () => {
  const file = join(await makeFolder('packages'), 'loaded');
  const env = { NODE_OPTIONS: tellPackages(file), WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' };
  const process = await startApiProcess(database.url, env, SOURCES);
  const { crm } = (await appAsMember(process, 'a', 'owner')).admin;
  for (const name of PROVIDER_NAMES) {
    const { token, url: base_url } = await startCrm(name);
    const at = { provider: name, base_url, objection_marker: 'Einwand:' };
    const refused = await crm.connect
      .mutate({ ...at, credentials: 'wrong' })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ data: { problem: { field: 'credentials' } } });
    const { id } = await crm.connect.mutate({ ...at, credentials: token });
    await crm.replaceCredentials.mutate({
      connection_id: id,
      provider: name,
      credentials: token,
    });
  }
  await process.kill('SIGTERM');
  const loaded = (await readFile(file, 'utf8')).split('\n');
  expect(loaded).toContain('zod');
  expect(loaded.filter((name) => /pipedrive|hubspot/.test(name))).toEqual([]);
});

// A CRM that hangs, and imports without an end, hold up nobody else's synchronization. With a
// worker and CRMs that are real servers.
import { beforeEach, expect, test } from 'vitest';
import { encrypt } from '../../src/core/encryption.ts';
import { credentialsContext } from '../../src/features/crm/connections/rules.ts';
import { serializeCredentials } from '../../src/features/crm/providers/provider.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import { startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const OTHERS = Array.from({ length: 30 }, (_, n) => `other${n}`);

let api: TestApi;
beforeEach(async () => {
  const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
  const teams = ['a', 'b', 'first', ...OTHERS].map((name) => makeTeam(name, none));
  api = await startTestApi({ seed: makeSeed(teams) });
  await startWorkerProcess(api.databaseUrl, {
    APP_SECRET: TEST_APP_SECRET,
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
  });
  await loadPackages();
});

/** How a connection was left by its last run. */
interface Past {
  readonly isNew?: boolean;
  readonly failures?: number;
}

/** Adds a connection that is due, but later than all that were added before. */
let due = 0;
async function add(team: string, crm: FakeCrm, { isNew = false, failures = 0 }: Past = {}) {
  due += 1;
  const id = `crm_${due}`;
  const teamId = `team_${team}`;
  const secret = serializeCredentials(crm.connectInput().credentials);
  const now = new Date().toISOString();
  const state = { since: { deals: now }, fullAt: now, round: null };
  await api.db.pool.query(
    `insert into crm_connection
       (team_id, id, provider, credentials_encrypted, base_url, created_at, next_sync_at,
        failure_streak, last_error, sync_state)
     values ($1, $2, $3, $4, $5, now(), now() - interval '1 hour' + $6 * interval '1 second', $7,
       case when $7 > 0 then 'unreachable' end, $8)`,
    [
      teamId,
      id,
      crm.name,
      encrypt(secret, TEST_APP_SECRET, credentialsContext(teamId, id)),
      crm.url,
      due,
      failures,
      isNew ? null : JSON.stringify(state),
    ],
  );
  return id;
}

/** A CRM that takes requests and never answers. */
async function startHanging(name: FakeCrm['name']): Promise<FakeCrm> {
  const crm = await startCrm(name);
  crm.intercept = () => true;
  return crm;
}

/** How often it is looked for the end of a run before that is taken for lost. */
const LOOKS_PER_TRY = 400;

const schedule = () => api.db.pool.query(`select graphile_worker.add_job('schedule_crm_syncs')`);
async function areSynced(ids: readonly string[]): Promise<boolean> {
  const { rowCount } = await api.db.pool.query(
    'select from crm_connection where id = any ($1) and last_synced_at is not null',
    [ids],
  );
  return rowCount === ids.length;
}

/**
 * Synchronizes a connection of each provider. To load their packages stops the worker for so long
 * on a busy machine that it may lose its run, and the next one waits for the end of a lease.
 */
async function loadPackages(): Promise<void> {
  const ids: string[] = [];
  for (const name of ['hubspot', 'pipedrive'] as const)
    ids.push(await add('first', await startCrm(name)));
  let looks = 0;
  await until(async () => {
    if (looks % LOOKS_PER_TRY === 0) {
      await api.db.pool.query('update crm_connection set sync_lease_until = null');
      await schedule();
    }
    looks += 1;
    return areSynced(ids);
  });
}

/** Resolves when the worker has synchronized the connections. */
async function waitFor(...ids: string[]): Promise<void> {
  await schedule();
  await until(() => areSynced(ids));
}

/** How many connections have been waited for in vain: all of them take minutes. */
async function countTimedOut(): Promise<number> {
  const { rowCount } = await api.db.pool.query(
    `select from crm_connection where last_error = 'timeout'`,
  );
  return rowCount ?? 0;
}

test('a provider that hangs holds up no connection with another provider', async () => {
  const [hanging, fine] = [await startHanging('hubspot'), await startCrm('pipedrive')];
  for (const team of OTHERS) await add(team, hanging);
  await waitFor(await add('b', fine));
  expect(await countTimedOut()).toBeLessThan(OTHERS.length);
});

test('connections that hang hold up none that works, of the same provider', async () => {
  const [hanging, fine] = [await startHanging('pipedrive'), await startCrm('pipedrive')];
  for (const team of OTHERS) await add(team, hanging, { failures: 3 });
  const known = await add('a', fine);
  const fresh = await add('b', fine, { isNew: true });
  await waitFor(known, fresh);
  expect(await countTimedOut()).toBeLessThan(OTHERS.length);
});

test('imports without an end hold up no regular run, of the same provider', async () => {
  const [endless, fine] = [await startCrm('pipedrive'), await startCrm('pipedrive')];
  let pages = 0;
  endless.intercept = (request, response) => {
    if (request.path !== '/api/v2/deals') return false;
    pages += 1;
    const data = [{ id: pages, title: 'One', status: 'open', update_time: '2026-11-01T09:00:00Z' }];
    const page = { success: true, data, additional_data: { next_cursor: `page ${pages}` } };
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
    }, 200);
    return true;
  };
  for (let n = 0; n < 10; n += 1) await add('a', endless, { isNew: true });
  for (const team of OTHERS.slice(0, 5)) await add(team, endless, { isNew: true });
  await waitFor(await add('b', fine));
  const { rowCount } = await api.db.pool.query(
    'select from crm_connection where base_url = $1 and last_synced_at is not null',
    [endless.url],
  );
  expect(rowCount).toBe(0);
});

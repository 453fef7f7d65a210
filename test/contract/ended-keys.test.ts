// Every operation that changes something, with a key that ends while the call waits for a lock.
// Nothing is changed for it any more, whichever row it waits for.
import { beforeAll, expect, test } from 'vitest';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { LOCKED_TABLES } from '../../src/seed/remove-store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { auditOf } from '../support/audit.ts';
import { changeWhileWaiting } from '../support/locks.ts';
import { addDeliveries, seedForEveryEndpoint, teamOf, validRequest } from './requests.ts';

/** They go by what authentication found: `createAssignments` says why. */
const BY_AUTHENTICATION = ['assignments.create', 'assignments.createBatch'];

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: seedForEveryEndpoint(), allowPrivateTargets: true });
  await addDeliveries(api.db);
});

const changing = ENDPOINTS.filter(({ method }) => method !== 'GET');

test.each(changing.map((endpoint) => [endpoint.name, endpoint] as const))(
  '%s',
  async (name, it) => {
    const team = teamOf(it);
    const teamId = `team_${team}`;
    const locks = LOCKED_TABLES.map((table) => `select from ${table} where team_id = '${teamId}'`);
    const { method, path, body } = validRequest(it, team);
    const answer = await changeWhileWaiting(
      api,
      {
        lock: [`select from team where id = '${teamId}'`, ...locks]
          .map((lock) => `${lock} for update`)
          .join(';'),
        change: `update api_key set revoked_at = now() where team_id = '${teamId}'`,
      },
      () => api.call(api.key(teamId), method, path, body ? { body } : {}),
    );
    const goesThrough = BY_AUTHENTICATION.includes(name);
    expect(answer.status === 401).toBe(!goesThrough);
    expect((await auditOf(api, teamId)).length > 0).toBe(goesThrough);
  },
);

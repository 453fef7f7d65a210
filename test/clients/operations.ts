// What the programs that call every operation are run with, and what they print.
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { compileRoutes } from '../../src/http/api/routes.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi } from '../support/api.ts';

export const OPERATIONS = ENDPOINTS.map(({ name }) => name).toSorted();

type Run = (env: Readonly<Record<string, string>>) => Promise<unknown>;

/** Runs the program on the demo team. Resolves with the names of the operations that it calls. */
export async function operationsCalledBy(run: Run): Promise<string[]> {
  const api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets: true });
  const requests = (await run({
    API_URL: api.base,
    API_KEY: api.key(DEMO_TEAM_ID, 'demo'),
    TEST_KEY: api.key(DEMO_SANDBOX_ID, 'demo'),
  })) as string[];
  const matchRoute = compileRoutes(ENDPOINTS);
  const called = requests.map((request) => {
    const [method = '', path = ''] = request.split(' ');
    const match = matchRoute(method, path.slice(BASE_PATH.length));
    return match.kind === 'route' ? match.route.endpoint.name : request;
  });
  return [...new Set(called)].toSorted();
}

// The job of the guide `/docs/nightly`, in both languages, on the demo team: what it copies, what
// that costs, and what the client packages do by themselves when something fails.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { loadTestSeed, startApiProcess, startTestApi, type TestApi } from '../support/api.ts';
import { startLossyProxy } from '../support/lossy-proxy.ts';
import { makeDataDir } from '../support/ports.ts';
import { SKIPPED } from '../support/python.ts';
import { installRecipes, type Ended, type Recipes } from '../support/recipes.ts';
import { until } from '../support/until.ts';

const MINUTES = 60_000;
const FILES = [
  ['TypeScript', 'nightly.ts'],
  ['Python', 'nightly.py'],
] as const;

interface Copy {
  readonly at: string;
  readonly trainings: Record<string, { evaluation: { score: { total: number } } }>;
  readonly assignments: Record<string, { note: string | null }>;
  readonly members: Record<string, unknown>;
}

describe.skipIf(SKIPPED !== '')(`the nightly job${SKIPPED}`, { timeout: 5 * MINUTES }, () => {
  let api: TestApi;
  let recipes: Recipes;
  beforeAll(async () => {
    api = await startTestApi({ seed: demoSeedFile() });
    recipes = await installRecipes();
  }, 5 * MINUTES);
  const figures: string[] = [];
  afterAll(() => console.log(figures.join('\n')));

  const tell = (what: string, file: string, ended: Ended, requests: number | string): void => {
    const seconds = (ended.ms / 1000).toFixed(1);
    figures.push(`${what}, ${file}: ${requests} requests, ${seconds} s, exit ${ended.code}`);
  };
  /** Runs the job through a proxy. Returns what came of it. */
  const runJob = async (folder: string, file: string, apiUrl: string, key: string) => {
    const { ended } = await recipes.start(folder, file, {
      API_KEY: key,
      API_URL: apiUrl + BASE_PATH,
    });
    return ended;
  };
  const copyIn = async (folder: string): Promise<Copy> =>
    JSON.parse(await readFile(join(folder, 'copy.json'), 'utf8')) as Copy;
  const demoKey = () => api.key(DEMO_TEAM_ID, 'demo');
  const idsOf = async (path: string): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await api.call(demoKey(), 'GET', `${path}?limit=200${more}`);
      const page = body as { data: { id: string }[]; next_cursor: string | null };
      ids.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    return ids.toSorted();
  };

  it.each(FILES)('copies all, and then what has changed: %s', async (_name, file) => {
    const folder = await recipes.makeFolder();
    const proxy = await startLossyProxy(api.url);
    const first = await runJob(folder, file, proxy.url, demoKey());
    expect(first).toMatchObject({ code: 0, output: '' });
    tell('first run', file, first, proxy.requests.length);
    const copy = await copyIn(folder);
    expect(Object.keys(copy.trainings).toSorted()).toEqual(await idsOf('/evaluations'));
    expect(Object.keys(copy.trainings).length).toBeGreaterThan(200);
    expect(Object.keys(copy.assignments).toSorted()).toEqual(await idsOf('/assignments'));
    expect(Object.keys(copy.members).toSorted()).toEqual(await idsOf('/users'));
    for (const { evaluation } of Object.values(copy.trainings))
      expect(evaluation.score.total).toEqual(expect.any(Number));

    const [id = ''] = Object.keys(copy.assignments);
    const note = `Changed for ${file}`;
    const changed = await api.call(demoKey(), 'PATCH', `/assignments/${id}`, { body: { note } });
    expect(changed.status).toBe(200);
    const before = proxy.requests.length;
    const second = await runJob(folder, file, proxy.url, demoKey());
    const requests = proxy.requests.slice(before);
    tell('second run', file, second, requests.length);
    // One for each list: nothing else has changed.
    expect(requests.map(({ path }) => path.replace(/\?.*/, ''))).toEqual(
      ['/evaluations', '/assignments', '/users'].map((path) => BASE_PATH + path),
    );
    const again = await copyIn(folder);
    expect(again.assignments[id]?.note).toBe(note);
    expect(Object.keys(again.trainings)).toHaveLength(Object.keys(copy.trainings).length);
    expect(Date.parse(again.at)).toBeGreaterThan(Date.parse(copy.at));
  });

  it.each(FILES)('goes on after lost responses, a 429 and a 503: %s', async (_name, file) => {
    const folder = await recipes.makeFolder();
    const proxy = await startLossyProxy(api.url);
    proxy.losses.push('429', null, '503', 'reset before the headers', null, 'half of the body');
    const ended = await runJob(folder, file, proxy.url, demoKey());
    expect(ended.code).toBe(0);
    tell('429, 503 and two lost responses', file, ended, proxy.requests.length);
    expect(Object.keys((await copyIn(folder)).trainings).toSorted()).toEqual(
      await idsOf('/evaluations'),
    );
  });

  it.each(FILES)('waits for the next minute when the limit is reached: %s', async (_name, file) => {
    const limited = await startTestApi({ seed: demoSeedFile(), keyLimitPerMinute: 3 });
    const proxy = await startLossyProxy(limited.url);
    const folder = await recipes.makeFolder();
    // Two requests are left of this minute, and the job needs four.
    const { headers } = await limited.call(limited.key(DEMO_TEAM_ID, 'demo'), 'GET', '/me');
    const leftS = Number(headers['ratelimit-reset']);
    if (leftS < 10) await delay(leftS * 1000 + 1000);
    const ended = await runJob(folder, file, proxy.url, limited.key(DEMO_TEAM_ID, 'demo'));
    expect(ended.code).toBe(0);
    tell('limit of 3 requests a minute', file, ended, proxy.requests.length);
    expect(proxy.requests.length).toBeGreaterThan(4);
    expect(Object.keys((await copyIn(folder)).members).length).toBeGreaterThan(5);
    await limited.stop();
  });

  it.each(FILES)('keeps its old place if the API stays away: %s', async (_name, file) => {
    const folder = await recipes.makeFolder();
    const proxy = await startLossyProxy(api.url);
    await runJob(folder, file, proxy.url, demoKey());
    const copy = await readFile(join(folder, 'copy.json'), 'utf8');
    const before = proxy.requests.length;
    proxy.losses.push(null, '503', '503', '503', '503', '503');
    const ended = await runJob(folder, file, proxy.url, demoKey());
    tell('503 five times', file, ended, proxy.requests.length - before);
    expect(ended.code).toBe(1);
    expect(ended.output).toContain('unavailable');
    expect(proxy.requests.length - before).toBe(6);
    expect(await readFile(join(folder, 'copy.json'), 'utf8')).toBe(copy);
  });

  it.each(FILES)('bridges a database that is stopped for seconds: %s', async (_name, file) => {
    const dataDir = await makeDataDir('nightly');
    const settings = { fsync: 'off' };
    let postgres = await startEmbedded({ dataDir, settings });
    try {
      await migrate(postgres.databaseUrl);
      const { teams } = await loadTestSeed({ url: postgres.databaseUrl }, demoSeedFile());
      const key = teams[DEMO_TEAM_ID]?.api_keys['demo'] ?? '';
      const running = await startApiProcess(postgres.databaseUrl);
      const proxy = await startLossyProxy(running.url);
      const folder = await recipes.makeFolder();
      await postgres.stop();
      const job = runJob(folder, file, proxy.url, key);
      await until(() => proxy.requests.length > 0);
      await delay(2_000);
      postgres = await startEmbedded({ dataDir, settings });
      const ended = await job;
      tell('database stopped for 2 s and its start', file, ended, proxy.requests.length);
      expect(ended.code).toBe(0);
      expect(Object.keys((await copyIn(folder)).trainings).length).toBeGreaterThan(200);
      await running.kill('SIGTERM');
    } finally {
      await postgres.stop();
    }
  });
});

// The job of the guide `/docs/nightly`, in both languages, on the demo team: what it copies, what
// that costs, and what the client packages do by themselves when something fails.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { POLL_OVERLAP_MIN } from '../../src/core/polling.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { loadTestSeed, startTestApi, type TestApi } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { startLossyProxy } from '../support/lossy-proxy.ts';
import { describeEvaluation, platformOf, type Platform } from '../support/platform.ts';
import { makeDataDir } from '../support/ports.ts';
import { SKIPPED } from '../support/python.ts';
import { installRecipes, type Ended, type Recipes } from '../support/recipes.ts';
import { until } from '../support/until.ts';

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

describe.skipIf(SKIPPED !== '')(`the nightly job${SKIPPED}`, () => {
  let api: TestApi;
  let recipes: Recipes;
  let platform: Platform;
  let scoring: Platform;
  beforeAll(async () => {
    api = await startTestApi({ seed: demoSeedFile() });
    recipes = await installRecipes();
    platform = await platformOf(api);
    scoring = await platformOf(api, 'scoring');
  });
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
    const began = Math.floor(Date.now() / 1000) * 1000;
    const first = await runJob(folder, file, proxy.url, demoKey());
    expect(first).toMatchObject({ code: 0, output: '' });
    tell('first run', file, first, proxy.requests.length);
    const copy = await copyIn(folder);
    // The time of a response has whole seconds.
    expect(Date.parse(copy.at) % 1000).toBe(0);
    expect(Date.parse(copy.at)).toBeGreaterThanOrEqual(began);
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
      ['/users', '/evaluations', '/assignments'].map((path) => BASE_PATH + path),
    );
    const asked = requests.flatMap(({ path }) => {
      const since = new URLSearchParams(path.replace(/.*\?/, '')).get('updated_since');
      return since === null ? [] : [Date.parse(since)];
    });
    const since = Date.parse(copy.at) - POLL_OVERLAP_MIN * 60_000;
    expect(asked).toEqual([since, since]);
    const again = await copyIn(folder);
    expect(again.assignments[id]?.note).toBe(note);
    expect(Object.keys(again.trainings)).toHaveLength(Object.keys(copy.trainings).length);
    expect(Date.parse(again.at)).toBeGreaterThanOrEqual(Date.parse(copy.at));
  });

  it.each(FILES)('reads anew the results of a person who comes back: %s', async (name, file) => {
    const folder = await recipes.makeFolder();
    const proxy = await startLossyProxy(api.url);
    /** Runs the job and returns the copy, and what it read of single persons. */
    const copyOf = async () => {
      const before = proxy.requests.length;
      expect(await runJob(folder, file, proxy.url, demoKey())).toMatchObject({ code: 0 });
      const ofPersons = proxy.requests
        .slice(before)
        .filter(({ path }) => path.includes('/trainings'))
        .map(({ path }) => new URLSearchParams(path.replace(/.*\?/, '')).get('user_id'));
      return { ...(await copyIn(folder)), ofPersons };
    };
    const call = (method: string, path: string, body?: object) =>
      api.call(demoKey(), method, path, body && { body });
    const email = `back-${name.toLowerCase()}@example.com`;
    const userId = `usr_back_${name}`;
    const trainingId = `trn_back_${name}`;
    const join = async (): Promise<string> => {
      const { id } = (await call('POST', '/users', { email })).body as { id: string };
      return id;
    };
    const accept = (id: string) =>
      platform.members.accept.mutate({ team_id: DEMO_TEAM_ID, user_id: userId, member_id: id });

    const first = await join();
    await accept(first);
    expect((await copyOf()).ofPersons).toEqual([]);
    // They leave before the night in which their result would have been copied.
    const finished_at = new Date().toISOString();
    const created_at = new Date(Date.now() - 900_000).toISOString();
    const training = { team_id: DEMO_TEAM_ID, training_id: trainingId, user_id: userId };
    await platform.trainings.end.mutate({ ...training, created_at, finished_at });
    const evaluation = describeEvaluation('demo', trainingId, 64, finished_at);
    await scoring.evaluations.save.mutate({ ...evaluation, team_id: DEMO_TEAM_ID });
    expect((await call('DELETE', `/users/${first}`)).status).toBe(200);
    // Two days pass.
    await api.db.pool.query(
      `update evaluation
       set stored_at = stored_at - interval '2 days'
       where training_id = $1`,
      [trainingId],
    );
    const gone = await copyOf();
    expect(gone.members).not.toHaveProperty(first);
    expect(gone.trainings).not.toHaveProperty(trainingId);

    const again = await join();
    const invited = await copyOf();
    expect(invited.members).toHaveProperty(again);
    expect(invited.trainings).not.toHaveProperty(trainingId);
    expect(invited.ofPersons).toEqual([]);

    await accept(again);
    const back = await copyOf();
    expect(back.ofPersons).toEqual([userId]);
    expect(back.trainings[trainingId]?.evaluation.score.total).toBe(64);
    expect((await copyOf()).ofPersons).toEqual([]);
    expect((await call('DELETE', `/users/${again}`)).status).toBe(200);
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

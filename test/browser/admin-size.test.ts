// A team of a hundred and one of ten thousand, in the same database: no page is slower or larger
// for the larger one. The fastest loads are compared, which take turns: a busy machine only adds to
// them, and there are more loads while it does.
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { PATHS } from '../support/admin-paths.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam, type TeamSeed } from '../support/seed.ts';

/** All pages without parameters, and those on which a reader looks for somebody. */
const PLAIN_PATHS = PATHS.filter((path) => !path.includes('$'));
const SEARCHES = ['/members?text=hoffmann', '/members?sort=address', '/members?sort=role'];
const COUNTS = { small: 100, large: 10_000 } as const;
type Team = keyof typeof COUNTS;
const TEAMS = Object.keys(COUNTS) as Team[];

const LOADS = { min: 3, max: 12 };
const NODES_MAX = 3_000;
/** Two hundred admins at most are read while a team has its first steps before it. */
const BYTES_MAX = 10_000;
/** A page may be so much slower: seats are counted, and results made of each member's. */
const TIME_FACTOR = 1.5;
const TIME_SLACK_MS = 250;
const TIMEOUT_MS = 600_000;

/** The members and their results, and a plan that has seats for them. */
const teamOf = (name: Team): TeamSeed =>
  makeTeam(name, {
    plan: 'enterprise',
    seats: 20_000,
    generate: {
      members: COUNTS[name],
      trainings: 3 * COUNTS[name],
      from: new Date(Date.now() - 84 * 86_400_000).toISOString(),
      to: new Date().toISOString(),
    },
  });

interface Load {
  readonly ms: number;
  readonly nodes: number;
  readonly requests: number;
  readonly bytes: number;
}

describe.skipIf(SKIPPED !== '')(`the admin page: the size of a team${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed(TEAMS.map(teamOf)) });
    await api.db.pool.query('analyze');
    browser = await launchBrowser();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  /** Loads a page anew, until all that it shows is there, and all that it has asked for. */
  const load = async (page: Page, path: string): Promise<Load> => {
    const answers: Promise<number>[] = [];
    const count = (request: Request) => {
      if (request.url().includes('/trpc/')) answers.push(bytesOf(request));
    };
    page.on('request', count);
    const startedAt = performance.now();
    await page.goto(`${api.url}/admin${path}`);
    await page.locator('h1').first().waitFor();
    await settle(page);
    const ms = performance.now() - startedAt;
    page.off('request', count);
    const bytes = (await Promise.all(answers)).reduce((sum, one) => sum + one, 0);
    const nodes = await page.locator('*').count();
    return { ms, nodes, requests: answers.length, bytes };
  };

  const compare = async (
    pages: ReadonlyMap<Team, Page>,
    path: string,
  ): Promise<Record<Team, Load>> => {
    const loads: Record<Team, Load[]> = { small: [], large: [] };
    const fastest = (team: Team) => Math.min(...loads[team].map(({ ms }) => ms));
    while (
      loads.small.length < LOADS.min ||
      (isSlower(fastest('small'), fastest('large')) && loads.small.length < LOADS.max)
    )
      for (const [team, page] of pages) loads[team].push(await load(page, path));
    const largest = (team: Team, name: keyof Load) =>
      Math.max(...loads[team].map((one) => one[name]));
    const of = (team: Team): Load => ({
      ms: Math.round(fastest(team)),
      nodes: largest(team, 'nodes'),
      requests: largest(team, 'requests'),
      bytes: largest(team, 'bytes'),
    });
    return { small: of('small'), large: of('large') };
  };

  it(
    'changes neither the time nor the bytes nor the nodes of any page',
    async () => {
      const pages = new Map<Team, Page>();
      for (const team of TEAMS)
        pages.set(team, (await openAdminPage(browser, api, { path: '/', team })).page);
      const faults: Record<string, unknown> = {};
      for (const path of [...PLAIN_PATHS, ...SEARCHES]) {
        const { small, large } = await compare(pages, path);
        console.log(path, JSON.stringify({ small, large }));
        if (
          isSlower(small.ms, large.ms) ||
          large.nodes > NODES_MAX ||
          large.bytes > BYTES_MAX ||
          large.requests !== small.requests
        )
          faults[path] = { small, large };
      }
      expect(faults).toEqual({});
    },
    TIMEOUT_MS,
  );

  it(
    'finds one of ten thousand as fast as one of a hundred, where a person is chosen',
    async () => {
      const times: Record<Team, number[]> = { small: [], large: [] };
      for (const team of TEAMS) {
        const { page } = await openAdminPage(browser, api, { path: '/catalog', team });
        await settle(page);
        const who = page.getByLabel('Policy for');
        const { rows } = await api.db.pool.query<{ email: string }>(
          `select email from member
           where team_id = $1 and status = 'active' and email like '%generated.example'
           order by id
           limit ${LOADS.max}`,
          [`team_${team}`],
        );
        expect(rows).toHaveLength(LOADS.max);
        for (const { email } of rows) {
          await who.fill('');
          const startedAt = performance.now();
          await who.fill(email);
          await page.locator(`datalist option[value="${email}"]`).waitFor({ state: 'attached' });
          times[team].push(performance.now() - startedAt);
        }
        expect(await page.locator('*').count()).toBeLessThan(NODES_MAX);
      }
      const [small, large] = [Math.min(...times.small), Math.min(...times.large)];
      console.log('a person is chosen', JSON.stringify({ small, large }));
      expect(isSlower(small, large)).toBe(false);
    },
    TIMEOUT_MS,
  );
});

function isSlower(smallMs: number, largeMs: number): boolean {
  return largeMs > TIME_FACTOR * smallMs + TIME_SLACK_MS;
}

async function bytesOf(request: Request): Promise<number> {
  await request.response();
  return (await request.sizes()).responseBodySize;
}

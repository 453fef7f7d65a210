// How soon the admin page shows something: the first paint, the first text, and the heading of the
// overview, in a browser that has seen nothing yet, with a processor that is four times as slow and
// a line of 10 Mbit/s. Do not run anything else on the machine meanwhile.
//   node --import ./src/runtime/node-version.js scripts/bench/first-paint.ts [ADDRESS]
// The address is that of `npm start`, whose development sign-in is used.
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../../test/support/browser.ts';
import { atMost, median, printFigures, printHeading } from './report.ts';

const RUNS = 9;
const SLOWER = 4;
const BYTES_PER_SECOND = 10_000_000 / 8;
/** A round trip to a server in the same country. */
const LATENCY_MS = 20;
const TARGET = atMost(500, ' ms');

const service = process.argv[2] ?? 'http://127.0.0.1:3000';
const browser = await launchBrowser();
try {
  const runs: Moments[] = [];
  for (let run = 0; run < RUNS; run += 1) runs.push(await measure(browser));
  printHeading('Admin page, nothing cached', ['median', 'slowest', 'budget']);
  const paint = median(runs.map((run) => run.paint));
  const figures = (moment: keyof Moments) => {
    const values = runs.map((run) => run[moment]);
    return [`${Math.round(median(values))} ms`, `${Math.round(Math.max(...values))} ms`];
  };
  printFigures('first paint', figures('paint'), { value: paint, target: TARGET });
  printFigures('first paint with content', figures('content'));
  printFigures('heading of the overview', figures('heading'));
  if (!TARGET.isMet(paint)) process.exitCode = 1;
} finally {
  await browser.close();
}

/** In milliseconds after the browser was sent there. The first paint has no text yet. */
interface Moments {
  readonly paint: number;
  readonly content: number;
  readonly heading: number;
}

async function measure(of: Browser): Promise<Moments> {
  const context = await of.newContext();
  const page = await context.newPage();
  const listed = await page.request.get(`${service}/trpc-session/development`);
  const { people } = (await listed.json()) as { people: readonly { user_id: string }[] };
  const login = await page.request.post(
    `${service}/trpc-session/development/${people[0]?.user_id ?? ''}`,
  );
  const { token } = (await login.json()) as { token: string };
  const headers = { authorization: `Bearer ${token}` };
  await page.request.post(`${service}/trpc-session`, { headers });
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: BYTES_PER_SECOND,
    uploadThroughput: BYTES_PER_SECOND,
  });
  await page.goto(`${service}/admin`);
  await page.locator('h1').waitFor();
  const heading = await page.evaluate<number>('performance.now()');
  // The heading may be there before it was painted.
  await page.waitForFunction(`performance.getEntriesByName('first-contentful-paint').length > 0`);
  const [paint = Number.NaN, content = Number.NaN] = await page.evaluate<number[]>(
    `['first-paint', 'first-contentful-paint']
       .map((name) => performance.getEntriesByName(name)[0].startTime)`,
  );
  await context.close();
  return { paint, content, heading };
}

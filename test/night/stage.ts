// One round of a night: `scripts/night.ts` runs this as the only file of a run of Vitest. It starts
// the site, breaks it, tells what the operator on call is told, and waits for the end.
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { untilFiring } from '../deploy/prometheus.ts';
import { until } from '../support/until.ts';
import { FAULTS } from './faults.ts';
import { startSite } from './site.ts';

/** How long all is well before something breaks. */
const QUIET_MS = 10_000;

test('a round of the night', { timeout: 0 }, async (context) => {
  const folder = process.env['NIGHT_FOLDER'] ?? '';
  const fault = FAULTS[process.env['NIGHT_FAULT'] ?? ''];
  if (!fault) throw new Error('scripts/night.ts starts this, and names a fault');
  const site = await startSite(context, folder);
  // Tests have none, and the doctor would say so.
  await site.pool.query('alter system set autovacuum = on');
  await site.pool.query('select pg_reload_conf()');
  const settings = Object.entries(site.environment).map(([name, value]) => `${name}='${value}'\n`);
  await writeFile(join(folder, 'environment'), settings.join(''));
  await delay(QUIET_MS);
  const complaint = await fault.breakIt(site);
  if (complaint === null && fault.signs.alert)
    await untilFiring(site.prometheus, fault.signs.alert);
  const alerts = (await site.prometheus.firing()).filter((name) => name !== 'Watchdog');
  const called = complaint ?? `alerts that fire: ${[...new Set(alerts)].join(', ')}`;
  expect(called).not.toBe('');
  const page = `It is ${new Date().toISOString()}. You are called.

${called}

${site.description}
settings    ${join(folder, 'environment')}
`;
  await writeFile(join(folder, 'page.new'), page);
  await rename(join(folder, 'page.new'), join(folder, 'page.txt'));
  await until(async () => {
    await delay(500);
    return existsSync(join(folder, 'stop'));
  });
});

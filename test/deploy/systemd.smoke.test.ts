// The systemd units, as systemd itself reads them.
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/runtime/config.ts';
import { TEST_APP_SECRET } from '../support/api.ts';
import { because, run, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const INSTALLED = '/opt/team-customer-api/current';
/** systemd's own measure, from 0 (confined) to 100 (a program that may do everything). */
const MOST_EXPOSED = 40;
const reason = whyNot(['systemd-analyze']);

describe.skipIf(reason !== null)(`the systemd units${because(reason)}`, () => {
  let folder: string;
  let units: string[];

  beforeAll(async () => {
    folder = await makeFolder('units');
    await cp(join(root, 'scripts/deploy/systemd'), folder, { recursive: true });
    units = (await readdir(folder)).map((name) => join(folder, name));
    // systemd checks that the program exists.
    for (const unit of units) {
      const text = await readFile(unit, 'utf8');
      await writeFile(unit, text.replaceAll(`${INSTALLED}/`, root));
    }
  });

  test('have no fault', async () => {
    expect(units).toHaveLength(3);
    for (const unit of units) {
      const instance = unit.replace('@.', '@3000.');
      if (instance !== unit) await cp(unit, instance);
      // It warns on standard error, and succeeds.
      const verify = ['-c', 'exec systemd-analyze verify --man=no "$1" 2>&1', 'sh', instance];
      expect(await run('sh', verify)).toBe('');
    }
  });

  test("take the runbook's drop-in for secrets in files", async () => {
    const runbook = await readFile(join(root, 'scripts/deploy/README.md'), 'utf8');
    const [, block = ''] = /```ini\n([^]*?)```/.exec(runbook) ?? [];
    expect(block).toContain('LoadCredential=');
    const unit = join(folder, 'team-customer-api@3000.service');
    await cp(join(folder, 'team-customer-api@.service'), unit);
    await mkdir(`${unit}.d`);
    await writeFile(join(`${unit}.d`, 'secrets.conf'), block.replaceAll(/^ +/gm, ''));
    const verify = ['-c', 'exec systemd-analyze verify --man=no "$1" 2>&1', 'sh', unit];
    expect(await run('sh', verify)).toBe('');
    const wrong = block.replace('LoadCredential', 'LoadCredentials');
    await writeFile(join(`${unit}.d`, 'secrets.conf'), wrong.replaceAll(/^ +/gm, ''));
    expect(await run('sh', verify)).toContain('LoadCredentials');
  });

  test('leave their process few rights', async () => {
    for (const unit of units) {
      const limit = ['--offline=true', `--threshold=${MOST_EXPOSED}`];
      const said = await run('systemd-analyze', ['security', ...limit, unit]);
      expect(said).toContain('Overall exposure level');
    }
  });

  test('let a worker refuse to start without a mail server', async () => {
    const unit = await readFile(join(folder, 'team-customer-api-worker@.service'), 'utf8');
    const [, settings = ''] = /^Environment=(.+)$/m.exec(unit) ?? [];
    const env = Object.fromEntries(settings.split(' ').map((one) => one.split('=')));
    const required = { DATABASE_URL: 'postgres://127.0.0.1/app', APP_SECRET: TEST_APP_SECRET };
    const all = { ...required, ...env, METRICS_PORT: '14001' };
    expect(() => parseConfig(all, { mail: true })).toThrow('SMTP_URL is required');
  });

  test('give a process longer to stop than it may take', async () => {
    for (const unit of units.filter((name) => name.includes('@')))
      expect(await readFile(unit, 'utf8')).toContain('TimeoutStopSec=30');
  });
});

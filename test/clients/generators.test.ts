// What other people's tools make of the document that a running service serves: linters find
// nothing, and generators make clients that compile and that call the service.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'vite';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeFolder } from '../support/folder.ts';
import { GENERATORS } from './programs.ts';
import { IBM_RULES_OFF } from './ibm-rules.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const MINUTES = 60_000;

let api: TestApi;
let folder: string;
beforeAll(async () => {
  api = await startTestApi({ seed: demoSeedFile() });
  folder = await makeFolder('generators');
  const document = await fetch(`${api.base}/openapi.v1.json`);
  await writeFile(join(folder, 'openapi.v1.json'), await document.text());
}, 2 * MINUTES);

/** Installs packages into a folder of its own, beside the document. */
async function install(name: string, packages: readonly string[]): Promise<string> {
  const project = join(folder, `with-${name}`);
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  await run('cp', [join(folder, 'openapi.v1.json'), project]);
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], {
    cwd: project,
  });
  return project;
}

/** Runs a command of an installed package. Returns what it wrote. */
async function runBin(project: string, [name = '', ...args]: readonly string[]): Promise<string> {
  const { stdout } = await run(join(project, 'node_modules/.bin', name), args, {
    cwd: project,
    maxBuffer: 64 << 20,
    env: {
      ...process.env,
      REDOCLY_TELEMETRY: 'off',
      PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
    },
  });
  return stdout;
}

describe('linters', { timeout: 10 * MINUTES }, () => {
  it('find nothing: the strict rules of Redocly', async () => {
    const project = await install('redocly', ['@redocly/cli@2.77.0']);
    const args = ['lint', 'openapi.v1.json', '--extends', 'recommended-strict', '--format', 'json'];
    const output = await runBin(project, ['redocly', ...args]).catch(
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    const { totals, problems } = JSON.parse(output) as {
      readonly totals: object;
      readonly problems: readonly object[];
    };
    expect(problems).toEqual([]);
    expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
  });

  it('find nothing: Spectral, and the rules of IBM but for those listed', async () => {
    const project = await install('spectral', [
      '@stoplight/spectral-cli@6.16.3',
      '@ibm-cloud/openapi-ruleset@1.33.15',
    ]);
    const off = Object.keys(IBM_RULES_OFF).map((rule) => `  ${rule}: off\n`);
    const ruleset = `extends: ['spectral:oas', '@ibm-cloud/openapi-ruleset']
rules:
${off.join('')}`;
    await writeFile(join(project, 'rules.yaml'), ruleset);
    const args = ['lint', '-r', 'rules.yaml', '-q', '-f', 'json', 'openapi.v1.json'];
    const output = await runBin(project, ['spectral', ...args]).catch(
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    const found = JSON.parse(output) as {
      code: string;
      message: string;
      path: string[];
    }[];
    expect(found.map(({ code, message, path }) => `${code}: ${message} ${path.join('.')}`)).toEqual(
      [],
    );
  });
});

describe.each(Object.entries(GENERATORS))('%s', { timeout: 10 * MINUTES }, (name, generator) => {
  it('makes a client that compiles and calls the service', async () => {
    const project = await install(name, generator.packages);
    const { config, command, program } = generator;
    if (config) await writeFile(join(project, config[0]), config[1]);
    await runBin(project, command);
    await writeFile(join(project, name, 'program.ts'), program);

    const options = {
      compilerOptions: COMPILER_OPTIONS,
      files: ['node.d.ts', `${name}/program.ts`],
    };
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify(options));
    await writeFile(join(project, 'node.d.ts'), NODE_TYPES);
    const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
    const complaint = await run(process.execPath, [tsc, '-p', project]).then(
      () => '',
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    expect(complaint).toBe('');

    await build({
      root: project,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: { ssr: join(name, 'program.ts'), outDir: 'built', target: 'esnext' },
    });
    const key = api.key(DEMO_TEAM_ID, 'demo');
    const { stdout } = await run(process.execPath, [join(project, 'built/program.js')], {
      env: { ...process.env, API_URL: api.base, API_KEY: key },
    });
    const listed = await api.call(key, 'GET', '/users?limit=4');
    expect(JSON.parse(stdout)).toEqual({
      team: DEMO_TEAM_ID,
      members: (listed.body as { data: { id: string }[] }).data.map(({ id }) => id),
      known: true,
      same: true,
      code: 'not_found',
    });
  });
});

const COMPILER_OPTIONS = {
  target: 'esnext',
  lib: ['es2024', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  types: [],
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

/** All that the programs need of Node. */
const NODE_TYPES = `declare module 'node:process' {
  const process: { env: Record<string, string | undefined> };
  export default process;
}
`;

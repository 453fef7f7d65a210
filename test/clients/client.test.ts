// Our client package, as a customer gets it: the tarball, installed into an empty folder, in each
// runtime that npm can install. `client.smoke` has Node.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'vite';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { OPERATIONS, operationsCalledBy } from './operations.ts';
import { installTypeScriptClient, VERDICTS, verdictsOf } from './typescript.ts';
import type { TypeScriptClient } from './typescript.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const MINUTES = 60_000;

let client: TypeScriptClient;
let project: string;
let tarball: string;
beforeAll(async () => {
  client = await installTypeScriptClient('deno@2.9.6', 'bun@1.4.5');
  ({ project, tarball } = client);
}, 10 * MINUTES);

const bin = (name: string): string => join(project, 'node_modules/.bin', name);
const RUNTIMES: readonly (readonly [string, () => readonly string[]])[] = [
  ['Deno', () => [bin('deno'), 'run', '--allow-all', '--quiet']],
  // Without its install script the command of the package is not there yet.
  ['Bun', () => [join(project, 'node_modules/@oven', bunOfThisMachine(), 'bin/bun')]],
];

function bunOfThisMachine(): string {
  const [name = ''] = readdirSync(join(project, 'node_modules/@oven'));
  return name;
}

describe('the package', { timeout: 10 * MINUTES }, () => {
  it('needs no other package, and holds nothing of the service', async () => {
    const folder = join(project, 'node_modules/@team-customer-api/client');
    const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    expect(dependencies).toBeUndefined();
    expect((await stat(tarball)).size).toBeLessThan(100_000);
    expect((await readdir(folder)).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
    ]);
  });

  it('types every operation, and refuses wrong calls', async () => {
    // The samples of the README are one program.
    const readme = join(project, 'node_modules/@team-customer-api/client/README.md');
    const text = await readFile(readme, 'utf8');
    expect(text).not.toContain('<!--');
    const samples = text.matchAll(/```ts\n(.*?)```/gs);
    const code = [...samples].map(([, sample]) => sample);
    expect(code.length).toBeGreaterThan(3);
    await writeFile(join(project, 'readme.ts'), code.join('\n'));
    const files = ['program.ts', 'readme.ts', 'node.d.ts'];
    await writeFile(join(project, 'node.d.ts'), NODE_TYPES);
    for (const tsc of ['typescript', 'typescript-native'])
      for (const [module, moduleResolution] of [
        ['nodenext', 'nodenext'],
        ['esnext', 'bundler'],
      ]) {
        const compilerOptions = { ...COMPILER_OPTIONS, module, moduleResolution };
        await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
        const args = [join(root, 'node_modules', tsc, 'bin/tsc'), '-p', project];
        const complaint = await run(process.execPath, args).then(
          () => '',
          (error: unknown) => (error as { stdout: string }).stdout,
        );
        expect(complaint).toBe('');
      }
  });

  it.each(RUNTIMES)('calls every operation from %s', async (_name, runtime) => {
    const run = (env: Readonly<Record<string, string>>) => client.run(runtime(), 'program.ts', env);
    expect(await operationsCalledBy(run)).toEqual(OPERATIONS);
  });

  it.each(RUNTIMES)('verifies deliveries of our sender in %s', async (_name, runtime) => {
    expect(await verdictsOf(client, runtime())).toEqual(VERDICTS);
  });

  /** Returns the program with what it imports. */
  const bundle = async (name: string, code: string): Promise<string> => {
    await writeFile(join(project, `${name}.js`), code);
    await build({
      root: project,
      configFile: false,
      logLevel: 'error',
      build: {
        outDir: `bundle-${name}`,
        target: 'es2022',
        lib: { entry: `${name}.js`, formats: ['es'], fileName: name },
      },
    });
    return readFile(join(project, `bundle-${name}`, `${name}.js`), 'utf8');
  };

  it.skipIf(SKIPPED !== '')(`verifies a delivery in a browser, bundled${SKIPPED}`, async () => {
    const body = JSON.stringify(eventExample('member.joined'));
    const sign = (secret: string) =>
      deliveryHeaders(body, { keys: [signingKeyOf(secret)], eventId: 'evt_01', at: new Date() });
    const script = await bundle(
      'browser',
      `import { verifyWebhook } from '@team-customer-api/client';
       globalThis.verify = (body, headers) =>
         verifyWebhook(body, new Headers(headers), 'whsec_x').then(
           (event) => event.type,
           (error) => error.reason,
         );`,
    );
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    // Web Crypto is only where the page is secure.
    await page.route('https://page.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>A page</title>' }),
    );
    await page.goto('https://page.example/');
    await page.addScriptTag({ content: script, type: 'module' });
    // A module runs after its tag was added.
    await page.waitForFunction('globalThis.verify');
    const verify = (headers: object) =>
      page.evaluate(`verify(${JSON.stringify(body)}, ${JSON.stringify(headers)})`);
    expect(await verify(sign('whsec_x'))).toBe('member.joined');
    expect(await verify(sign('whsec_forged'))).toBe('signature_mismatch');
  });

  it('leaves out of a bundle what is not imported', async () => {
    const sizeOf = async (name: string, code: string): Promise<number> =>
      (await bundle(name, code)).length;
    const from = `from '@team-customer-api/client';`;
    const webhook = await sizeOf('webhook', `export { verifyWebhook } ${from}`);
    const whole = await sizeOf('whole', `export * ${from}`);
    const calls = await sizeOf('calls', `export { createClient } ${from}`);
    const none = await sizeOf('none', `import '@team-customer-api/client'; export const a = 1;`);
    expect(none).toBeLessThan(100);
    expect(webhook).toBeLessThan(4_000);
    expect(calls).toBeLessThan(14_000);
    expect(whole).toBeLessThan(20_000);
    console.log(`verifyWebhook: ${webhook}, createClient: ${calls}, all: ${whole} bytes`);
  });
});

const COMPILER_OPTIONS = {
  target: 'es2022',
  lib: ['es2022', 'dom'],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
};

/** All that the programs need of Node. */
const NODE_TYPES = `declare const process: { env: Record<string, string | undefined> };
declare module 'node:process' {
  export const env: Record<string, string | undefined>;
}
`;

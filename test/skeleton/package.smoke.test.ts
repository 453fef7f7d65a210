// The package for receivers of webhooks, used as they use it: `npm pack` output, unpacked into
// node_modules of another project, from plain JavaScript. The samples of /docs/webhooks run there
// against deliveries that our own sender makes.
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'vite';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { EVENT_TYPES } from '../../src/core/events.ts';
import type { AttemptResult } from '../../src/delivery/attempt-result.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import { COMMAND, PACKAGE_NAME, tarballOf } from '../../src/client/package-name.ts';
import type { WebhookEvent } from '../../src/client/webhook-verification.ts';
import { makeFolder } from '../support/folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const samples = join(root, 'src/docs/examples');
const run = promisify(execFile);

/** The Node that runs the tests, and another one that this machine has. */
const NODES: [version: string, path: string][] = [process.execPath, '/usr/bin/node']
  .filter((path) => existsSync(path))
  .map((path) => [spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.trim(), path]);

const SECRET = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';
const BODY = JSON.stringify(eventExample('evaluation.completed'));
/** What the frame's helper may add to a page of the host application, minified, in bytes. */
const HELPER_MAX_BYTES = 2_048;

const pingOperation = {
  post: { requestBody: { content: { 'application/json': { example: eventExample('ping') } } } },
};

type Receive = (
  request: IncomingMessage,
  response: ServerResponse,
  secret: string,
  keep: (event: WebhookEvent) => Promise<void>,
) => Promise<void>;

let project: string;
let packed: string[];
/** The unpacked client package. */
let client: string;
let receiveWebhook: Receive;

beforeAll(async () => {
  project = await makeFolder('receiver');
  // Not by plain `npm pack`: its `prepare` would regenerate Prisma's client while other tests use
  // it.
  await npm('run', 'prepack');
  const said = await npm('pack', '--ignore-scripts', '--json', '--pack-destination', project);
  const [tarball] = JSON.parse(said) as [{ filename: string; files: { path: string }[] }];
  packed = tarball.files.map((file) => file.path);
  const folder = join(project, 'node_modules/team-customer-api');
  await mkdir(folder, { recursive: true });
  await run('tar', ['-xzf', join(project, tarball.filename), '-C', folder, '--strip-components=1']);
  await unpackClient();
  await writeFile(join(project, 'package.json'), '{"name":"receiver","type":"module"}');
  await cp(samples, project, { recursive: true });
  const sample = (await import(
    /* @vite-ignore */ pathToFileURL(join(project, 'receive-webhook.js')).href
  )) as {
    receiveWebhook: Receive;
  };
  receiveWebhook = sample.receiveWebhook;
});

/** The package of customers, which the samples import. */
async function unpackClient(): Promise<void> {
  const built = join(project, 'built');
  await run(process.execPath, [join(root, 'scripts/build-client.ts'), built], { cwd: root });
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  client = join(project, 'node_modules', PACKAGE_NAME);
  await mkdir(client, { recursive: true });
  await run('tar', ['-xzf', join(built, tarballOf(version)), '-C', client, '--strip-components=1']);
}

/** Runs the npm that runs the tests, or else the one of PATH. */
async function npm(...args: string[]): Promise<string> {
  const path = process.env['npm_execpath'];
  const { stdout } = path
    ? await run(process.execPath, [path, ...args], { cwd: root })
    : await run('npm', args, { cwd: root });
  return stdout;
}

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((done) => server.once('listening', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

/** Starts the sample receiver of the documentation. */
async function startSample(store = async (): Promise<void> => undefined): Promise<{
  url: string;
  kept: WebhookEvent[];
  handled: Promise<void>[];
}> {
  const kept: WebhookEvent[] = [];
  const handled: Promise<void>[] = [];
  const keep = async (event: WebhookEvent): Promise<void> => {
    await store();
    kept.push(event);
  };
  const url = await listen(
    (request, response) => void handled.push(receiveWebhook(request, response, SECRET, keep)),
  );
  return { url, kept, handled };
}

/** Makes one attempt as the worker makes it. */
async function deliver(
  url: string,
  { body = BODY, secrets = [SECRET], at = new Date() } = {},
): Promise<AttemptResult> {
  const sender = createSender({ allowPrivateTargets: true, timeoutMs: 5_000 });
  onTestFinished(() => sender.close());
  return sender.send(
    url,
    deliveryHeaders(BODY, { keys: secrets.map(signingKeyOf), eventId: 'evt_01', at }),
    body,
  );
}

/** Returns a delivery of our sender, as a receiver gets it. */
async function capture(
  options: Parameters<typeof deliver>[1] = {},
): Promise<{ headers: IncomingMessage['headers']; body: Buffer }> {
  const { promise, resolve } = Promise.withResolvers<{
    headers: IncomingMessage['headers'];
    body: Buffer;
  }>();
  const url = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.end();
      resolve({ headers: request.headers, body: Buffer.concat(chunks) });
    });
  });
  await deliver(url, options);
  return promise;
}

describe('the package', () => {
  it('holds the verification of webhooks, the command, and nothing of the service', () => {
    expect(packed.toSorted()).toEqual([
      'LICENSE',
      'README.md',
      ...[
        'ask',
        'base-url',
        'client',
        'command-options',
        'command',
        'error-texts',
        'errors',
        'follow-events',
        'forward',
        'hooks',
        'kept-secret',
        'listen',
        'operations',
        'output',
        'package-name',
        'paging',
        'play',
        'request',
        'retries',
        'retry-after',
        'run-command',
        'time-limit',
        'trigger',
        'webhook-delivery',
        'webhook-events',
        'webhook-verification',
      ].flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
      'package.json',
    ]);
  });

  it('has a command that runs where only the package is', async () => {
    const command = join(project, 'node_modules/team-customer-api/dist/command.js');
    const { stdout } = await run(process.execPath, [command, '--help'], { cwd: project });
    expect(stdout).toContain(`${COMMAND} listen --forward-to`);
  });

  it('adds less than 2 KB to a page that shows the admin page in a frame', async () => {
    const page = join(project, 'page.js');
    await writeFile(
      page,
      `import { showAdminPage } from '${PACKAGE_NAME}/admin-frame';
       window.admin = showAdminPage(document.querySelector('iframe'), window.options);`,
    );
    const built = await build({
      configFile: false,
      root: project,
      logLevel: 'error',
      build: { write: false, minify: true, rolldownOptions: { input: page } },
    });
    if (!('output' in built)) throw new Error('the bundler watches, or made several bundles');
    // Before compression, as a bundler of a host application writes it.
    const [{ code }] = built.output;
    console.log(`the helper of the frame in a bundle: ${code.length} bytes`);
    for (const message of ['svc:ready', 'svc:go', 'svc:settings']) expect(code).toContain(message);
    expect(Buffer.byteLength(code)).toBeLessThan(HELPER_MAX_BYTES);
    expect(built.output).toHaveLength(1);
  });

  it('has a synchronous verification under a name of its own, and under the old one', async () => {
    const script = `
      const both = require('team-customer-api/webhook-verification');
      const results = [both.verifyWebhook, both.verifyWebhookSync].map((verify) => {
        try { return verify('{}', {}, 'whsec_x'); } catch (error) { return error.reason; }
      });
      process.stdout.write(results.join());`;
    const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', script], {
      cwd: project,
    });
    expect(stdout).toBe('signature_missing,signature_missing');
  });

  it('runs nothing when it is installed', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  });

  it('needs nothing but Node, and verifies a delivery that our sender made', async () => {
    const { headers, body } = await capture();
    await writeFile(join(project, 'body.json'), body);
    const script = `import { readFileSync } from 'node:fs';
      import { verifyWebhook } from 'team-customer-api/webhook-verification';
      const [, headers, secret] = process.argv;
      const event = verifyWebhook(readFileSync('body.json'), JSON.parse(headers), secret);
      process.stdout.write(JSON.stringify(event));`;
    const { stdout } = await run(
      process.execPath,
      ['--input-type=module', '-e', script, JSON.stringify(headers), SECRET],
      { cwd: project },
    );
    expect(JSON.parse(stdout)).toEqual(JSON.parse(BODY));
  });

  it('can be required by CommonJS', async () => {
    const script = `
      const { verifyWebhook } = require('team-customer-api/webhook-verification');
      process.stdout.write(typeof verifyWebhook);`;
    const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', script], {
      cwd: project,
    });
    expect(stdout).toBe('function');
  });

  it('gives no access to the code of the service', async () => {
    for (const path of ['', '/package.json', '/dist/webhook-verification.js', '/src/api.ts']) {
      const script = `import('team-customer-api${path}')
        .catch((error) => process.stdout.write(error.code))`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
        cwd: project,
      });
      expect(stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
    }
  });

  it('has types for the data of each event, without needing the types of Node', async () => {
    const narrowing = EVENT_TYPES.map(
      (type) => `case '${type}': { const id: string = event.data.team_id; return id; }`,
    ).join('\n');
    await writeFile(
      join(project, 'receiver.ts'),
      `import { verifyWebhook, type WebhookEvent } from 'team-customer-api/webhook-verification';
       const headers = { 'svc-signature': ['x'] };
       export const event: WebhookEvent =
         verifyWebhook(new Uint8Array(), headers, 'whsec_x', { toleranceS: 1 });
       export function idOf(event: WebhookEvent): string { switch (event.type) { ${narrowing} } }
       export function scoreOf(event: WebhookEvent): number | null | undefined {
         return event.type === 'evaluation.completed' ? event.data.score : null;
       }`,
    );
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2022',
      '--module',
      'nodenext',
    ];
    const tsc = [join(root, 'node_modules/typescript/bin/tsc'), ...options, 'receiver.ts'];
    const { status, stdout } = spawnSync(process.execPath, tsc, { cwd: project, encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });
});

describe('the client package', () => {
  it('has the command, whose one name npx takes, and cannot be published by mistake', async () => {
    const text = await readFile(join(client, 'package.json'), 'utf8');
    const { bin, name, private: isPrivate } = JSON.parse(text);
    expect(name).toBe(PACKAGE_NAME);
    expect(isPrivate).toBe(true);
    expect(Object.values(bin)).toEqual(['./dist/command.js']);
  });

  it('has a README without open ends', async () => {
    const text = await readFile(join(client, 'README.md'), 'utf8');
    expect(text).toContain(`# ${PACKAGE_NAME}`);
    expect(text).not.toContain('{{');
    expect(text).not.toContain('](/');
  });

  it.each(NODES)('runs its command with %s', async (_version, node) => {
    const command = join(client, 'dist/command.js');
    const env = { PATH: process.env['PATH'], XDG_CONFIG_HOME: join(project, 'config') };
    const start = (...args: string[]) =>
      new Promise<{ code: unknown; said: string }>((done) => {
        execFile(node, [command, ...args], { cwd: project, env }, (error, stdout, stderr) =>
          done({ code: error?.code ?? 0, said: stdout + stderr }),
        );
      });
    const url = await listen((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ webhooks: { ping: pingOperation } }));
    });
    const { url: receiver, kept } = await startSample();
    const args = ['trigger', 'ping', '--forward-to', receiver, '--secret', SECRET];
    const { code, said } = await start(...args, '--api-url', url);
    expect(said).toMatch(/ ping evt_example_\d+ -> 204 in /);
    expect(code).toBe(0);
    expect(kept).toHaveLength(1);
    expect((await start('--help')).code).toBe(0);
    expect((await start()).code).toBe(1);
  });

  it('is called by one name in all texts, and never by one that anybody can register', async () => {
    const texts = ['README.md', 'tsconfig.json', 'src/admin-ui/EMBEDDING.md'];
    for (const folder of ['src/docs/examples', 'src/docs/guides', 'test/clients']) {
      const entries = await readdir(join(root, folder), { withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      texts.push(...files.map(({ name }) => join(folder, name)));
    }
    for (const file of texts) {
      const text = await readFile(join(root, file), 'utf8');
      const names = text.match(/@team-customer-api\/[\w-]+/g) ?? [];
      expect([file, ...names]).toEqual([file, ...names.map(() => PACKAGE_NAME)]);
      const calls = text.match(/npx [^\n]*team-customer[^\n]*/g) ?? [];
      expect([file, ...calls.filter((call) => !call.startsWith(COMMAND))]).toEqual([file]);
    }
  });
});

describe('the sample receiver of /docs/webhooks', () => {
  it('keeps a genuine delivery and acknowledges it', async () => {
    const { url, kept } = await startSample();
    expect(await deliver(url)).toMatchObject({ ok: true, responseCode: 204 });
    expect(kept).toEqual([JSON.parse(BODY)]);
  });

  it('keeps a delivery that is signed with two secrets, whichever it has', async () => {
    const { url, kept } = await startSample();
    expect(await deliver(url, { secrets: ['whsec_new', SECRET] })).toMatchObject({ ok: true });
    expect(await deliver(url, { secrets: [SECRET, 'whsec_old'] })).toMatchObject({ ok: true });
    expect(kept).toHaveLength(2);
  });

  it('refuses forged, changed and old deliveries, and keeps nothing of them', async () => {
    const { url, kept } = await startSample();
    const forged = await deliver(url, { secrets: ['whsec_other'] });
    const tampered = await deliver(url, { body: BODY.replace('71', '99') });
    const old = await deliver(url, { at: new Date(Date.now() - 310_000) });
    expect([forged, tampered, old].map((result) => result.responseCode)).toEqual([400, 400, 400]);
    expect(old.responseExcerpt).toContain('too old');
    expect(kept).toEqual([]);
  });

  it('answers 500 while it cannot store, so that the delivery comes again', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    onTestFinished(() => logged.mockRestore());
    const error = new Error('the store is full');
    const { url, handled } = await startSample(() => Promise.reject(error));
    const result = await deliver(url);
    expect(result).toMatchObject({ ok: false, responseCode: 500 });
    expect(result.responseExcerpt).not.toContain('full');
    expect(logged.mock.calls).toEqual([[error]]);
    expect(await Promise.allSettled(handled)).toEqual([{ status: 'fulfilled', value: undefined }]);
  });

  it('survives a sender that hangs up within the body', async () => {
    const { url, handled } = await startSample();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    const head = 'POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{';
    await new Promise((done) => socket.write(head, done));
    socket.destroy();
    await expect.poll(() => handled.length).toBe(1);
    expect(await Promise.allSettled(handled)).toEqual([{ status: 'fulfilled', value: undefined }]);
    expect(await deliver(url)).toMatchObject({ ok: true });
  });
});

const hasTools = ['openssl', 'curl'].every(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
);

// Minimal images lack these programs.
describe.skipIf(!hasTools)('the shell samples of /docs/webhooks', () => {
  const shell = (script: string, env: Record<string, string>) =>
    new Promise<{ code: number; said: string }>((done) => {
      const options = { cwd: project, env: { PATH: process.env['PATH'], SECRET, ...env } };
      const child = execFile('sh', [script], options, (_error, stdout) =>
        done({ code: child.exitCode ?? -1, said: stdout }),
      );
    });

  const check = async (
    options: Parameters<typeof deliver>[1] = {},
    secret = SECRET,
  ): Promise<string> => {
    const { headers, body } = await capture(options);
    await writeFile(join(project, 'body.json'), body);
    const { code, said } = await shell('verify-delivery.sh', {
      SIGNATURE: String(headers['svc-signature']),
      SECRET: secret,
    });
    return `${code} ${said.trim()}`;
  };

  it('accept a captured delivery, and refuse a forged, a changed and an old one', async () => {
    expect(await check()).toBe('0 genuine');
    expect(await check({ at: new Date(Date.now() - 270_000) })).toBe('0 genuine');
    expect(await check({ at: new Date(Date.now() - 310_000) })).toBe(
      '2 genuine, but older than five minutes',
    );
    expect(await check({ body: `${BODY}\n` })).toBe('1 forged');
    expect(await check({}, 'whsec_other')).toBe('1 forged');
    expect((await shell('verify-delivery.sh', { SIGNATURE: 'nonsense' })).said).toBe('forged\n');
  });

  it('accept a delivery of a rotation, which is signed with two secrets', async () => {
    expect(await check({ secrets: ['whsec_new', SECRET] })).toBe('0 genuine');
    expect(await check({ secrets: [SECRET, 'whsec_old'] })).toBe('0 genuine');
    expect(await check({ secrets: ['whsec_new', 'whsec_old'] })).toBe('1 forged');
  });

  it('send a delivery that a receiver accepts', async () => {
    const { url, kept } = await startSample();
    await writeFile(join(project, 'body.json'), BODY);
    expect((await shell('send-delivery.sh', { RECEIVER: url })).said).toMatch(/^HTTP\/1\.1 204 /);
    expect((await shell('send-delivery.sh', { RECEIVER: url, SECRET: 'other' })).said).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    expect(kept).toEqual([JSON.parse(BODY)]);
  });
});

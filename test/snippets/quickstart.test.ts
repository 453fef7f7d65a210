// A newcomer's hour: somebody follows the quickstart and has nothing else. The commands are those
// of the page, in its order; only the key, the port and the ids that it asks for are put in.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { KEY_PLACEHOLDER } from '../../src/docs/highlight.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID, EXAMPLE_IDS } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import { because, run } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { missingPrograms, runProgram, startProgram } from './runtimes.ts';

const missing = missingPrograms('curl');
const why = missing.length === 0 ? null : `missing on this machine: ${missing.join(', ')}`;

interface Delivery {
  readonly status: string;
  readonly response_code: number | null;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

async function start(allowPrivateTargets: boolean): Promise<TestApi> {
  // No name of an example has an address.
  const services = { lookup: async () => [] };
  const api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets, services });
  await startWorkerProcess(api.databaseUrl, {
    WEBHOOK_ALLOW_PRIVATE_TARGETS: allowPrivateTargets ? '1' : '0',
  });
  // As `npm start` does it.
  const body = { scenario: 'typical' };
  await api.call(api.key(DEMO_SANDBOX_ID, 'demo'), 'POST', '/sandbox/reset', { body });
  return api;
}

/** The commands of the page, in its order, and the receiver. */
async function readPage(api: TestApi) {
  const text = await (await fetch(`${api.url}/docs/quickstart.md`)).text();
  const blocksIn = (language: string): string[] => {
    const fences = text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
    return [...fences].map(([, code = '']) => code);
  };
  const [receiver = '', ...receivers] = blocksIn('javascript');
  expect(receivers).toEqual([]);
  const [, file = ''] = /`(receiver\.\w+)`/.exec(text) ?? [];
  return { commands: blocksIn('bash'), listen: blocksIn('sh'), receiver, file };
}

/** Runs commands of the page with the key of the team, and the port in place of that shown. */
function pasteInto(api: TestApi, port: string) {
  const filled = (team: string, command = ''): string =>
    command.replaceAll(KEY_PLACEHOLDER, api.key(team, 'demo')).replaceAll(/\b4000\b/g, port);
  const paste = async (team: string, command?: string, endpoint = ''): Promise<Json> => {
    const code = filled(team, command).replaceAll(EXAMPLE_IDS.webhookEndpoint, endpoint);
    return JSON.parse(await runProgram('curl', code)) as Json;
  };
  return { filled, paste };
}

/** Starts the receiver of the page, and waits until it answers. */
async function startReceiver(page: { receiver: string; file: string }, port: string, key: string) {
  const receiver = await startProgram('javascript', page.receiver.replace('4000', port), {
    file: page.file,
    env: { WEBHOOK_SECRET: key },
  });
  onTestFinished(() => void receiver.child.kill('SIGKILL'));
  await until(() => isOpen(port));
  return receiver;
}

/** Builds the client package, runs the commands in a folder with it, and returns their output. */
async function startListen(commands: string): Promise<() => string> {
  const folder = await makeFolder('listen');
  const built = join(folder, 'built');
  await run(process.execPath, [join(root, 'scripts/build-client.ts'), built], { cwd: root });
  // A package.json keeps npm from looking for one in the folders above.
  const code = `echo '{}' > package.json\n${commands.replace('install ./', 'install ./built/')}`;
  const child = spawn('sh', ['-c', code], {
    cwd: folder,
    env: { ...process.env, XDG_CONFIG_HOME: folder, WEBHOOK_SECRET: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // npx starts processes of its own, which end with their group.
    detached: true,
  });
  onTestFinished(() => void process.kill(-Number(child.pid), 'SIGKILL'));
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return () => chunks.join('');
}

describe.skipIf(why !== null)(`the quickstart${because(why)}`, () => {
  test('leads from a key to live data', async () => {
    const api = await start(true);
    const page = await readPage(api);
    const [me, trainings, register, train, hurry, fail, deliveries, ...others] = page.commands;
    expect([others, page.listen]).toEqual([[], []]);
    const port = String(await findFreePort());
    const { paste } = pasteInto(api, port);
    const rehearse = (command?: string, endpoint?: string) =>
      paste(DEMO_SANDBOX_ID, command, endpoint);

    // The first calls.
    expect(await rehearse(me)).toMatchObject({ mode: 'test', tenant_id: DEMO_SANDBOX_ID });
    expect((await rehearse(trainings))['data']).toHaveLength(10);

    // The first webhook, three times.
    const endpoint = await rehearse(register);
    const receiver = await startReceiver(page, port, String(endpoint['secret']));
    const trained = [await rehearse(train), await rehearse(train), await rehearse(train)].map(
      (played) => String(played['training_id']),
    );
    expect(new Set(trained).size).toBe(3);
    await until(() => trained.every((id) => receiver.output().includes(id)));
    expect(receiver.output().match(/evaluation\.completed/g)).toHaveLength(3);

    // A failure, and its recovery.
    const newest = async (): Promise<Delivery | undefined> => {
      const list = await rehearse(deliveries, String(endpoint['id']));
      return (list['data'] as Delivery[])[0];
    };
    await rehearse(hurry);
    await rehearse(fail);
    const { training_id: failed } = await rehearse(train);
    await until(async () => (await newest())?.status === 'retrying');
    expect(await newest()).toMatchObject({ status: 'retrying', response_code: 503 });
    expect(receiver.output()).not.toContain(String(failed));
    await until(() => receiver.output().includes(String(failed)));
    await until(async () => (await newest())?.status === 'ok');

    // The same with the live key.
    expect(await paste(DEMO_TEAM_ID, me)).toMatchObject({ mode: 'live' });
    const live = await paste(DEMO_TEAM_ID, register);
    expect(live['secret']).not.toBe(endpoint['secret']);
    await expect(paste(DEMO_TEAM_ID, train)).rejects.toThrow('error: 404');
  });

  test('leads to events on the own machine where webhooks need a public address', async () => {
    const api = await start(false);
    const page = await readPage(api);
    const [me, trainings, train, register, hurry, fail, deliveries, ...others] = page.commands;
    const [listen = '', ...further] = page.listen;
    expect([others, further]).toEqual([[], []]);
    const port = String(await findFreePort());
    const { filled, paste } = pasteInto(api, port);
    const rehearse = (command?: string) => paste(DEMO_SANDBOX_ID, command);

    expect(await rehearse(me)).toMatchObject({ mode: 'test', tenant_id: DEMO_SANDBOX_ID });
    expect((await rehearse(trainings))['data']).toHaveLength(10);

    const output = await startListen(filled(DEMO_SANDBOX_ID, listen));
    await until(() => output().includes('Waiting for events'));
    const [, secret = ''] = /^Signing with (whsec_\S+)$/m.exec(output()) ?? [];
    const receiver = await startReceiver(page, port, secret);
    const trained = [await rehearse(train), await rehearse(train), await rehearse(train)].map(
      (played) => String(played['training_id']),
    );
    await until(() => trained.every((id) => receiver.output().includes(id)));
    expect(receiver.output().match(/evaluation\.completed/g)).toHaveLength(3);

    // The address is the reader's to put in: the one shown is nobody's, and gets no event.
    await expect(rehearse(register)).rejects.toThrow('url_not_public');
    await rehearse(hurry);
    await rehearse(fail);
    await expect(paste(DEMO_SANDBOX_ID, deliveries, 'none')).rejects.toThrow('error: 404');
  });
});

type Json = Readonly<Record<string, unknown>>;

/** Whether the receiver answers. What is not signed, it refuses. */
async function isOpen(port: string): Promise<boolean> {
  const url = `http://localhost:${port}/webhooks`;
  const response = await fetch(url, { method: 'POST', body: '{}' }).catch(() => null);
  return response?.status === 400;
}

// A newcomer's hour: somebody follows the quickstart and has nothing else. The commands are those
// of the page, in its order; only the key, the port and the ids that it asks for are put in.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { KEY_PLACEHOLDER } from '../../src/http/docs/highlight.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID, EXAMPLE_IDS } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, startWorkerProcess, type TestApi } from '../support/api.ts';
import { because } from '../support/debian.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { missingPrograms, runProgram, startProgram } from './runtimes.ts';

const missing = missingPrograms('curl');
const why = missing.length === 0 ? null : `missing on this machine: ${missing.join(', ')}`;

interface Delivery {
  readonly status: string;
  readonly response_code: number | null;
}

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets: true });
  await startWorkerProcess(api.databaseUrl, { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' });
  // As `npm start` does it.
  const body = { scenario: 'typical' };
  await api.call(api.key(DEMO_SANDBOX_ID, 'demo'), 'POST', '/sandbox/reset', { body });
});

/** The commands of the page, in its order, and the receiver. */
async function readPage() {
  const text = await (await fetch(`${api.url}/docs/quickstart.md`)).text();
  const blocksIn = (language: string): string[] => {
    const fences = text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
    return [...fences].map(([, code = '']) => code);
  };
  const [me, trainings, register, train, hurry, fail, deliveries, ...others] = blocksIn('bash');
  const [receiver, ...receivers] = blocksIn('javascript');
  expect([others, receivers]).toEqual([[], []]);
  const [, file = ''] = /`(receiver\.\w+)`/.exec(text) ?? [];
  return { me, trainings, register, train, hurry, fail, deliveries, receiver, file };
}

describe.skipIf(why !== null)(`the quickstart${because(why)}`, { timeout: 300_000 }, () => {
  test('leads from a key to live data', async () => {
    const page = await readPage();
    const port = String(await findFreePort());
    const paste = async (team: string, command = '', endpoint = ''): Promise<Json> => {
      const code = command
        .replaceAll(KEY_PLACEHOLDER, api.key(team, 'demo'))
        .replaceAll(/\b4000\b/g, port)
        .replaceAll(EXAMPLE_IDS.webhookEndpoint, endpoint);
      return JSON.parse(await runProgram('curl', code)) as Json;
    };
    const rehearse = (command?: string, endpoint?: string) =>
      paste(DEMO_SANDBOX_ID, command, endpoint);

    // The first calls.
    expect(await rehearse(page.me)).toMatchObject({ mode: 'test', tenant_id: DEMO_SANDBOX_ID });
    expect((await rehearse(page.trainings))['data']).toHaveLength(10);

    // The first webhook, three times.
    const endpoint = await rehearse(page.register);
    const receiver = await startProgram('javascript', (page.receiver ?? '').replace('4000', port), {
      file: page.file,
      env: { WEBHOOK_SECRET: String(endpoint['secret']) },
    });
    onTestFinished(() => void receiver.child.kill('SIGKILL'));
    await until(() => isOpen(port));
    const trained = [
      await rehearse(page.train),
      await rehearse(page.train),
      await rehearse(page.train),
    ].map((played) => String(played['training_id']));
    expect(new Set(trained).size).toBe(3);
    await until(() => trained.every((id) => receiver.output().includes(id)));
    expect(receiver.output().match(/evaluation\.completed/g)).toHaveLength(3);

    // A failure, and its recovery.
    const newest = async (): Promise<Delivery | undefined> => {
      const list = await rehearse(page.deliveries, String(endpoint['id']));
      return (list['data'] as Delivery[])[0];
    };
    await rehearse(page.hurry);
    await rehearse(page.fail);
    const { training_id: failed } = await rehearse(page.train);
    await until(async () => (await newest())?.status === 'retrying');
    expect(await newest()).toMatchObject({ status: 'retrying', response_code: 503 });
    expect(receiver.output()).not.toContain(String(failed));
    await until(() => receiver.output().includes(String(failed)));
    await until(async () => (await newest())?.status === 'ok');

    // The same with the live key.
    expect(await paste(DEMO_TEAM_ID, page.me)).toMatchObject({ mode: 'live' });
    const live = await paste(DEMO_TEAM_ID, page.register);
    expect(live['secret']).not.toBe(endpoint['secret']);
    await expect(paste(DEMO_TEAM_ID, page.train)).rejects.toThrow('error: 404');
  });
});

type Json = Readonly<Record<string, unknown>>;

/** Whether the receiver answers. What is not signed, it refuses. */
async function isOpen(port: string): Promise<boolean> {
  const url = `http://localhost:${port}/webhooks`;
  const response = await fetch(url, { method: 'POST', body: '{}' }).catch(() => null);
  return response?.status === 400;
}

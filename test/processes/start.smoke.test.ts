// `npm start` as a person runs it: what it prints, how it stops, and what survives `kill -9`.
import { describe, expect, test } from 'vitest';
import { isRunning } from '../../src/embedded-postgres/process.ts';
import { because, isInstalled } from '../support/debian.ts';
import {
  expectNothingLeft,
  findPort,
  killGroup,
  paste,
  pasteAndRead,
  postmaster,
  query,
  start,
  useStartFolder,
} from '../support/npm-start.ts';

useStartFolder();

/** Registers a receiver of webhooks on this machine. Resolves with the status. */
async function registerLocalReceiver(base: string, key: string): Promise<number> {
  const response = await fetch(`${base}/webhook-endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://localhost:4000/hook', events: ['member.joined'] }),
  });
  return response.status;
}

async function readSandbox(base: string, key: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${base}/sandbox`, { headers })).json();
}

const reason = isInstalled('curl') ? null : 'missing on this machine: curl';

describe.skipIf(reason !== null)(`npm start${because(reason)}`, () => {
  test('prints calls that work when pasted; Ctrl-C leaves nothing running', async () => {
    const port = await findPort();
    const keys: string[] = [];
    for (let run = 0; run < 2; run += 1) {
      const service = start('npm', { PORT: port });
      const { text, base, docs, key, testKey, curls } = await service.greeting();
      expect(base).toBe(`http://127.0.0.1:${port}/api/public/v1`);
      expect(key).toMatch(/^svck_live_/);
      expect(await paste(curls)).toEqual(['200', '200', '201']);
      expect((await fetch(docs)).status).toBe(200);
      expect(await registerLocalReceiver(base, key)).toBe(201);
      expect(testKey).toMatch(/^svck_test_/);
      expect(await readSandbox(base, testKey)).toMatchObject({ scenario: 'typical' });
      const login = docs.replace(/docs$/, 'trpc-session/development/usr_demo_nobody');
      const refused = await fetch(login, { method: 'POST' });
      expect(await refused.json()).toMatchObject({ code: 'not_found' });
      expect(text).toContain(docs.replace(/docs$/, 'admin  (sign in with one click)'));
      // Beside the log, which on a busy machine has slow statements.
      expect(text.replaceAll(/^\{.*$/gm, '')).not.toMatch(/webhook/i);
      keys.push(key);

      const postgres = await postmaster();
      expect(await isRunning(postgres)).toBe(true);
      killGroup(service.child, 'SIGINT');
      expect(await service.exitCode).toBe(0);
      await expectNothingLeft(service, postgres);
    }
    expect(keys[1]).toBe(keys[0]);
  });

  test('recovers after kill -9 with the same key; a POST pasted twice acts once', async () => {
    const env = { PORT: await findPort() };
    const killed = start('node', env);
    const before = await killed.greeting();
    const [, , invite = ''] = before.curls;
    const invited = await pasteAndRead(invite);
    killed.child.kill('SIGKILL');
    await killed.exitCode;

    const service = start('node', env);
    const { key } = await service.greeting();
    expect(key).toBe(before.key);
    expect(await pasteAndRead(invite)).toBe(invited);
    const { id } = JSON.parse(invited) as { id: string };
    expect(
      await query(
        `SELECT count(*)::int AS members
         FROM member
         WHERE email = (SELECT email FROM member WHERE id = '${id}')`,
      ),
    ).toEqual([{ members: 1 }]);

    const postgres = await postmaster();
    service.child.kill('SIGTERM');
    expect(await service.exitCode).toBe(0);
    await expectNothingLeft(service, postgres);
  });
});

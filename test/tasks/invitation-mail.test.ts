import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { describe, expect, test } from 'vitest';
import { startTestApi, startWorkerProcess, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

interface Received {
  readonly to: readonly string[];
  readonly text: string;
}

/** A real mail server that refuses the first `failures` mails, as a server in trouble does. */
async function startMailServer(
  failures: number,
): Promise<{ url: string; received: Received[]; attempts: () => number; stop(): Promise<void> }> {
  const received: Received[] = [];
  let attempts = 0;
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        attempts += 1;
        if (attempts <= failures) {
          done(Object.assign(new Error('try again later'), { responseCode: 451 }));
          return;
        }
        received.push({
          to: session.envelope.rcptTo.map((address) => address.address),
          text: Buffer.concat(chunks).toString(),
        });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `smtp://127.0.0.1:${port}`, received, attempts: () => attempts, stop };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}

const decode = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_match, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );

async function invite(api: TestApi, body: object): Promise<string> {
  const created = await api.call(api.key('team_a'), 'POST', '/users', { body });
  expect(created.status).toBe(201);
  return (created.body as { id: string }).id;
}

describe('the invitation mail', () => {
  test('goes out once, in the language asked for or else the team’s, and not to whom was removed meanwhile', async () => {
    const api = await startTestApi({
      seed: makeSeed([makeTeam('a', { name: 'Acme\r\nBcc: all@x.test', language: 'de' })]),
    });
    await invite(api, { email: 'german@a.test' });
    await invite(api, { email: 'english@a.test', lang: 'en' });
    const gone = await invite(api, { email: 'gone@a.test' });
    await api.call(api.key('team_a'), 'DELETE', `/users/${gone}`);
    const mail = await startMailServer(0);
    const worker = await startWorkerProcess(api.databaseUrl, {
      SMTP_URL: mail.url,
      MAIL_FROM: 'Training <training@a.test>',
    });
    await until(
      async () => (await api.db.pool.query('select from graphile_worker.jobs')).rowCount === 0,
    );
    expect(mail.received.map((received) => received.to)).toEqual(
      expect.arrayContaining([['german@a.test'], ['english@a.test']]),
    );
    expect(mail.received).toHaveLength(2);
    const text = (to: string) =>
      decode(mail.received.find((received) => received.to[0] === to)?.text ?? '');
    expect(text('german@a.test')).toContain('zum Verkaufstraining eingeladen');
    expect(text('english@a.test')).toContain('has invited you');
    expect(text('english@a.test')).not.toMatch(/^Bcc:/m);
    expect(worker.output()).not.toContain('@a.test');
    await worker.kill('SIGTERM');
    await mail.stop();
  });

  test('is sent again when the mail server refused it', async () => {
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    const mail = await startMailServer(1);
    const worker = await startWorkerProcess(api.databaseUrl, { SMTP_URL: mail.url });
    await invite(api, { email: 'again@a.test' });
    await until(() => mail.received.length === 1);
    expect(mail.attempts()).toBe(2);
    await worker.kill('SIGTERM');
    await mail.stop();
  });

  test('is a file in MAIL_DIR where there is no mail server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mail-'));
    const api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
    const worker = await startWorkerProcess(api.databaseUrl, { MAIL_DIR: folder });
    await invite(api, { email: 'file@a.test' });
    const mails = async () => (await readdir(folder)).filter((name) => name.endsWith('.eml'));
    await until(async () => (await mails()).length === 1);
    const [file = ''] = await mails();
    expect(await readFile(join(folder, file), 'utf8')).toContain('To: file@a.test');
    expect((await worker.kill('SIGTERM')).code).toBe(0);
    await rm(folder, { recursive: true });
  });
});

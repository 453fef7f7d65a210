import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobHelpers } from 'graphile-worker';
import pino from 'pino';
import { expect, test } from 'vitest';
import { MailNotTaken } from '../../src/core/mail.ts';
import { createInput, updateInput } from '../../src/features/team-lifecycle/schema.ts';
import { createMailer, openMailSessions } from '../../src/runtime/mail.ts';
import { endRefused } from '../../src/runtime/refused-mails.ts';
import { makeFolder } from '../support/folder.ts';
import { startDrippingMailServer, startMailServer } from '../support/mail-server.ts';
import { until } from '../support/until.ts';

/** The subject of a mail as it is sent, in one line. */
async function sentSubject(subject: string): Promise<string> {
  const mailDir = await makeFolder('mail');
  const mailer = createMailer(
    { smtpUrl: undefined, mailFrom: undefined, mailDir },
    pino({ level: 'silent' }),
  );
  await mailer({ to: 'a@a.test', subject, text: '' });
  const [file = ''] = await readdir(mailDir);
  const mail = await readFile(join(mailDir, file), 'utf8');
  const [headers = ''] = mail.split('\r\n\r\n', 1);
  expect(headers.match(/^[\w-]+:/gm)?.map((name) => name.toLowerCase())).not.toContain('bcc:');
  return /^Subject: (.*(?:\r\n[ \t].*)*)/m.exec(headers)?.[1]?.replaceAll('\r\n', '') ?? '';
}

/** What a reader sees. */
function shown(header: string): string {
  return header
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_word, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString()
        : Buffer.from(
            text
              .replaceAll('_', ' ')
              .replaceAll(/=([\dA-F]{2})/gi, (_hex, byte: string) =>
                String.fromCodePoint(Number.parseInt(byte, 16)),
              ),
            'latin1',
          ).toString(),
    );
}

test.each([
  ['=?utf-8?B?WW91ciBwYXNzd29yZA==?=', '= ?utf-8?B?WW91ciBwYXNzd29yZA== ?='],
  ['Grüße =?utf-8?Q?an=20alle?= von uns', 'Grüße = ?utf-8?Q?an=20alle?= von uns'],
  ['==??=?x', '== ??= ?x'],
  ['Acme\r\nBcc: all@x.test\u0000\u0007\u2028!', 'Acme Bcc: all@x.test !'],
  ['Einladung ins Team Käse & Söhne', 'Einladung ins Team Käse & Söhne'],
])('the subject %j says what it holds, and no word of it is decoded', async (subject, expected) => {
  expect(shown(await sentSubject(subject))).toBe(expected);
});

test.each([
  ['RCPT TO', 450, 'deferred'],
  ['RCPT TO', 499, 'deferred'],
  ['RCPT TO', 421, 'failed'],
  ['RCPT TO', 451, 'failed', '4.3.0 temporary lookup failure'],
  ['RCPT TO', 500, 'refused'],
  ['RCPT TO', 550, 'refused'],
  ['DATA', 451, 'failed'],
  ['DATA', 554, 'refused'],
  ['MAIL FROM', 450, 'failed'],
  ['MAIL FROM', 550, 'failed'],
])('after %s, %d means that the mail is %s', async (command, code, failed, text = 'not now') => {
  const fault = Object.assign(new Error(text), { responseCode: code });
  const refuse = (at: string) => (at === command ? fault : undefined);
  const server = await startMailServer(async () => refuse('DATA'), refuse);
  const mailer = createMailer(
    { smtpUrl: server.url, mailFrom: undefined, mailDir: '' },
    pino({ level: 'silent' }),
  );
  const failure = await mailer({ to: 'a@a.test', subject: '', text: '' }).catch(
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({ failure: failed, message: expect.stringContaining(` ${code}`) });
});

test('a job that an operator lets begin anew has all its refusals before it', async () => {
  const refused = new MailNotTaken('not taken', 'refused');
  const { send } = endRefused({ send: () => Promise.reject(refused) }, pino({ level: 'silent' }));
  const attempt = async (attempts: number): Promise<unknown> => {
    const job = { attempts, last_error: 'not taken (refusal 11)', task_identifier: 'send' };
    return send?.({ teamId: 'team_a' }, { job } as JobHelpers);
  };
  expect(await attempt(12)).toBeUndefined();
  await expect(attempt(1)).rejects.toThrow('not taken (refusal 1)');
});

test.each(['EHLO', 'RCPT', '.'] as const)(
  'a server that answers %s without end keeps no mail for ever, and refuses no recipient by that',
  async (at) => {
    const server = await startDrippingMailServer(at);
    const config = { smtpUrl: server.url, mailFrom: undefined, mailDir: '' };
    const mailer = createMailer(config, pino({ level: 'silent' }), { timeLimitMs: 500 });
    const failure = await mailer({ to: 'a@a.test', subject: '', text: '' }).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      name: 'MailNotTaken',
      failure: 'failed',
      message: 'the mail server did not take it: EABORT',
    });
    await until(() => server.open.size === 0);
  },
);

test('a run that ends leaves no session with the server, and the next one sends', async () => {
  const sessions = openMailSessions();
  const sendTo = (smtpUrl: string): Promise<unknown> => {
    const config = { smtpUrl, mailFrom: undefined, mailDir: '' };
    const mailer = createMailer(config, pino({ level: 'silent' }), { signal: sessions.signal });
    return mailer({ to: 'a@a.test', subject: '', text: '' }).catch((error: unknown) => error);
  };
  const slow = await startDrippingMailServer('RCPT');
  const sent = sendTo(slow.url);
  await until(() => slow.open.size === 1);
  sessions.handOver();
  expect(await sent).toMatchObject({ name: 'MailNotTaken', failure: 'failed' });
  await until(() => slow.open.size === 0);
  const server = await startMailServer();
  expect(await sendTo(server.url)).toBeUndefined();
  expect(server.received).toHaveLength(1);
});

test('the name of a team has no control characters', () => {
  const takes = (name: string): boolean =>
    createInput.shape.name.safeParse(name).success &&
    updateInput.shape.name.safeParse(name).success;
  for (const name of ['Acme', 'Käse & Söhne', '株式会社', 'فريق', '👩‍👩‍👧', 'a'.repeat(200)])
    expect([name, takes(name)]).toEqual([name, true]);
  for (const code of [0, 7, 9, 10, 13, 27, 0x7f, 0x85, 0x9f, 0x2028, 0x2029])
    expect([code, takes(`Ac${String.fromCodePoint(code)}me`)]).toEqual([code, false]);
});

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { expect, test } from 'vitest';
import { createInput, updateInput } from '../../src/features/team-lifecycle/schema.ts';
import { createMailer } from '../../src/runtime/mail.ts';
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
  ['RCPT TO', 450, false],
  ['RCPT TO', 499, false],
  ['RCPT TO', 500, true],
  ['RCPT TO', 550, true],
  ['DATA', 451, false],
  ['DATA', 554, true],
  ['MAIL FROM', 550, false],
])('after %s, %d means that the recipient is refused: %s', async (command, code, isRefusal) => {
  const fault = Object.assign(new Error('not now'), { responseCode: code });
  const refuse = (at: string) => (at === command ? fault : undefined);
  const server = await startMailServer(async () => refuse('DATA'), refuse);
  const mailer = createMailer(
    { smtpUrl: server.url, mailFrom: undefined, mailDir: '' },
    pino({ level: 'silent' }),
  );
  const failure = await mailer({ to: 'a@a.test', subject: '', text: '' }).catch(
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({ isRefusal, message: expect.stringContaining(` ${code}`) });
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
      isRefusal: false,
      message: 'the mail server did not take it: EABORT',
    });
    await until(() => server.open.size === 0);
  },
);

test('whoever gives a mail to another run ends its session with the server', async () => {
  const server = await startDrippingMailServer('RCPT');
  const config = { smtpUrl: server.url, mailFrom: undefined, mailDir: '' };
  const run = new AbortController();
  const mailer = createMailer(config, pino({ level: 'silent' }), { signal: () => run.signal });
  const sent = mailer({ to: 'a@a.test', subject: '', text: '' }).catch((error: unknown) => error);
  await until(() => server.open.size === 1);
  run.abort();
  expect(await sent).toMatchObject({ name: 'MailNotTaken', isRefusal: false });
  await until(() => server.open.size === 0);
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

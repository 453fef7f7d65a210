// Files that hold a secret or an address: only the user of the program may read them.
import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepSecret } from '../../src/client/kept-secret.ts';
import { EMBEDDED, openDataFolder } from '../../src/runtime/data-folder.ts';
import { createMailer } from '../../src/runtime/mail.ts';
import { makeFolder } from '../support/folder.ts';

const API_KEY = 'svck_live_of_the_demo_team';
const DEMO = { state: 'loaded', apiKey: API_KEY, testKey: 'svck_test_1' } as const;
const ADDRESS = 'kim@example.com';

/** Each writes below the folder, and returns texts that others must not see. */
const WRITERS: Readonly<Record<string, (folder: string) => Promise<readonly string[]>>> = {
  'the secret of the command': async (folder) => [
    (await keepSecret(join(folder, 'of', 'the', 'user'))).secret,
  ],
  'the secrets of npm start': async (folder) => {
    const data = openDataFolder(folder);
    return Object.values(data?.readSecrets() ?? {});
  },
  'the key of the demo team': async (folder) => {
    openDataFolder(folder)?.writeDemo(EMBEDDED, DEMO);
    return [API_KEY];
  },
  'a mail': async (folder) => {
    const config = { smtpUrl: undefined, mailFrom: undefined, mailDir: join(folder, 'mails') };
    const send = createMailer(config as never, pino({ level: 'silent' }));
    await send({ to: ADDRESS, subject: 'Hello', text: 'Hello' });
    return [ADDRESS];
  },
};

/** The files below the folder that hold the text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.flatMap((one) => (one.isFile() ? join(one.parentPath, one.name) : []));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return files.filter((_, index) => texts[index]?.includes(text));
}
const modeOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o777;

// A user whose files all others may read and write, unless a program says otherwise.
let usual: number;
beforeEach(() => void (usual = process.umask(0)));
afterEach(() => void process.umask(usual));

test.each(Object.entries(WRITERS))('%s is for its user alone', async (_, write) => {
  const folder = await makeFolder('secret-files');
  for (const text of await write(folder)) {
    const files = await filesWith(folder, text);
    expect(files).toHaveLength(1);
    for (const file of files) expect(await modeOf(file)).toBe(0o600);
  }
});

// As after it was restored from a backup that knows no modes.
test('a file that others may read is for its user alone after the next start', async () => {
  const folder = await makeFolder('secret-files');
  const data = openDataFolder(folder);
  const file = join(folder, 'secret');
  const starts = [
    () => keepSecret(file),
    () => data?.readSecrets(),
    () => data?.readDemo(EMBEDDED),
  ];
  data?.writeDemo(EMBEDDED, DEMO);
  for (const start of starts) await start();
  const files = [file, join(folder, 'secrets.json'), join(folder, 'demo.json')];
  for (const each of files) await chmod(each, 0o644);
  for (const start of starts) await start();
  expect(await Promise.all(files.map(modeOf))).toEqual([0o600, 0o600, 0o600]);
});

// Wrong settings end the start of an API process, with JSON that has each fault.
import { expect, test } from 'vitest';
import { runEntry } from '../support/processes.ts';

test('a process of production with wrong settings writes JSON and ends with 1', async () => {
  const env = { NODE_ENV: 'production', APP_SECRET: 'hunter2', PORT: 'x', SMTP_URLS: 'x' };
  const started = runEntry('src/api.ts', {
    ...env,
    MAIL_DIR: '/nowhere',
    DATABASE_URL: 'postgres://app@127.0.0.1:9/app',
  });
  expect(await started.exited).toEqual({ code: 1, signal: null });
  const lines = started
    .output()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { level: 40, msg: expect.stringMatching(/^SMTP_URLS is no setting/) },
    {
      level: 60,
      faults: [
        'APP_SECRET must have at least 32 characters',
        'PORT must be a whole number from 0 to 65535',
      ],
    },
  ]);
  expect(started.output()).not.toContain('hunter2');
});

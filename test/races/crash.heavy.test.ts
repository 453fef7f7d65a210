// `kill -9` of a process in the middle of many calls. `crash.smoke` kills it at chosen moments.
import { expect, test } from 'vitest';
import { createCall } from '../support/api.ts';
import { ONCE, sendInvitation, untilQuiet, url, useCrashes, written } from '../support/crashes.ts';
import { startApiProcess } from '../support/processes.ts';

useCrashes();

test('killed at any moment: after the client repeats the call, each key acted once', async () => {
  const emails: string[] = [];
  const victim = await startApiProcess(url);
  const call = createCall(victim.url, { connections: 24 });
  let answered = 0;
  const callers = Array.from({ length: 24 }, async () => {
    for (;;) {
      const email = `any${emails.length}@crash.test`;
      emails.push(email);
      const response = await sendInvitation(call, email).catch(() => null);
      if (response === null) return;
      answered += 1;
      if (answered === 5) void victim.kill('SIGKILL');
    }
  });
  await Promise.all(callers);
  await victim.exited;
  await untilQuiet();
  expect(answered).toBeLessThan(emails.length);

  const second = await startApiProcess(url);
  const again = createCall(second.url);
  for (const email of emails) {
    expect((await sendInvitation(again, email)).status).toBe(201);
    expect(await written(email)).toEqual(ONCE);
  }
  await second.kill('SIGTERM');
});

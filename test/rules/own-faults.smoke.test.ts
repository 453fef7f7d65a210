import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const SEND = `
  import { openSync } from 'node:fs';
  import { createSender } from './src/delivery/sender.ts';
  const sender = createSender({ allowPrivateTargets: true, timeoutMs: 5000 });
  const send = () =>
    sender.send('http://127.0.0.1:9/hook', {}, '{}').then(
      ({ error }) => console.log('result ' + error),
      ({ code }) => console.log('thrown ' + code),
    );
  await send();
  try {
    for (;;) openSync('/dev/null');
  } catch {}
  await send();
`;

test('an attempt without a free file descriptor is no failure of the receiver', () => {
  const command = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1"';
  const { stdout } = spawnSync('sh', ['-c', command, process.execPath, SEND], { encoding: 'utf8' });
  expect(stdout.split('\n')).toEqual(['result connection_refused', 'thrown EMFILE', '']);
});

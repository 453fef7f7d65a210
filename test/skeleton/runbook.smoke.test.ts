// A block of the runbook in a shell.
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBlocks } from '../deploy/runbook.ts';
import { makeFolder } from '../support/folder.ts';

test('ends an upgrade with containers at the first step that fails', async () => {
  const [upgrade = ''] = await readBlocks('One machine with containers');
  const folder = await makeFolder('docker');
  // Stands for docker: fails at the step that it is told, and notes each.
  await writeFile(
    join(folder, 'docker'),
    '#!/bin/sh\necho "$@" >>"$STEPS"\ntest "$(wc -l <"$STEPS")" -ne "$FAILS_AT"\n',
    { mode: 0o755 },
  );
  const stepsWith = async (failsAt: number): Promise<{ code: number | null; steps: number }> => {
    const file = join(folder, `steps-${failsAt}`);
    const env = { PATH: `${folder}:${process.env['PATH']}`, STEPS: file };
    const shell = spawnSync('sh', ['-c', upgrade], {
      env: { ...env, FAILS_AT: String(failsAt) },
    });
    return { code: shell.status, steps: (await readFile(file, 'utf8')).split('\n').length - 1 };
  };
  const { code, steps } = await stepsWith(0);
  expect([code, steps]).toEqual([0, 10]);
  for (let step = 1; step <= steps; step += 1)
    expect(await stepsWith(step)).toEqual({ code: 1, steps: step });
});

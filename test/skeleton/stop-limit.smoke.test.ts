// How long a stop may take: work that hangs has a limit, and what tells clients of it has none.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';

const LIMIT_MS = 300;
const MODULE = new URL('../../src/runtime/process.ts', import.meta.url).href;

/** A process that says what it does. Each phase takes so many milliseconds; null: it hangs. */
const source = (takes: Readonly<Record<'start' | 'announceStop' | 'stop', number | null>>) => `
import { runUntilSignal } from '${MODULE}';
const takes = ${JSON.stringify(takes)};
const phase = (name) => async () => {
  console.log(name);
  await new Promise((end) => takes[name] === null || setTimeout(end, takes[name]));
};
setInterval(() => undefined, 60_000);
const part = { announceStop: phase('announceStop'), stop: phase('stop') };
await runUntilSignal(() => phase('start')().then(() => part), undefined, ${LIMIT_MS});
console.log('runs');
`;

const QUICK = { start: 0, announceStop: 0, stop: 0 };

test.each([
  ['a start that hangs', { ...QUICK, start: null }, ['start']],
  ['a stop that hangs', { ...QUICK, stop: null }, ['start', 'runs', 'announceStop', 'stop']],
  [
    'an announcement that takes longer than the stop may',
    { ...QUICK, announceStop: 3 * LIMIT_MS },
    ['start', 'runs', 'announceStop', 'stop'],
  ],
])('%s ends with exit code 0', async (_what, takes, expected) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source(takes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.endsWith(takes.start === null ? 'start\n' : 'runs\n')) child.kill('SIGTERM');
  }
  if (child.exitCode === null) await once(child, 'exit');
  expect(said.trim().split('\n')).toEqual(expected);
  expect(child.exitCode).toBe(0);
});

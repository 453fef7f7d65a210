// Prints how fast this machine is, for a reader of the figures that follow: the time of a fixed
// work beside the time that it takes on the machine on which the suite was measured. Two processes
// work at once and touch new memory, as the workers of the tests do. Runs on any Node, before
// anything is installed.
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';

/** Seconds, on the two quiet cores on which `npm test` takes 230 s. */
const MEASURED_S = 7.5;
const PROCESSES = 2;
const ROUNDS = 8_000;
const NEW_BYTES = 1 << 20;

function work() {
  const rows = Array.from({ length: 400 }, (_, id) => ({ id, name: `member ${id}`, score: id / 7 }));
  for (let round = 0; round < ROUNDS; round += 1) {
    const text = JSON.stringify(rows);
    createHash('sha256').update(text).digest();
    JSON.parse(text).sort((a, b) => b.score - a.score);
    Buffer.allocUnsafeSlow(NEW_BYTES).fill(round);
  }
}

if (process.send) {
  work();
  process.disconnect();
} else {
  const startedAt = process.hrtime.bigint();
  const ended = Array.from({ length: PROCESSES }, () => {
    const child = fork(fileURLToPath(import.meta.url));
    return new Promise((done) => child.once('exit', done));
  });
  await Promise.all(ended);
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
  console.log(`machine: ${(seconds / MEASURED_S).toFixed(2)} of the measured machine's time`);
}

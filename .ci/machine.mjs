// Prints how fast this machine is, for a reader of the figures that follow: the time of a fixed
// work beside the time that it takes on the machine on which the suite was measured. Runs on any
// Node, before anything is installed.
import { createHash } from 'node:crypto';

/** Seconds, on two quiet cores. */
const MEASURED_S = 5.0;
const ROUNDS = 12_000;

const rows = Array.from({ length: 400 }, (_, id) => ({ id, name: `member ${id}`, score: id / 7 }));
const startedAt = process.hrtime.bigint();
for (let round = 0; round < ROUNDS; round += 1) {
  const text = JSON.stringify(rows);
  createHash('sha256').update(text).digest();
  JSON.parse(text).sort((a, b) => b.score - a.score);
}
const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
console.log(`machine: ${(seconds / MEASURED_S).toFixed(2)} of the measured machine's time`);

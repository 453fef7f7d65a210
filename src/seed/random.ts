/** Returns the next number of a sequence, from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/**
 * Each table has its own number. So generating more rows of one table does not change the rows of
 * another.
 */
export const STREAMS = {
  member: 1,
  skill: 2,
  assignment: 3,
  training: 4,
  case: 5,
  deal: 6,
} as const;

/**
 * Returns the sequence of one row: the generator sfc32, seeded with the file's `random_seed`, the
 * table and the row's number. A row's values depend on nothing else and can be computed again. All
 * arithmetic is on 32-bit integers, so the result is the same on every machine.
 */
export function createRandom(seed: number, stream: number, index: number): Random {
  let a = seed | 0;
  let b = Math.floor(seed / 4_294_967_296) | 0;
  let c = stream | 0;
  let d = index | 0;
  const next: Random = () => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  // Similar seeds give similar first numbers. After this many rounds, the similarity is gone.
  for (let round = 0; round < 15; round += 1) next();
  return next;
}

/**
 * Returns roughly normal numbers with mean 0 and standard deviation 1. Uses sums only, because
 * `Math.log` may differ between machines.
 */
export function nextNormal(random: Random): number {
  return (random() + random() + random() + random() - 2) * 1.732;
}

/** Returns one of the items. */
export function pick<T>(random: Random, items: readonly [T, ...T[]]): T {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

/** Returns one of the items, or null if there are none. */
export function pickOrNull<T>(random: Random, items: readonly T[]): T | null {
  return items[Math.floor(random() * items.length)] ?? null;
}

/** Returns a whole number from `min` to `max`, both included. */
export function nextInt(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** The next number of a sequence, from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** Each sequence of generated values has its own number, so that asking for more rows of one table changes no other's. */
export const STREAMS = {
  member: 1,
  skill: 2,
  assignment: 3,
  training: 4,
  case: 5,
  deal: 6,
} as const;

/**
 * The sequence of one row: sfc32, seeded by the file's `random_seed`, the table and the row's number. A row's values so depend
 * on nothing else, and can be asked for again. 32-bit integer arithmetic only: the same on every machine.
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
  // Near seeds give near first numbers; after this many rounds nothing of that is left.
  for (let round = 0; round < 15; round += 1) next();
  return next;
}

/** About normal, mean 0, standard deviation 1. Made of sums only: `Math.log` may differ between machines. */
export function nextNormal(random: Random): number {
  return (random() + random() + random() + random() - 2) * 1.732;
}

export function pick<T>(random: Random, items: readonly [T, ...T[]]): T {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

/** One of the items, or null where there are none. */
export function pickOrNull<T>(random: Random, items: readonly T[]): T | null {
  return items[Math.floor(random() * items.length)] ?? null;
}

/** A whole number from `min` to `max`, both included. */
export function nextInt(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'days'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Returns a time as people say it: `3 days`, `12 min`. Rounds down. */
export function spell(seconds: number): string {
  const [size, name] = UNITS.find(([each]) => seconds >= 2 * each) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${name}`;
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Returns a size as people say it: `413 B`, `12.4 GB`. A kilobyte has 1000 bytes. */
export function spellBytes(bytes: number): string {
  const power = Math.min(SIZES.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[power]}`;
}

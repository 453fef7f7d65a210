// Which tier a test file belongs to. Its name says it, so that no list has to be kept.
import { relative, sep } from 'node:path';

/**
 * `core`: `npm test`. `smoke`: `npm run test:smoke`, which `.ci/run` runs, too. `heavy`:
 * `npm run test:heavy`, which stops nothing.
 */
export type Tier = 'core' | 'smoke' | 'heavy';

/** Folders whose files are `heavy` unless their name ends in `.smoke.test.ts`. */
const HEAVY_FOLDERS = [
  'availability',
  'balancers',
  'browser',
  'citus',
  'clients',
  'deploy',
  'neighbours',
  'night',
  'processes',
  'snippets',
];

export const TIER_GLOBS: Readonly<Record<Tier, { include: string[]; exclude: string[] }>> = {
  core: {
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/**/*.{smoke,heavy}.test.ts',
      ...HEAVY_FOLDERS.map((folder) => `test/${folder}/**`),
    ],
  },
  smoke: { include: ['test/**/*.smoke.test.ts'], exclude: [] },
  heavy: {
    include: [
      'test/**/*.heavy.test.ts',
      ...HEAVY_FOLDERS.map((folder) => `test/${folder}/**/*.test.ts`),
    ],
    exclude: ['test/**/*.smoke.test.ts'],
  },
};

/** Heavy suites that want the whole machine, one after the other. */
export const ALONE = [
  'test/balancers/**/*.test.ts',
  'test/neighbours/**/*.test.ts',
  'test/races/chaos.heavy.test.ts',
];

/** `file`: its path, absolute or from `root`. */
export function tierOf(root: string, file: string): Tier {
  const path = file.startsWith(sep) ? relative(root, file) : file;
  if (path.endsWith('.smoke.test.ts')) return 'smoke';
  const [, folder = ''] = path.split(sep);
  if (path.endsWith('.heavy.test.ts') || HEAVY_FOLDERS.includes(folder)) return 'heavy';
  return 'core';
}

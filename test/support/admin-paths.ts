/** The paths of the admin page's routes. */
import { readFileSync } from 'node:fs';

const ROUTES = readFileSync(new URL('../../src/admin-ui/routes.tsx', import.meta.url), 'utf8');

/** The path of each route. */
export const PATHS = [...ROUTES.matchAll(/(?:^ {2}path: |\bpage\(\s*)'([^']+)'/gm)].map(
  ([, path = '']) => path,
);
/** How many pages the routes load. */
export const PAGE_COUNT = ROUTES.split("import('./pages/").length - 1;

// Compares the pages deep in a long list with the second page of the same list.
import { toPage, type PagePosition } from '../../src/core/page.ts';
import { httpRequest } from './data.ts';
import { atMost, printFigures, printHeading } from './report.ts';
import type { ServerProcess, World } from './world.ts';

const LIMIT = 50;

interface List {
  readonly path: string;
  /** The list's name in its cursors. */
  readonly name: string;
  readonly team: string;
  /** A query for `at` and `id` of every row; `$1` is the team. */
  readonly rows: string;
}

const BIG = 'team_big';
const WIDE = 'team_wide';
/** The ids of the teams that have these lists. */
export const PAGE_TEAMS = { big: BIG, wide: WIDE };

const LISTS: readonly List[] = [
  {
    path: '/trainings',
    name: 'trainings',
    team: BIG,
    rows: 'select created_at as at, id from training where team_id = $1',
  },
  {
    path: '/trainings?status=aborted',
    name: 'trainings',
    team: BIG,
    rows: `select created_at as at, id from training where team_id = $1 and status = 'aborted'`,
  },
  {
    path: '/trainings?include=evaluation',
    name: 'trainings',
    team: BIG,
    rows: 'select created_at as at, id from training where team_id = $1',
  },
  {
    path: '/evaluations',
    name: 'evaluations',
    team: BIG,
    rows: 'select stored_at as at, training_id as id from evaluation where team_id = $1',
  },
  {
    path: '/assignments',
    name: 'assignments',
    team: BIG,
    rows: 'select created_at as at, id from assignment where team_id = $1',
  },
  {
    path: '/assignments?status=open',
    name: 'assignments',
    team: BIG,
    rows: `select created_at as at, id from assignment where team_id = $1 and status = 'open'`,
  },
  {
    path: '/cases',
    name: 'cases',
    team: BIG,
    rows: 'select created_at as at, id from training_case where team_id = $1 and not private',
  },
  {
    path: '/crm/deals',
    name: 'deals',
    team: BIG,
    rows: 'select created_at as at, id from crm_deal where team_id = $1',
  },
  {
    path: '/users',
    name: 'users',
    team: WIDE,
    rows: `select created_at as at, id from member where team_id = $1 and status <> 'ended'`,
  },
];

/** Prints the comparison for each list. Needs the teams of `PAGE_TEAMS` with their rows. */
export async function benchPages(
  world: World,
  api: ServerProcess,
  options: { keys: ReadonlyMap<string, string>; rounds: number },
): Promise<void> {
  printHeading('Pages of 50, median ms', ['page 2', 'deep', 'ratio']);
  for (const list of LISTS) {
    const { rows } = await world.pool.query<{ count: number }>(
      `select count(*)::int from (${list.rows}) r`,
      [list.team],
    );
    const count = rows[0]?.count ?? 0;
    // The last page is a full one, so that it is as much work as the others.
    const after = [LIMIT, Math.floor(count / 2), count - LIMIT - 1];
    const key = options.keys.get(list.team) ?? '';
    const requests: string[] = [];
    for (const offset of after)
      requests.push(httpRequest('GET', key, await pathAfter(world, list, offset)));
    const ask = (rounds: number) =>
      world.load({ ports: [api.port], requests, concurrency: 1, until: { rounds } });
    await ask(Math.ceil(options.rounds / 10));
    const [second = NaN, ...deep] = (await ask(options.rounds)).mediansMs;
    ['middle', 'last'].forEach((which, index) => {
      const ms = deep[index] ?? NaN;
      const figures = [second.toFixed(2), ms.toFixed(2), (ms / second).toFixed(2)];
      const what = `  ${list.path}, ${which} page of ${count.toLocaleString('en')} rows`;
      printFigures(what, figures, { value: ms / second, target: atMost(1.3) });
    });
  }
}

/**
 * Returns the path of the page after the first `offset` rows. Its cursor is made as the API makes
 * it, because walking there would take thousands of requests.
 */
async function pathAfter(
  world: World,
  { path, name, rows, team }: List,
  offset: number,
): Promise<string> {
  const select = `
    select to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, id
    from (${rows}) r
    order by r.at desc, id desc
    offset $2
    limit 1`;
  const { rows: found } = await world.pool.query<PagePosition>(select, [team, offset - 1]);
  const [row] = found;
  if (!row) throw new Error(`${path} has no row ${offset}`);
  const { nextCursor } = toPage(name, [row, row], 1, (position) => position);
  return `${path}${path.includes('?') ? '&' : '?'}limit=${LIMIT}&cursor=${nextCursor}`;
}

// Work for all teams takes them page by page, in the order of their ids: no statement grows with
// how many there are.
import { statement, type Db } from './client.ts';

const PAGE = statement<{ readonly id: string }>(
  'teams.page',
  'select id from team where id > $1 order by id limit $2',
);

/** Returns the ids of up to `limit` teams after this one, sandboxes among them. */
export async function listTeamIds(db: Db, after: string, limit: number): Promise<string[]> {
  return (await db.query(PAGE, [after, limit])).map(({ id }) => id);
}

/** The pages of all teams, one after the other. */
export async function* pagesOfTeams(db: Db, limit: number): AsyncGenerator<readonly string[]> {
  for (let page = await listTeamIds(db, '', limit); page.length > 0;) {
    yield page;
    page = await listTeamIds(db, page.at(-1) ?? '', limit);
  }
}

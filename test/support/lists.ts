// Lists of the REST API, and the teams beside which they are read.
import { expect } from 'vitest';
import { startTestApi, type TestApi } from './api.ts';
import { makeFullTeam, makeSeed, makeTeam, type TeamSeed } from './seed.ts';

/** A page of a list. */
export interface Page<Item = { readonly id: string }> {
  readonly data: Item[];
  readonly next_cursor: string | null;
}

/**
 * Starts an API with team a as described. Beside it are team b, which has an entry in every list,
 * and the team `off`, which has them too but does not show details of its members.
 */
export function startWithTeamA(fields: Partial<TeamSeed>): Promise<TestApi> {
  return startTestApi({
    seed: makeSeed([
      makeTeam('a', fields),
      makeFullTeam('b'),
      makeFullTeam('off', { privacy: { member_detail_enabled: false } }),
    ]),
  });
}

/** Reads a page of a list of team a, or of the key's team. It must not be refused. */
export async function readPage(api: TestApi, path: string, key = api.key('team_a')): Promise<Page> {
  const { status, body } = await api.call(key, 'GET', path);
  expect(status).toBe(200);
  return body as Page;
}

/** Reads a list of team a page by page. `path` has the limit. Returns the ids; no page is empty. */
export async function idsOfAllPages(api: TestApi, path: string): Promise<string[]> {
  const ids: string[] = [];
  let page = await readPage(api, path);
  for (;;) {
    expect(page.data).not.toEqual([]);
    ids.push(...idsOf(page));
    if (page.next_cursor === null) return ids;
    page = await readPage(api, `${path}&cursor=${page.next_cursor}`);
  }
}

/** The ids of the page's entries. */
export const idsOf = ({ data }: Page): string[] => data.map(({ id }) => id);

import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import type { Db } from '../../db/client.ts';
import { DEALS_LIST, OBJECTIONS_LIST } from './rules.ts';
import * as store from './store.ts';
import type { DealRow, ObjectionRow } from './store.ts';

/** Throws `validation_error` for a foreign cursor. */
export function listDeals(db: Db, teamId: string, query: PageQuery): Promise<Page<DealRow>> {
  return readPage(DEALS_LIST, query, (slice) => store.listDeals(db, teamId, slice));
}

/** Throws `validation_error` for a foreign cursor. */
export function listObjections(
  db: Db,
  teamId: string,
  query: PageQuery,
): Promise<Page<ObjectionRow>> {
  return readPage(OBJECTIONS_LIST, query, (slice) => store.listObjections(db, teamId, slice));
}

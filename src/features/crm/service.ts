import { parseCursor, toPage, type Page, type PagePosition } from '../../core/page.ts';
import type { Db } from '../../db/client.ts';
import { DEALS_LIST, OBJECTIONS_LIST } from './rules.ts';
import * as store from './store.ts';
import type { DealRow, ObjectionRow } from './store.ts';

interface PageQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** Throws `validation_error` for a foreign cursor. */
export async function listDeals(
  db: Db,
  teamId: string,
  { cursor, limit }: PageQuery,
): Promise<Page<DealRow>> {
  const rows = await store.listDeals(db, teamId, limit + 1, parseCursor(DEALS_LIST, cursor));
  return toPage(DEALS_LIST, rows, limit, positionOf);
}

/** Throws `validation_error` for a foreign cursor. */
export async function listObjections(
  db: Db,
  teamId: string,
  { cursor, limit }: PageQuery,
): Promise<Page<ObjectionRow>> {
  const rows = await store.listObjections(
    db,
    teamId,
    limit + 1,
    parseCursor(OBJECTIONS_LIST, cursor),
  );
  return toPage(OBJECTIONS_LIST, rows, limit, positionOf);
}

function positionOf(row: DealRow | ObjectionRow): PagePosition {
  return { at: row.created_at, id: row.id };
}

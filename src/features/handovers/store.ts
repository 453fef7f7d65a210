import type { PageSlice } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { columnsOf, listed, selectionOf, type RowOf } from '../../db/rows.ts';

const HANDOVER = columnsOf('Handover', 'team_id');
const SELECTION = selectionOf('Handover', HANDOVER);

/** A link with what it holds; `sealed` null: it was opened or withdrawn. */
export type HandoverRow = RowOf<'Handover', (typeof HANDOVER)[number]>;

/** A link in a list, without what it holds. */
export interface ListedRow extends Omit<HandoverRow, 'sealed'> {
  readonly is_sealed: boolean;
}

/** The link, or null. */
export async function findHandover(
  db: Db | Tx,
  teamId: string,
  id: string,
): Promise<HandoverRow | null> {
  const found = await db.prisma.handover.findFirst({
    where: { teamId, id },
    select: SELECTION.select,
  });
  return found && SELECTION.toRow(found);
}

/** A link in a list, with the name of its key. */
export interface ListedKeyRow extends ListedRow {
  readonly key_name: string;
}

const ORDER = ['h.created_at', 'h.id'] as const;
const LISTED = `${listed(columnsOf('Handover', 'team_id', 'sealed'), 'h.')},
     h.sealed is not null as is_sealed`;

const LIST = statement<ListedKeyRow>(
  'handovers.list',
  `select ${LISTED}, k.name as key_name
   from handover h
   join api_key k on k.team_id = $1 and k.id = h.key_id
   where h.team_id = $1
     and h.key_id is not null
     and ${isAfter(ORDER, ['$3', '$4'])}
   ${newestFirst(ORDER, '$2')}`,
);

/** Lists the links to keys of the last day, newest first, after `after`. */
export function listHandovers(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<ListedKeyRow[]> {
  return db.query(LIST, [teamId, limit, ...positionValues(after)]);
}

const LIST_OF_ENDPOINT = statement<ListedRow>(
  'handovers.listOfEndpoint',
  `select ${LISTED}
   from handover h
   where h.team_id = $1
     and h.endpoint_id = $5
     and ${isAfter(ORDER, ['$3', '$4'])}
   ${newestFirst(ORDER, '$2')}`,
);

/** The same of the links to the secrets of one endpoint. */
export function listOfEndpoint(
  db: Db,
  teamId: string,
  endpointId: string,
  { limit, after }: PageSlice,
): Promise<ListedRow[]> {
  return db.query(LIST_OF_ENDPOINT, [teamId, limit, ...positionValues(after), endpointId]);
}

/** Counts the links that can be opened. Call `lockTeam` first, in the same transaction. */
export function countOpen(tx: Tx, teamId: string, at: Date): Promise<number> {
  return tx.prisma.handover.count({
    where: { teamId, expiresAt: { gt: at }, sealed: { not: null } },
  });
}

/** Inserts a link. */
export async function insertHandover(tx: Tx, teamId: string, row: HandoverRow): Promise<void> {
  await tx.prisma.handover.createMany({ data: [{ teamId, ...SELECTION.toData(row) }] });
}

/** The link, locked until the transaction ends: only one call at a time can open or end it. */
export const findForOpening = statement<HandoverRow & { readonly is_team_active: boolean }>(
  'handovers.findForOpening',
  `select ${listed(HANDOVER, 'h.')},
     t.status = 'active' and t.erasing_since is null as is_team_active
   from handover h
   join team t on t.id = $1
   where h.team_id = $1 and h.id = $2
   for no key update of h`,
).finds<[tx: Tx, teamId: string, id: string]>();

/** Empties a link that was opened. The caller has locked it. */
export const markOpened = statement(
  'handovers.markOpened',
  `update handover
   set opened_at = $3, sealed = null
   where team_id = $1 and id = $2`,
).sends<[tx: Tx, teamId: string, id: string, at: Date]>();

/** Empties a link that must not be opened any more. The caller has locked it. */
export const withdraw = statement(
  'handovers.withdraw',
  `update handover
   set expires_at = least(expires_at, $3), sealed = null
   where team_id = $1 and id = $2`,
).sends<[tx: Tx, teamId: string, id: string, at: Date]>();

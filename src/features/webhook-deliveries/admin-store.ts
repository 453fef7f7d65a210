import { PAGE_LIMIT_MAX, type PageSlice, type SearchResult } from '../../core/page.ts';
import { statement, statementsByFilters, type Db, type Statement } from '../../db/client.ts';
import type { KeptAttempt } from '../../db/kept-attempts.ts';
import { BY_CREATION, newestFirst } from '../../db/keyset.ts';
import { listed, type RowOf } from '../../db/rows.ts';
import { FIRST_FILTER, IN_TIME, search, type FoundRow, type TimeRange } from '../../db/search.ts';
import type { DeliveryStatus } from '../../core/delivery-status.ts';
import { SHOWN, type DeliveryRow } from './store.ts';

const MORE = ['event_id', 'last_attempt_at'] as const;
const COLUMNS = listed([...SHOWN, ...MORE], 'd.');

/** A delivery as the team's admins see it. */
export type AdminDeliveryRow = DeliveryRow & RowOf<'WebhookDelivery', (typeof MORE)[number]>;

/** Which deliveries to list. */
export interface DeliveryFilters extends TimeRange {
  /** `failed`: `retrying` or `gave_up`. */
  readonly status?: DeliveryStatus | 'failed' | undefined;
  readonly event_type?: string | undefined;
  readonly endpoint_id?: string | undefined;
}

/**
 * How many deliveries a search reads before it returns a page, over all endpoints together. There
 * is no index of types, nor one of each status: every attempt would have to update it.
 */
const READ_MAX = 10_000;

/** Which deliveries a statement lists, as SQL. */
interface DeliveryText {
  readonly endpoints: string;
  /** Narrows the range of an index that is read. */
  readonly inRange: string;
  /** What must hold of those that were read, or nothing. */
  readonly condition: string;
}

/** SQL: the rows of the positions in `page`. */
const ROWS_OF_PAGE = `cross join lateral (
       select *
       from webhook_delivery
       where team_id = $1 and id = page.id
       limit 1
     ) d`;

type ListStatus = DeliveryStatus | 'failed' | 'any';

// Merges the pages of the team's endpoints, 50 at most. There is no index of a team's deliveries
// over all endpoints, because every attempt would have to update it. The status is part of the
// text, so that the planner finds the index of failed deliveries.
function listText({ endpoints, inRange }: DeliveryText): string {
  return `select ${COLUMNS}, null as reached_at, null as reached_id
     from (
       select found.*
       from ${endpoints}
       cross join lateral (
         select created_at, id
         from webhook_delivery
         where team_id = $1
           and endpoint_id = w.id
           and ${IN_TIME}${inRange}
         ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
       ) found
       ${newestFirst(['found.created_at', 'found.id'], '$2')}
     ) page
     ${ROWS_OF_PAGE}
     ${newestFirst(['page.created_at', 'page.id'])}`;
}

/** SQL: a range of an endpoint `w` in the order of the list. */
const rangeText = (inRange: string): string => `select created_at, id, status, event_type
             from webhook_delivery
             where team_id = $1
               and endpoint_id = w.id
               and ${IN_TIME}${inRange}
             ${newestFirst(BY_CREATION, READ_MAX)}`;

// Each endpoint has an equal share of what is read. Nothing older than the newest end of a share
// belongs to the page, because that endpoint may have something that comes before. An endpoint with
// a page of its own needs no end.
function scanText({ endpoints, inRange, condition }: DeliveryText): string {
  return `share as (
       select ${READ_MAX} / greatest(count(*), 1) as size
       from ${endpoints}
     ), scanned as materialized (
       select w.id as endpoint_id, found.created_at, found.id
       from ${endpoints}
       cross join lateral (
         select *
         from (
           select *
           from (
             ${rangeText(inRange)}
           ) range
           ${newestFirst(BY_CREATION)}
           limit (select size from share)
         ) near
         where ${condition}
         ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
       ) found
     ), reached as (
       select last.created_at as reached_at, last.id as reached_id
       from ${endpoints}
       cross join lateral (
         select created_at, id
         from (
           ${rangeText(
             `${inRange}
               and (
                 select count(*)
                 from scanned
                 where scanned.endpoint_id = w.id
               ) < $2`,
           )}
         ) range
         ${newestFirst(BY_CREATION)}
         offset (select size - 1 from share)
         limit 1
       ) last
       ${newestFirst(['last.created_at', 'last.id'], 1)}
     )`;
}

/**
 * SQL: the list of what holds for few of the deliveries in its range. An empty result still has a
 * row, which tells how far the search has read.
 */
function searchText(text: DeliveryText): string {
  return `with ${scanText(text)}
     select ${listed([...SHOWN, ...MORE], 'page.')}, reached.reached_at, reached.reached_id
     from (values (1)) one
     left join reached on true
     left join lateral (
       select ${COLUMNS}
       from (
         select created_at, id
         from scanned
         where reached.reached_at is null
           or (created_at, id) >= (reached.reached_at, reached.reached_id)
         ${newestFirst(BY_CREATION, '$2')}
       ) page
       ${ROWS_OF_PAGE}
     ) page on true
     ${newestFirst(['page.created_at', 'page.id'])}`;
}

const HAS_FAILED = ' and has_failed';

/** How the list of a status is read. There is an index of the deliveries that failed. */
const HOW = {
  any: { inRange: '', text: listText },
  failed: { inRange: HAS_FAILED, text: listText },
  gave_up: { inRange: HAS_FAILED, text: searchText },
  retrying: { inRange: HAS_FAILED, text: searchText },
  ok: { inRange: '', text: searchText },
  pending: { inRange: '', text: searchText },
} as const;

function listStatement(
  status: ListStatus,
  named: readonly string[],
): Statement<FoundRow<AdminDeliveryRow>> {
  const place = (name: string): string => `$${named.indexOf(name) + FIRST_FILTER}`;
  const isRange = status === 'any' || status === 'failed';
  const ofStatus = isRange ? [] : [`status = '${status}'`];
  const ofType = named.includes('event_type') ? [`event_type = ${place('event_type')}`] : [];
  const ofEndpoint = named.includes('endpoint_id') ? ` and id = ${place('endpoint_id')}` : '';
  const { inRange, text } = HOW[status];
  const read = text === listText && ofType.length > 0 ? searchText : text;
  return statement(
    ['webhooks.adminList', status, ...named].join('.'),
    read({
      endpoints: `(
         select team_id, id
         from webhook_endpoint
         where team_id = $1${ofEndpoint}
       ) w`,
      inRange,
      condition: [...ofStatus, ...ofType].join(' and ') || 'true',
    }),
    // Without its values, the planner reads all failed deliveries by the index that has their type,
    // and sorts them.
    { inOrder: read === searchText },
  );
}

const listsOf = (status: ListStatus) =>
  statementsByFilters(['event_type', 'endpoint_id'], (named) => listStatement(status, named));
const LISTS = {
  any: listsOf('any'),
  failed: listsOf('failed'),
  pending: listsOf('pending'),
  retrying: listsOf('retrying'),
  ok: listsOf('ok'),
  gave_up: listsOf('gave_up'),
} as const satisfies Record<ListStatus, unknown>;

/**
 * Lists deliveries of all endpoints, newest first, from the position `after` on. `limit` may be at
 * most one more than a page holds. With a status or a type it can return fewer although more
 * follow: then it says how far it has read.
 */
export function listDeliveries(
  db: Db,
  teamId: string,
  slice: PageSlice,
  filters: DeliveryFilters,
): Promise<SearchResult<AdminDeliveryRow>> {
  const { since, until } = filters;
  const filtered = LISTS[filters.status ?? 'any'](filters);
  return search(db, teamId, slice, { ...filtered, since, until });
}

/** An attempt that has ended. */
export type AttemptRow = KeptAttempt;

/** A delivery with all parts of its request. */
export interface DeliveryDetailRow
  extends AdminDeliveryRow, RowOf<'WebhookEndpoint', 'url' | 'api_version'> {
  /** JSON text, as it was stored when the event happened. */
  readonly event_data: string;
  readonly event_created_at: string;
  /** See `attemptsOf`. */
  readonly failed_attempts: unknown;
}

/** The delivery with its event and its endpoint, or null. */
export const findDelivery = statement<DeliveryDetailRow>(
  'webhooks.adminFind',
  `select ${COLUMNS}, d.failed_attempts, w.url, w.api_version, e.data::text as event_data,
     e.created_at as event_created_at
   from webhook_delivery d
   join webhook_endpoint w on w.team_id = d.team_id and w.id = d.endpoint_id
   join event e on e.team_id = d.team_id and e.id = d.event_id
   where d.team_id = $1 and d.id = $2`,
).finds<[db: Db, teamId: string, deliveryId: string]>();

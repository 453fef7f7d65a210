/**
 * SQL of the pages of assignments, which end after 256 KB. To measure each page would take half as
 * long again as reading it, and hardly any page is large. So a list is read without its long notes
 * first. Only if it has one, a second statement reads the page again, and measures it.
 */
import { PAGE_MAX_BYTES } from '../../core/page.ts';
import type { Keyset } from '../../db/keyset.ts';
import { bytesOf, thatFit } from '../../db/page-size.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';

export const COLUMNS = columnsOf('Assignment', 'team_id', 'updated_at');

/** An assignment with its recipient. */
export interface AssignmentRow extends RowOf<'Assignment', (typeof COLUMNS)[number]> {
  readonly external_ref: Record<string, unknown> | null;
  readonly member_user_id: string | null;
  /** null: the person was deleted. */
  readonly member_email: string | null;
}

/** A row of a page that is not measured. */
export interface UnmeasuredRow {
  /** true: the row may be too large for its page, and its note may be left out. */
  readonly is_long: boolean | null;
}

const RECIPIENT = `m.user_id as member_user_id,
     m.email as member_email`;

/** SQL: the columns of an `AssignmentRow`, from `assignment a` and its `member m`. */
export const ASSIGNMENT_COLUMNS = `${listed(COLUMNS, 'a.')}, ${RECIPIENT}`;

/** SQL: what a row may have so that a page of such rows fits. $2 is the limit. */
const SHARE = `${PAGE_MAX_BYTES} / $2`;

/** SQL: the same without what is long. Postgres knows both sizes without reading the values. */
const SHORT_COLUMNS = `${COLUMNS.map((name) =>
  name === 'note'
    ? `case when octet_length(a.note) <= ${SHARE} then a.note end as note`
    : `a.${name}`,
).join(', ')}, ${RECIPIENT},
     case
       when octet_length(a.note) > ${SHARE} or pg_column_size(a.external_ref) > ${SHARE} then true
     end as is_long`;

/**
 * SQL: the CTE `recipient`, the members of `page`, each looked up once. With a join or a list of
 * ids the planner may read all members of the team: of most teams that is cheaper.
 */
const RECIPIENTS = `recipient as materialized (
     select m.id, m.user_id, m.email
     from (select distinct member_id from page) of_page
     cross join lateral (
       select id, user_id, email
       from member
       where team_id = $1 and id = of_page.member_id
       limit 1
     ) m
   )`;

/** The pieces of a statement that reads a page. */
interface PageReading {
  /** SQL: the CTEs `page` and `recipient`, and what they need. */
  readonly page: string;
  /** SQL: the columns of its rows `a` and their recipients `m`. */
  readonly columns: string;
  /** SQL: the CTE with all rows of the page, also those that do not fit. */
  readonly whole: string;
}

/** How a page is read whose rows the query `rows` reads in the order. */
export type Reading = (list: { readonly rows: string; readonly order: Keyset }) => PageReading;

/** Reads the page without what is long: each row is an `UnmeasuredRow`. */
export const unmeasured: Reading = ({ rows }) => ({
  page: `page as materialized (
     ${rows}
   ), ${RECIPIENTS}`,
  columns: SHORT_COLUMNS,
  whole: 'page',
});

/** Reads as many rows as fit, and the next one: each row is a `MeasuredRow`. */
export const measured: Reading = ({ rows, order }) => {
  const columns = order[0] === 'at' ? `at, ${listed(COLUMNS)}` : listed(COLUMNS);
  const fitting = thatFit({
    columns,
    rows: `select ${columns},
         ${bytesOf('title', 'note')} + coalesce(octet_length(external_ref::text), 0) as bytes
       from whole`,
    order,
  });
  return {
    page: `whole as materialized (
     ${rows}
   ), page as materialized (
     ${fitting}
   ), ${RECIPIENTS}`,
    columns: `${ASSIGNMENT_COLUMNS}, a.fits`,
    whole: 'whole',
  };
};

/** Whether a page must be measured. */
export function isLong(rows: readonly UnmeasuredRow[]): boolean {
  return rows.some((row) => row.is_long === true);
}

/** SQL: the assignments `a` of `page` with their recipients `m`. */
export const PAGE_WITH_MEMBERS = `page a
   join recipient m on m.id = a.member_id`;

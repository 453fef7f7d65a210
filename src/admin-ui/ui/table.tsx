import { createContext, Fragment, useContext, type ReactNode } from 'react';
import { useFormat } from '../i18n/format.ts';
import { searchedText } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { searchedBackTo } from '../lib/pages.ts';
import { Button } from './button.tsx';

/** Whether the rows are those of before, while those that are asked for are still to come. */
export const StaleRows = createContext(false);

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  /** `main`: names the row. `number`: right-aligned. `actions`: buttons, with a hidden label. */
  readonly kind?: 'main' | 'number' | 'actions';
  /** How the rows are ordered by it, if they are. `other`: in an order of its own. */
  readonly sorted?: 'ascending' | 'descending' | 'other' | undefined;
  /** Orders the rows by it, or the other way round. */
  readonly onSort?: (() => void) | undefined;
}

/** A table. On small screens each row becomes a card, in which each value has its label. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  isFaded,
  isDense = false,
  detail,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly isFaded?: (row: Row) => boolean;
  /** For rows of one line each, of which there are many. */
  readonly isDense?: boolean;
  /** What stands below a row, over the whole width. */
  readonly detail?: (row: Row) => ReactNode;
}) {
  const isStale = useContext(StaleRows);
  return (
    <table
      className={isDense ? 'table dense' : 'table'}
      role="table"
      aria-busy={isStale || undefined}
    >
      <caption className="visually-hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ label, kind, sorted, onSort }) => (
            <th
              key={label}
              scope="col"
              role="columnheader"
              aria-sort={sorted}
              className={classOf(kind)}
            >
              <Head label={label} kind={kind} sorted={sorted} onSort={onSort} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <Fragment key={keyOf(row)}>
            <tr role="row" className={isFaded?.(row) ? 'faded' : undefined}>
              {columns.map(({ label, kind, cell }) =>
                kind === 'main' ? (
                  <th key={label} scope="row" role="rowheader">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={label} role="cell" className={classOf(kind)} data-label={label}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
            {detail && (
              <tr role="row" className="detail">
                <td role="cell" colSpan={columns.length} aria-colspan={columns.length}>
                  {detail(row)}
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function Head({
  label,
  kind,
  sorted,
  onSort,
}: Pick<Column<never>, 'label' | 'sorted' | 'onSort'> & {
  readonly kind: Column<never>['kind'];
}) {
  if (kind === 'actions') return <span className="visually-hidden">{label}</span>;
  const text = (
    <>
      {label}
      {sorted && <span aria-hidden="true"> {sorted === 'ascending' ? '↑' : '↓'}</span>}
    </>
  );
  return onSort ? (
    <button type="button" className="sort" onClick={onSort}>
      {text}
    </button>
  ) : (
    text
  );
}

function classOf(kind: Column<never>['kind']): string | undefined {
  return kind === undefined ? undefined : `cell-${kind}`;
}

/** The parts of an infinite query that `More` needs. */
interface PagesLike {
  readonly data: Parameters<typeof searchedBackTo>[0];
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly isPlaceholderData: boolean;
  readonly fetchNextPage: () => unknown;
}

/** Loads the page that follows, if there is one. Says how far a search has looked that goes on. */
export function More({ query, shown }: { readonly query: PagesLike; readonly shown: number }) {
  const t = useTexts();
  const format = useFormat();
  if (!query.hasNextPage) return null;
  const reached = searchedBackTo(query.data);
  return (
    <div className="more">
      <span className="hint">
        {reached === null ? t.common.shown(shown) : searchedText(t, format, reached)}
      </span>
      <Button
        busy={query.isFetchingNextPage || query.isPlaceholderData}
        onClick={() => void query.fetchNextPage()}
      >
        {reached === null ? t.common.more : t.common.searchFurther}
      </Button>
    </div>
  );
}

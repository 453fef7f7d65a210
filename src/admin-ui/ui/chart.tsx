/** Bars over time, without a chart library: made of boxes, so that no text is ever scaled. */
import { useId, useRef, useState, type KeyboardEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { Button } from './button.tsx';
import { Summary } from './states.tsx';
import { Table } from './table.tsx';

/** One bar. `parts` are stacked from the bottom. */
export interface Bar {
  readonly label: string;
  readonly parts: readonly { readonly tone: Tone; readonly value: number }[];
  /** All that there is to say about it. */
  readonly text: string;
  /** What the chart's own table says of it, by column. */
  readonly cells?: readonly string[];
}
export type Tone = 'main' | 'warn' | 'soft' | 'bad';

/**
 * The numbers of a chart as a table, for who does not see it: one that the chart brings along, or
 * that stands elsewhere on the page with this `id`.
 */
export type ChartTable =
  | { readonly id: string }
  | {
      /** What names a bar. */
      readonly of: string;
      /** Of the bars' `cells`. */
      readonly columns: readonly { readonly label: string; readonly kind?: 'number' }[];
    };

/** A chart that the arrow keys walk through. What is under the focus or the pointer is written. */
export function Bars({
  label,
  hint,
  bars,
  table,
  max,
}: {
  readonly label: string;
  readonly hint: string;
  readonly bars: readonly Bar[];
  readonly table: ChartTable;
  /** The value that fills the height; the largest one by default. */
  readonly max?: number;
}) {
  const ownTableId = useId();
  const group = useRef<HTMLDivElement>(null);
  const sum = ({ parts }: Bar) => parts.reduce((total, { value }) => total + value, 0);
  const top = max ?? Math.max(1, ...bars.map(sum));
  const last = bars.length - 1;
  // The latest bar that has something to say.
  const [current, setCurrent] = useState(() => bars.findLastIndex((bar) => sum(bar) > 0));
  const shown = current === -1 ? last : Math.min(current, last);
  const walk = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowLeft: shown - 1,
      ArrowRight: shown + 1,
      Home: 0,
      End: last,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(last, next));
    setCurrent(to);
    const bar = group.current?.children[to];
    if (bar instanceof HTMLElement) bar.focus();
  };
  return (
    <figure className="chart" aria-details={'id' in table ? table.id : ownTableId}>
      <figcaption className="hint">{hint}</figcaption>
      <div ref={group} className="bars" role="group" aria-label={label} onKeyDown={walk}>
        {bars.map((bar, place) => (
          <div
            key={`${place} ${bar.label}`}
            className="bar"
            role="img"
            aria-label={bar.text}
            tabIndex={place === shown ? 0 : -1}
            data-current={place === shown || undefined}
            onFocus={() => setCurrent(place)}
            onMouseEnter={() => setCurrent(place)}
          >
            {bar.parts
              .filter(({ value }) => value > 0)
              .map(({ tone, value }) => (
                <span
                  key={tone}
                  className={`part ${tone}`}
                  style={{ blockSize: `${(value / top) * 100}%` }}
                />
              ))}
          </div>
        ))}
      </div>
      <div className="axis" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
      <p className="reading" aria-hidden="true">
        {bars[shown]?.text}
      </p>
      {'of' in table && <OwnTable id={ownTableId} label={label} bars={bars} table={table} />}
    </figure>
  );
}

function OwnTable({
  id,
  label,
  bars,
  table: { of, columns },
}: {
  readonly id: string;
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly table: Exclude<ChartTable, { id: string }>;
}) {
  const t = useTexts();
  // A hundred rows that few people open would slow down the page for all.
  const [isOpen, setOpen] = useState(false);
  const rows = bars.map((bar, place) => ({ ...bar, place }));
  return (
    <details id={id} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <Summary of={label}>{t.common.asTable}</Summary>
      {isOpen && (
        <Table
          caption={label}
          rows={rows}
          keyOf={({ place }) => String(place)}
          columns={[
            { label: of, kind: 'main', cell: (row) => row.label },
            ...columns.map((column, index) => ({
              ...column,
              cell: ({ cells = [] }: (typeof rows)[number]) => cells[index],
            })),
          ]}
        />
      )}
    </details>
  );
}

/** Offers a table of values as a file. */
export function CsvButton({
  name,
  rows,
}: {
  readonly name: string;
  readonly rows: readonly (readonly (string | number)[])[];
}) {
  const t = useTexts();
  const download = () => {
    const quote = (value: string | number) => `"${String(value).replaceAll('"', '""')}"`;
    const text = rows.map((row) => row.map(quote).join(',')).join('\r\n');
    // Spreadsheets read UTF-8 only with this mark.
    const url = URL.createObjectURL(new Blob(['\uFEFF', text], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${name}.csv`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return <Button onClick={download}>{t.common.csv}</Button>;
}

/** Bars over time, without a chart library: made of boxes, so that no text is ever scaled. */
import { useId, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import {
  barAfterKey,
  csvOf,
  firstBar,
  namedBars,
  shownBar,
  topOf,
  type Bar,
  type Tone,
} from './bars.ts';
import { Button } from './button.tsx';
import { Summary } from './states.tsx';
import { Table } from './table.tsx';

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

/** The bar that is read, and the keys that lead from one to the next. */
function useWalk(bars: readonly Bar[], group: RefObject<HTMLDivElement | null>) {
  // What was shown at first stays, whatever comes later.
  const [current, setCurrent] = useState(() => firstBar(bars));
  const shown = shownBar(bars, current);
  const walk = (event: KeyboardEvent) => {
    const to = barAfterKey(event.key, shown, bars.length);
    if (to === null) return;
    event.preventDefault();
    setCurrent(to);
    const bar = group.current?.children[to];
    if (bar instanceof HTMLElement) bar.focus();
  };
  return { shown, setCurrent, walk };
}

interface LegendEntry {
  readonly tone: Tone;
  readonly text: string;
}

/** A chart that the arrow keys walk through. What is under the focus or the pointer is written. */
export function Bars({
  label,
  hint,
  bars,
  table,
  legend = [],
  max,
  isLimit = false,
  scale,
}: {
  readonly label: string;
  readonly hint: string;
  readonly bars: readonly Bar[];
  readonly table: ChartTable;
  /** What the colours mean, if there are several. */
  readonly legend?: readonly LegendEntry[];
  /** The value that fills the height; by default a round one that no bar exceeds. */
  readonly max?: number;
  /** Whether nothing may be higher than `max`. */
  readonly isLimit?: boolean;
  /** How the scale writes a value. */
  readonly scale?: (value: number) => string;
}) {
  const format = useFormat();
  const ownTableId = useId();
  const group = useRef<HTMLDivElement>(null);
  const top = max ?? topOf(bars);
  const { shown, setCurrent, walk } = useWalk(bars, group);
  return (
    <figure className="chart" aria-details={'id' in table ? table.id : ownTableId}>
      {legend.length > 0 && <Legend entries={legend} />}
      <figcaption className="hint">{hint}</figcaption>
      <Scale top={top} write={scale ?? format.number} />
      <div
        ref={group}
        className="bars"
        role="group"
        aria-label={label}
        data-limit={isLimit || undefined}
        onKeyDown={walk}
      >
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
            {bar.stub && <span className={`part stub ${bar.stub}`} />}
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
      <Axis bars={bars} />
      <p className="reading" aria-hidden="true">
        {bars[shown]?.text}
      </p>
      {'of' in table && <OwnTable id={ownTableId} label={label} bars={bars} table={table} />}
    </figure>
  );
}

/** Who does not see colours reads what each bar stands for. */
function Legend({ entries }: { readonly entries: readonly LegendEntry[] }) {
  return (
    <p className="legend" aria-hidden="true">
      {entries.map(({ tone, text }) => (
        <span key={tone}>
          <span className={`key ${tone}`} aria-hidden="true" />
          {text}
        </span>
      ))}
    </p>
  );
}

/** Who does not see it reads the values of each bar. */
function Scale({
  top,
  write,
}: {
  readonly top: number;
  readonly write: (value: number) => string;
}) {
  return (
    <div className="scale" aria-hidden="true">
      {[top, top / 2, 0].map((value) => (
        <span key={value}>{write(value)}</span>
      ))}
    </div>
  );
}

/** Names the first bar and the last one; each, if there are few and there is room. */
function Axis({ bars }: { readonly bars: readonly Bar[] }) {
  const { hasAll, named } = namedBars(bars);
  return (
    <div className="axis" aria-hidden="true" data-each={hasAll || undefined}>
      {named.map(({ label }, place) => (
        <span key={place}>{label}</span>
      ))}
    </div>
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
    // Spreadsheets read UTF-8 only with this mark.
    const url = URL.createObjectURL(new Blob(['\uFEFF', csvOf(rows)], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${name}.csv`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return <Button onClick={download}>{t.common.csv}</Button>;
}

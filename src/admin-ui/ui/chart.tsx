/** Bars over time, without a chart library: made of boxes, so that no text is ever scaled. */
import { useRef, useState, type KeyboardEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { Button } from './button.tsx';

/** One bar. `parts` are stacked from the bottom. */
export interface Bar {
  readonly label: string;
  readonly parts: readonly { readonly tone: Tone; readonly value: number }[];
  /** All that there is to say about it. */
  readonly text: string;
}
export type Tone = 'main' | 'warn' | 'soft' | 'bad';

/** A chart that the arrow keys walk through. What is under the focus or the pointer is written. */
export function Bars({
  label,
  hint,
  bars,
  max,
}: {
  readonly label: string;
  readonly hint: string;
  readonly bars: readonly Bar[];
  /** The value that fills the height; the largest one by default. */
  readonly max?: number;
}) {
  const [current, setCurrent] = useState(bars.length - 1);
  const group = useRef<HTMLDivElement>(null);
  const sum = ({ parts }: Bar) => parts.reduce((total, { value }) => total + value, 0);
  const top = max ?? Math.max(1, ...bars.map(sum));
  const shown = Math.min(current, bars.length - 1);
  const walk = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowLeft: shown - 1,
      ArrowRight: shown + 1,
      Home: 0,
      End: bars.length - 1,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(bars.length - 1, next));
    setCurrent(to);
    const bar = group.current?.children[to];
    if (bar instanceof HTMLElement) bar.focus();
  };
  return (
    <figure className="chart">
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
    </figure>
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

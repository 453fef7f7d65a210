/** Numbers and dates in the language of the page and the time zone of the reader. */
import type { Texts } from './en.ts';
import type { PageLanguage } from './languages.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Format {
  readonly number: (value: number) => string;
  readonly percent: (share: number) => string;
  /** For instance "+12%". */
  readonly change: (share: number) => string;
  /** Date and time. */
  readonly moment: (iso: string) => string;
  /** Date and time, to the second. */
  readonly second: (iso: string) => string;
  readonly day: (iso: string) => string;
  /** The time of day, without seconds. */
  readonly time: (iso: string) => string;
  /** For instance "24 November". */
  readonly dayOfYear: (iso: string) => string;
  /** A calendar day without a time zone, `YYYY-MM-DD`, as short as possible. */
  readonly shortDay: (day: string) => string;
  /** For instance "3 hours ago". */
  readonly ago: (iso: string, now?: number) => string;
  readonly list: (texts: readonly string[]) => string;
  /** Full minutes or hours, given in seconds. */
  readonly duration: (seconds: number) => string;
}

/** A count that may have ended before all was counted. */
export function atLeast(value: number, hasMore: boolean, t: Texts, format: Format): string {
  const text = format.number(value);
  return hasMore ? t.overview.atLeast(text) : text;
}

/** Says down to which time a search has looked. */
export function searchedText(t: Texts, format: Format, iso: string): string {
  return t.common.searchedBackTo(format.time(iso), format.dayOfYear(iso));
}

export function createFormat(language: PageLanguage): Format {
  const locale = language === 'de' ? 'de-DE' : 'en-GB';
  const number = new Intl.NumberFormat(locale);
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const change = new Intl.NumberFormat(locale, { style: 'percent', signDisplay: 'exceptZero' });
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  const second = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  const dayOfYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' });
  const shortDay = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const list = new Intl.ListFormat(locale, { type: 'conjunction' });
  return {
    number: (value) => number.format(value),
    percent: (share) => percent.format(share),
    change: (share) => change.format(share),
    moment: (iso) => moment.format(new Date(iso)),
    second: (iso) => second.format(new Date(iso)),
    day: (iso) => day.format(new Date(iso)),
    time: (iso) => time.format(new Date(iso)),
    dayOfYear: (iso) => dayOfYear.format(new Date(iso)),
    shortDay: (text) => shortDay.format(new Date(`${text}T00:00:00Z`)),
    ago: (iso, now = Date.now()) => {
      const ms = Date.parse(iso) - now;
      // As they are shown: 59.5 minutes are an hour, and not 60 minutes.
      const minutes = Math.round(ms / MINUTE_MS);
      if (Math.abs(minutes) < 60) return relative.format(minutes, 'minute');
      const hours = Math.round(ms / HOUR_MS);
      if (Math.abs(hours) < 24) return relative.format(hours, 'hour');
      return relative.format(Math.round(ms / DAY_MS), 'day');
    },
    list: (texts) => list.format(texts),
    duration: (seconds) => {
      const [unit, size] =
        seconds % 3_600 === 0 ? (['hour', 3_600] as const) : (['minute', 60] as const);
      const style = { style: 'unit', unit, unitDisplay: 'long' } as const;
      return new Intl.NumberFormat(locale, style).format(seconds / size);
    },
  };
}

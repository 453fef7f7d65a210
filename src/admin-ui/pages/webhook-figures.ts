/** The numbers of one webhook endpoint: see `webhook.tsx`. */
import type { Texts } from '../i18n/en.ts';
import { atLeast, type Format } from '../i18n/formats.ts';
import type { RouterOutputs } from '../lib/api.ts';
import type { Bar } from '../ui/bars.ts';
import { explanationOf, type Delivery } from './delivery-outcome.ts';

type Backlog = RouterOutputs['admin']['deliveries']['backlog'];

/** How many of the last deliveries are in the table. */
const SHOWN = 5;

/** What waits, in the order in which it will be tried; null if nothing does. */
export function backlogBars(
  { first, again, has_more }: Backlog,
  t: Texts,
  format: Format,
): { readonly total: string; readonly bars: readonly Bar[] } | null {
  const total = again.reduce((sum, { count }) => sum + count, first);
  if (total === 0) return null;
  const groups = [
    { when: t.webhooks.backlogFirst, count: first, tone: 'soft' as const },
    ...again.map(({ within_s: withinS, count }) => ({
      when: whenOf(withinS, t, format),
      count,
      tone: 'warn' as const,
    })),
  ];
  const bars = groups.map(({ when, count, tone }) => ({
    label: when,
    parts: [{ tone, value: count }],
    text: t.webhooks.backlogBar(format.number(count), when),
    cells: [format.number(count)],
  }));
  return { total: atLeast(total, has_more, t, format), bars };
}

/** When a group of the backlog is tried again. */
function whenOf(withinS: number | null, t: Texts, format: Format): string {
  if (withinS === null) return t.webhooks.backlogLater;
  if (withinS === 0) return t.webhooks.backlogDue;
  return t.webhooks.backlogWithin(format.duration(withinS));
}

/** The last deliveries, which are read with the latest first. `tried`: the oldest first. */
export function recentOf(deliveries: readonly Delivery[]) {
  const tried = deliveries.filter(({ status }) => status !== 'pending').toReversed();
  return {
    tried,
    arrived: tried.filter(({ status }) => status === 'ok').length,
    shown: deliveries.slice(0, SHOWN),
  };
}

/** How long the receiver took to answer each delivery. One without an answer is a stub. */
export function answerBars(tried: readonly Delivery[], t: Texts, format: Format): readonly Bar[] {
  return tried.map((delivery): Bar => {
    const { created_at, status, response_code: code, response_ms: ms } = delivery;
    const moment = created_at === null ? '' : format.moment(created_at);
    const took = ms === null ? '' : t.deliveries.ms(format.number(ms));
    const { what } = explanationOf(t, delivery);
    const tone = status === 'ok' ? 'main' : 'bad';
    return {
      label: moment,
      // An attempt without an answer took time, too: none at a closed port, much at a silent one.
      ...(code === null || ms === null
        ? { parts: [], stub: tone }
        : { parts: [{ tone, value: ms }] }),
      text: `${[moment, took].filter(Boolean).join(', ')}: ${what}`,
      cells: [took, what],
    };
  });
}

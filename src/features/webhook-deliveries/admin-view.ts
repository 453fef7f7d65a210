import type { z } from 'zod';
import type {
  adminDelivery,
  adminDeliveryDetail,
  backlog,
  endpointHealth,
  resendCount,
} from './admin-schema.ts';
import type { AdminDeliveryRow, AttemptRow, DeliveryDetailRow } from './admin-store.ts';
import type { Backlog, Health } from './health-store.ts';
import type { Counted } from './resend-store.ts';
import { toDelivery } from './view.ts';

/** A delivery as the list shows it. */
export function toAdminDelivery(row: AdminDeliveryRow): z.input<typeof adminDelivery> {
  const { endpoint_id, event_id, last_attempt_at } = row;
  return { ...toDelivery(row), endpoint_id, event_id, last_attempt_at };
}

/** A delivery with its request and its attempts. */
export function toAdminDeliveryDetail(detail: {
  readonly row: DeliveryDetailRow;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly attempts: readonly AttemptRow[];
}): z.input<typeof adminDeliveryDetail> {
  const { row, headers, body, attempts } = detail;
  return {
    ...toAdminDelivery(row),
    request: {
      method: 'POST',
      url: row.url,
      headers: { ...headers },
      body,
    },
    attempts: [...attempts],
  };
}

/** The health of an endpoint. */
export function toHealth({
  arrived,
  days,
  has_more,
  ...row
}: Health): z.input<typeof endpointHealth> {
  const byDay = new Map<string, { day: string; arrived: number; failed: number }>();
  for (const [place, day] of days.entries()) {
    const counted = byDay.get(day) ?? { day, arrived: 0, failed: 0 };
    counted[arrived[place] === true ? 'arrived' : 'failed'] += 1;
    byDay.set(day, counted);
  }
  return { ...row, arrived: [...arrived], days: [...byDay.values()], has_more: [...has_more] };
}

/** What a resend would send. */
export function toResendCount({
  total,
  hasMore,
  paused,
}: {
  readonly total: number;
  readonly hasMore: boolean;
  readonly paused: readonly (Counted & { readonly endpoint_id: string })[];
}): z.input<typeof resendCount> {
  return {
    total,
    has_more: hasMore,
    paused: paused.map((one) => ({
      endpoint_id: one.endpoint_id,
      failed: one.failed,
      has_more: one.hasMore,
    })),
  };
}

/** What waits at an endpoint. */
export function toBacklog({ first, again, hasMore }: Backlog): z.input<typeof backlog> {
  return {
    first,
    again: again.map(({ withinS, count }) => ({ within_s: withinS, count })),
    has_more: hasMore,
  };
}

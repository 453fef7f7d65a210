import type { z } from 'zod';
import { redactEventData, type Privacy } from '../../core/privacy.ts';
import type { adminDelivery, adminDeliveryDetail, resend } from './admin-schema.ts';
import type { AdminDeliveryRow, AttemptRow, DeliveryDetailRow } from './admin-store.ts';
import type { ResendRow } from './resend-store.ts';
import { toDelivery } from './view.ts';

/** A delivery as the list shows it. */
export function toAdminDelivery(row: AdminDeliveryRow): z.input<typeof adminDelivery> {
  const { endpoint_id, event_id, last_attempt_at } = row;
  return { ...toDelivery(row), endpoint_id, event_id, last_attempt_at };
}

/** A delivery with its request and its attempts. `privacy` decides whether the body is shown. */
export function toAdminDeliveryDetail(
  privacy: Privacy,
  detail: {
    readonly row: DeliveryDetailRow;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly attempts: readonly AttemptRow[];
  },
): z.input<typeof adminDeliveryDetail> {
  const { row, headers, body, attempts } = detail;
  return {
    ...toAdminDelivery(row),
    request: {
      method: 'POST',
      url: row.url,
      headers: { ...headers },
      body: mayShow(privacy, row) ? body : null,
    },
    attempts: attempts.map(({ attempt, ended_at, response_code, response_ms, error }) => ({
      attempt,
      ended_at,
      response_code,
      response_ms,
      error,
    })),
  };
}

/**
 * Whether the body may be shown under the current switches. It was built under those of the time of
 * the event.
 */
function mayShow(privacy: Privacy, row: DeliveryDetailRow): boolean {
  const data = JSON.parse(row.event_data) as object;
  return (
    Object.keys(redactEventData(privacy, row.event_type, data)).length === Object.keys(data).length
  );
}

/** A bulk resend as the app shows it. */
export function toResend(row: ResendRow): z.input<typeof resend> {
  const { position_at, position_id: _notShown, ...shown } = row;
  return { ...shown, reached_at: position_at };
}

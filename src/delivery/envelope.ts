import { createHmac } from 'node:crypto';

/** The parts of a delivery's body. */
export interface EnvelopeParts {
  readonly id: string;
  readonly type: string;
  /** ISO, UTC, milliseconds. */
  readonly createdAt: string;
  readonly apiVersion: string;
  readonly teamId: string;
  /**
   * The JSON text that was stored when the event happened. It goes into the body unchanged, so
   * every attempt sends the same bytes.
   */
  readonly data: string;
}

/** Returns the body of a delivery: the envelope with the data of the event. */
export function envelopeText({
  id,
  type,
  createdAt,
  apiVersion,
  teamId,
  data,
}: EnvelopeParts): string {
  const head = JSON.stringify({
    id,
    type,
    created_at: createdAt,
    api_version: apiVersion,
    tenant_id: teamId,
  });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/**
 * Returns the headers of an attempt. The signature is the HMAC-SHA256 of `<t>.<body>` with the
 * endpoint's secret as key, where `t` is the time of the attempt in seconds since 1970.
 */
export function deliveryHeaders(
  body: string,
  options: { secret: string; eventId: string; at: Date },
): Record<string, string> {
  const t = Math.floor(options.at.getTime() / 1000);
  const v1 = createHmac('sha256', options.secret).update(`${t}.${body}`).digest('hex');
  return {
    'content-type': 'application/json',
    'user-agent': 'TeamCustomerApi-Webhooks/1',
    'svc-signature': `t=${t},v1=${v1}`,
    'svc-event-id': options.eventId,
  };
}

import { createHmac } from 'node:crypto';

/** What the body of a delivery is made of. */
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

/** The body of a delivery (specification, "Envelope"). */
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

/** The headers of an attempt: signature and event id (specification, "Signature and headers"). */
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

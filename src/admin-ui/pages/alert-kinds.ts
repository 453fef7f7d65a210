import type { RouterOutputs } from '../lib/api.ts';
import { everyOf } from '../lib/every-of.ts';

type Alerts = RouterOutputs['admin']['alerts']['get'];
export type AlertKind = Alerts['kinds'][number];
export const ALERT_KINDS = everyOf<AlertKind>({ webhooks: true, errors: true, keys: true });

export interface AlertChange {
  readonly kind: AlertKind;
  readonly isWanted: boolean;
}

/** The alerts after a change, in the order of the page. */
export function withAlert({ kinds }: Alerts, { kind, isWanted }: AlertChange): Alerts {
  return { kinds: ALERT_KINDS.filter((one) => (one === kind ? isWanted : kinds.includes(one))) };
}

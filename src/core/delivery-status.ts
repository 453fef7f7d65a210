/** The statuses of a delivery; `delivery/schedule.ts` says which follows which. */
export const DELIVERY_STATUSES = ['pending', 'retrying', 'ok', 'gave_up'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

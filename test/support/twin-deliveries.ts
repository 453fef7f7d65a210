/** The deliveries of two teams with the same ids, for the tests of the stores in src/delivery. */
import { expect } from 'vitest';
import type { ClaimedDelivery } from '../../src/delivery/claim-store.ts';
import { openTwinStores, type TwinStores } from './twin-stores.ts';

export const NOW = new Date('2026-11-18T12:00:00.000Z');
export const seconds = (count: number): Date => new Date(NOW.getTime() + count * 1000);
export const STATUSES = ['pending', 'retrying'] as const;

export interface TwinDeliveries {
  readonly twins: TwinStores;
  /** Sets columns of deliveries, `team_a whd_1`. */
  readonly set: (text: string, ...keys: string[]) => Promise<void>;
  /** Sets columns of an endpoint, `team_a whe_1`. */
  readonly setEndpoint: (key: string, text: string) => Promise<unknown>;
}

/** All deliveries are done. Endpoints and events say whose they are. */
export async function openTwinDeliveries(): Promise<TwinDeliveries> {
  const twins = await openTwinStores();
  await twins.pool.query(
    `update webhook_delivery
     set status = 'ok', claimed_by = null, urgent = false, next_try_at = null`,
  );
  await twins.pool.query(
    `update webhook_endpoint set url = 'https://of.test/' || team_id || '/' || id`,
  );
  await twins.pool.query(`update event set data = to_json(team_id || ' ' || id)`);
  await twins.pool.query('delete from event_in_hand');
  return {
    twins,
    set: async (text, ...keys) => {
      await twins.pool.query(
        `update webhook_delivery set ${text} where team_id || ' ' || id = any ($1)`,
        [keys],
      );
    },
    setEndpoint: (key, text) =>
      twins.pool.query(`update webhook_endpoint set ${text} where team_id || ' ' || id = $1`, [
        key,
      ]),
  };
}

export const keysOf = (rows: readonly { team_id: string; id: string }[]): string[] =>
  rows.map(({ team_id, id }) => `${team_id} ${id}`);
export const refsOf = (
  rows: readonly { readonly team_id: string; readonly endpoint_id: string }[],
): string[] => rows.map(({ team_id, endpoint_id }) => `${team_id} ${endpoint_id}`);
export const released = (...keys: string[]) => ({
  webhook_delivery: keys.map((key) => `${key}: claimed_by 7 → null`),
});

/** Every claimed delivery has the endpoint and the event of its own. */
export function expectOwnParts(rows: readonly ClaimedDelivery[]): void {
  for (const { team_id, endpoint_id, event_id, url, event_data } of rows) {
    expect(url).toBe(`https://of.test/${team_id}/${endpoint_id}`);
    expect(event_data).toBe(`"${team_id} ${event_id}"`);
  }
}

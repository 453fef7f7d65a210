// A delivery gets all its scheduled attempts, whatever is asked for between and during them.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { NO_ANSWER } from '../../src/delivery/attempt-result.ts';
import { recordOf } from '../../src/delivery/attempts.ts';
import { claimDue, releaseClaims, type ClaimedDelivery } from '../../src/delivery/claim-store.ts';
import { recordAttempts } from '../../src/delivery/result-store.ts';
import { WAITING_STATUSES } from '../../src/delivery/waiting-store.ts';
import { queueBatch } from '../../src/features/webhook-deliveries/resend-store.ts';
import { makeUrgent } from '../../src/features/webhook-deliveries/store.ts';
import { openTwinStores } from '../support/twin-stores.ts';

const START = new Date('2026-11-20T10:00:00.000Z');
const RETRY_DELAYS_S = [60, 300, 1800];
const WORKER = 7;
const ID = 'whd_2';

const STEPS = ['resend', 'retry', 'claim', 'release', 'fail', 'wait'] as const;
type Step = (typeof STEPS)[number];

async function startDelivery() {
  const { db, pool, inTransaction } = await openTwinStores();
  const clock = fixedClock(START);
  await pool.query(`delete from webhook_delivery where team_id <> 'team_a' or id <> $1`, [ID]);
  await pool.query(
    `update webhook_delivery
     set endpoint_id = 'whe_1', status = 'pending', attempt = 0, claimed_by = null,
       created_at = $1, next_try_at = $1`,
    [START],
  );
  type Row = { status: string; next_try_at: string | null };
  const read = async (): Promise<Row> => {
    const { rows } = await pool.query<Row>(
      `select status, next_try_at from webhook_delivery where team_id = 'team_a'`,
    );
    return rows[0] as Row;
  };
  const claim = async () => {
    const shares = [{ queue: { teamId: 'team_a', endpointId: 'whe_1' }, room: 1 }];
    for (const status of WAITING_STATUSES) {
      const now = clock.now();
      const [row] = await claimDue(db, status, { worker: WORKER, shares, now });
      if (row) return row;
    }
    return null;
  };
  let inHand: { row: ClaimedDelivery; asked: typeof asked } | null = null;
  /** What was asked for and not attempted since. */
  let asked = { retry: false, resend: false };
  /** Attempts that nobody had asked for when they were claimed. */
  let scheduled = 0;
  const steps: Record<Step, () => Promise<unknown>> = {
    resend: async () => {
      const { status } = await read();
      if (status !== 'pending' && !asked.retry) asked = { ...asked, resend: true };
      const resend = {
        id: 'whr_1',
        endpoint_id: 'whe_1',
        state: 'running' as const,
        since: START.toISOString(),
        until: null,
        event_type: null,
        status: null,
        total: 1,
        has_more: false,
        sent: 0,
        position_at: null,
        position_id: null,
        created_at: clock.now().toISOString(),
        finished_at: null,
      };
      return inTransaction((tx) =>
        queueBatch(tx, 'team_a', { resend, limit: 9, room: 9, now: clock.now() }),
      );
    },
    retry: async () => {
      const { status } = await read();
      if (status === 'pending') return;
      asked = { ...asked, retry: true };
      await inTransaction((tx) => makeUrgent(tx, 'team_a', ID));
    },
    claim: async () => {
      const row = inHand ? null : await claim();
      if (row) inHand = { row, asked };
    },
    release: async () => {
      if (inHand) await releaseClaims(db, WORKER, [inHand.row]);
      inHand = null;
    },
    fail: async () => {
      await steps.claim();
      if (!inHand) return;
      const { row, asked: by } = inHand;
      const result = { ...NO_ANSWER, responseMs: 1, error: 'timeout' } as const;
      const options = { clock, retryDelaysS: RETRY_DELAYS_S };
      await recordAttempts(db, WORKER, [recordOf(options, row, result, 1)], { skipsLocked: false });
      inHand = null;
      if (!by.retry && !by.resend) scheduled += 1;
      asked = { retry: asked.retry && !by.retry, resend: asked.resend && !by.resend };
      const { status, next_try_at } = await read();
      const isOver = scheduled === RETRY_DELAYS_S.length + 1;
      const over = { status: 'gave_up', next_try_at: null };
      const waits = { status: 'retrying', next_try_at: expect.any(String) };
      // A resend during the last attempt makes it wait once more.
      expect([waits, ...(isOver ? [over] : [])]).toContainEqual({ status, next_try_at });
    },
    wait: async () => {
      const { next_try_at: at } = await read();
      if (at) clock.advance(Math.max(0, Date.parse(at) - clock.now().getTime()));
    },
  };
  const isOver = async () => (await read()).status === 'gave_up' && !asked.retry && !asked.resend;
  return { steps, isOver, scheduled: () => scheduled };
}

test('it gives up after the last wait only, in any sequence of resends and retries', async () => {
  const sequence = fc.array(fc.constantFrom(...STEPS), { minLength: 5, maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(sequence, async (names) => {
      const { steps, isOver, scheduled } = await startDelivery();
      for (const name of names) await steps[name]();
      while (!(await isOver())) {
        await steps.wait();
        await steps.fail();
      }
      expect(scheduled()).toBe(RETRY_DELAYS_S.length + 1);
    }),
    { numRuns: 30 },
  );
});

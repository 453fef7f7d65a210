// What waits for the workers, of two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import { readBacklog } from '../../src/delivery/backlog-store.ts';
import { makeSandbox } from '../support/sandbox.ts';
import { openTwinDeliveries, type TwinDeliveries } from '../support/twin-deliveries.ts';

let twins: TwinDeliveries['twins'];
let setEndpoint: TwinDeliveries['setEndpoint'];
beforeEach(async () => {
  ({ twins, setEndpoint } = await openTwinDeliveries());
});

describe('readBacklog', () => {
  const backlog = () => readBacklog(twins.db);

  test('tells the age of the oldest event without deliveries', async () => {
    await twins.pool.query(`update event set created_at = now() - interval '1 hour'`);
    expect(await backlog()).toMatchObject({ fanOutLagS: 0 });
    // Half a minute more than the minutes that are expected: created_at is rounded to milliseconds,
    // up as well, so that an event of exactly nine minutes can be a little younger than that.
    await twins.pool.query(
      `update event
       set fanned_out_at = null,
         created_at = now() - interval '1 minute' * case team_id when 'team_a' then 5.5 else 9.5 end
       where id = 'evt_1'`,
    );
    const { fanOutLagS } = await backlog();
    expect(Math.floor(fanOutLagS / 60)).toBe(9);
  });

  test('counts jobs that are due or that nobody has taken yet, and paused endpoints', async () => {
    const before = await backlog();
    expect(before).toMatchObject({ jobs: 2, pausedEndpoints: 1, oldestDueAt: null });
    await twins.pool.query(
      `select graphile_worker.add_job('x', run_at => now() + make_interval(hours => n))
       from unnest(array[-1, 1]) n`,
    );
    await setEndpoint('team_b whe_5', `status = 'disabled_failures'`);
    expect(await backlog()).toMatchObject({ jobs: 3, pausedEndpoints: 2 });
  });

  test('sees nothing of a sandbox, however much waits there', async () => {
    const due = async () => {
      await twins.pool.query(
        `update webhook_delivery
         set status = 'pending', next_try_at = now() - interval '1 hour', claimed_by = null
         where team_id = 'team_b'`,
      );
      await twins.pool.query(
        `update event set fanned_out_at = null, created_at = now() - interval '1 hour'
         where team_id = 'team_b'`,
      );
      await setEndpoint('team_b whe_5', `status = 'disabled_failures'`);
      await twins.pool.query(
        `select graphile_worker.add_job('x', json_build_object('teamId', 'team_b'))`,
      );
    };
    const before = await backlog();
    await due();
    const after = await backlog();
    expect(after.fanOutLagS).toBeGreaterThan(3_000);
    expect(after.oldestDueAt).not.toBeNull();
    expect(after.jobs).toBeGreaterThan(before.jobs);
    await makeSandbox(twins.pool, 'team_b', 'team_a:sandbox');
    const { rows } = await twins.pool.query(`select count(*)::int as left from pending_job
      where team_id = 'team_a'`);
    expect(await backlog()).toEqual({
      fanOutLagS: 0,
      oldestDueAt: null,
      pausedEndpoints: before.pausedEndpoints,
      jobs: rows[0]?.left,
    });
  });
});

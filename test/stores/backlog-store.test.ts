// What waits for the workers, of two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import { readBacklog } from '../../src/delivery/backlog-store.ts';
import { jobIdOf } from '../support/jobs.ts';
import { makeSandbox } from '../support/sandbox.ts';
import { openTwinDeliveries, type TwinDeliveries } from '../support/twin-deliveries.ts';

let twins: TwinDeliveries['twins'];
let set: TwinDeliveries['set'];
let setEndpoint: TwinDeliveries['setEndpoint'];
beforeEach(async () => {
  ({ twins, set, setEndpoint } = await openTwinDeliveries());
});

const NO_RETRIES = { under_1h: 0, under_6h: 0, under_1d: 0, older: 0 };

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

  test('counts paused endpoints', async () => {
    expect(await backlog()).toMatchObject({ pausedEndpoints: 1, oldestDueAt: null });
    await setEndpoint('team_b whe_5', `status = 'disabled_failures'`);
    expect(await backlog()).toMatchObject({ pausedEndpoints: 2 });
  });

  test('counts the jobs of each task that are due or not handed over yet', async () => {
    const { jobs: before } = await backlog();
    expect(before.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    const task = before[0]?.task ?? '';
    await twins.pool.query(
      `select graphile_worker.add_job($1, run_at => now() + make_interval(hours => n))
       from unnest(array[-1, -2, 1]) n`,
      [task],
    );
    const { jobs } = await backlog();
    const found = jobs.find((one) => one.task === task);
    expect(found?.count).toBe((before[0]?.count ?? 0) + 2);
    expect(Math.round((found?.oldest_s ?? 0) / 3600)).toBe(2);
  });

  test('tells how long a job has waited that no worker has handed over', async () => {
    const add = (id: string) =>
      twins.pool.query(
        `insert into pending_job (team_id, id, task, payload) values ('team_a', $1, 'late', '{}')`,
        [id],
      );
    const find = async () => (await backlog()).jobs.find(({ task }) => task === 'late');
    const now = Date.now();
    for (const hours of [2, 5]) await add(jobIdOf(now - hours * 3_600_000));
    const pending = await find();
    expect(pending).toMatchObject({ count: 2 });
    expect(Math.round((pending?.oldest_s ?? 0) / 3600)).toBe(5);
    await twins.pool.query(
      `select graphile_worker.add_job('late', run_at => now() - interval '7 hours')`,
    );
    const both = await find();
    expect(both).toMatchObject({ count: 3 });
    expect(Math.round((both?.oldest_s ?? 0) / 3600)).toBe(7);
  });

  test('counts no job that somebody runs, or that has failed for the last time', async () => {
    const { jobs: before } = await backlog();
    await twins.pool.query(
      `select graphile_worker.add_job('x', run_at => now() - interval '1 hour', max_attempts => 1)
       from generate_series(1, 3)`,
    );
    expect((await backlog()).jobs).toContainEqual(expect.objectContaining({ task: 'x', count: 3 }));
    const run = (changes: string) =>
      twins.pool.query(
        `update graphile_worker._private_jobs
         set ${changes}
         where id = (select min(id) from graphile_worker.jobs where task_identifier = 'x'
           and locked_at is null and attempts = 0)`,
      );
    await run(`locked_at = now(), locked_by = 'a worker'`);
    await run('attempts = 1');
    const { jobs } = await backlog();
    expect(jobs).toContainEqual(expect.objectContaining({ task: 'x', count: 1 }));
    expect(jobs).toEqual(
      expect.arrayContaining(before.map(({ task }) => expect.objectContaining({ task }))),
    );
  });

  test('counts deliveries that wait for their next attempt by their age', async () => {
    expect((await backlog()).retries).toEqual(NO_RETRIES);
    const wait = (age: string, until: string, ...keys: string[]) =>
      set(
        `status = 'retrying', created_at = now() - interval '${age}',
         next_try_at = now() + interval '${until}'`,
        ...keys,
      );
    await wait('59 minutes', '1 minute', 'team_a whd_1');
    await wait('61 minutes', '30 minutes', 'team_b whd_1', 'team_a whd_2');
    await wait('7 hours', '7 hours', 'team_b whd_2');
    await wait('25 hours', '9 hours', 'team_a whd_3');
    await wait('25 hours', '-1 minute', 'team_b whd_3');
    const expected = { under_1h: 1, under_6h: 2, under_1d: 1, older: 1 };
    expect((await backlog()).retries).toEqual(expected);
    await set('claimed_by = 7', 'team_a whd_3');
    expect((await backlog()).retries).toEqual({ ...expected, older: 0 });
  });

  test('sees nothing of a sandbox, however much waits there', async () => {
    const due = async () => {
      await twins.pool.query(
        `update webhook_delivery
         set status = 'pending', next_try_at = now() - interval '1 hour', claimed_by = null
         where team_id = 'team_b'`,
      );
      await set(`status = 'retrying', next_try_at = now() + interval '1 hour'`, 'team_b whd_1');
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
    expect(after.retries).not.toEqual(NO_RETRIES);
    const countOf = ({ jobs }: typeof after) => jobs.reduce((sum, { count }) => sum + count, 0);
    expect(countOf(after)).toBeGreaterThan(countOf(before));
    await makeSandbox(twins.pool, 'team_b', 'team_a:sandbox');
    const { rows } = await twins.pool.query(`select count(*)::int as left from pending_job
      where team_id = 'team_a'`);
    const { jobs, ...others } = await backlog();
    expect(countOf({ ...after, jobs })).toBe(rows[0]?.left);
    expect(others).toEqual({
      fanOutLagS: 0,
      oldestDueAt: null,
      pausedEndpoints: before.pausedEndpoints,
      retries: NO_RETRIES,
    });
  });
});

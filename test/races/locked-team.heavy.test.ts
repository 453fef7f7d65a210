// A team is replaced again and again while everything that it can do happens at once. It takes the
// machine's time, so that many orders of locks meet; `test/record-locks.ts` judges each by itself.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { loadTestSeed, startTestApi } from '../support/api.ts';
import { codeOf } from '../support/app.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { describeEvaluation, describeTraining, platformOf } from '../support/platform.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeFullTeam, makeSeed, memberId } from '../support/seed.ts';

/** The limit of a statement, a wait for a lock included. */
const GIVES_UP_AFTER_MS = 4_500;

test('replacements while the team does everything it can deadlock with nothing', async () => {
  const receiver = await startReceiver();
  const events = ['assignment.created' as const, 'member.joined' as const];
  const seed = makeSeed([
    makeFullTeam('a', {
      webhook_endpoints: [{ id: 'whe_a', url: `${receiver.url}/a`, events }],
    }),
  ]);
  const api = await startTestApi({ seed, allowPrivateTargets: true });
  const deliveries = await startDeliveries(api, { clock: systemClock });
  const platform = await platformOf(api);
  let key = api.key('team_a');
  let isOver = false;
  const seen = new Map<string, number>();
  const repeat = async (work: (count: number) => Promise<unknown>): Promise<void> => {
    for (let count = 0; !isOver; count += 1) {
      const outcome = String(await work(count));
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      await delay(1);
    }
  };
  const send = async (method: string, path: string, body?: object) =>
    (await api.call(key, method, path, body === undefined ? {} : { body })).status;
  const working = Promise.all([
    repeat(() =>
      send('POST', '/assignments', {
        member_id: memberId('a', 'member'),
        title: 'Practise',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      }),
    ),
    repeat(() => send('PATCH', '/assignments/asg_a', { status: 'done' })),
    repeat(() => send('DELETE', '/assignments/asg_a')),
    repeat(() => send('PATCH', '/cases/cas_a', { title: 'Other' })),
    repeat((count) => send('POST', '/users', { email: `new${count}@a.test` })),
    repeat(() => send('DELETE', `/users/${memberId('a', 'member')}`)),
    repeat(() => send('POST', '/webhook-endpoints/whe_a/test')),
    repeat(() => send('PATCH', '/webhook-endpoints/whe_a', { description: 'Other' })),
    repeat((count) =>
      codeOf(
        platform.trainings.end.mutate(
          describeTraining('a', `trn_${count}`, {
            finished_at: '2026-11-17T09:12:00Z',
            assignment_id: 'asg_a',
          }),
        ),
      ),
    ),
    repeat((count) =>
      codeOf(platform.evaluations.save.mutate(describeEvaluation('a', `trn_${count}`, 50))),
    ),
    repeat(() => removeOld(api.db, systemClock).then(() => 'removed')),
  ]);
  let slowestMs = 0;
  for (let round = 0; round < 8; round += 1) {
    const startedAt = performance.now();
    const { teams } = await loadTestSeed({ url: api.databaseUrl }, seed, { replace: true });
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    key = teams['team_a']?.api_keys['full'] ?? '';
    await delay(100);
  }
  isOver = true;
  await working;
  // Where a replacement takes long, what waits for it may give up. Elsewhere nothing may.
  const mayGiveUp = slowestMs > GIVES_UP_AFTER_MS / 2;
  const faults = mayGiveUp ? /^50[0-2]|internal/ : /^50\d|unavailable|internal/;
  expect([...seen.keys()].filter((outcome) => faults.test(outcome))).toEqual([]);
  const logged = mayGiveUp ? /deadlock|40P01/ : /./;
  expect(deliveries.logged.filter((line) => logged.test(line))).toEqual([]);
});

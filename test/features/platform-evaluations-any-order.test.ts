// Reports of trainings and evaluations in any order, from two workers of the host application.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeOf } from '../support/app.ts';
import {
  api,
  describeEvaluation,
  describeTraining,
  eventsOf,
  platform,
  platformOf,
  usePlatform,
  type Platform,
} from '../support/platform.ts';
import { readRollups, recount } from '../support/rollups.ts';
import { makeTeam, memberId, userId } from '../support/seed.ts';

const TEAM = 'team_random';

const ASSIGNMENT = { id: 'asg_random', member_id: memberId('random', 'member'), title: 'r' };
usePlatform([makeTeam('random', { assignments: [ASSIGNMENT] })], 'scoring');

type Step =
  | { kind: 'start' | 'end' | 'abort' }
  | { kind: 'save'; total: number | null; version: number };
type Call = Step & { training: number };

let run = 0;

const step = fc.oneof(
  fc.record({ kind: fc.constantFrom('start' as const, 'end' as const, 'abort' as const) }),
  fc.record({
    kind: fc.constant('save' as const),
    total: fc.option(fc.integer({ min: 0, max: 100 })),
    version: fc.integer({ min: 0, max: 3 }),
  }),
);
const call = fc
  .tuple(step, fc.integer({ min: 0, max: 2 }))
  .map(([each, training]): Call => ({ ...each, training }));
const worker = fc.array(call, { minLength: 1, maxLength: 10 });

test('calls in any order, at once and repeated, end as they do in order', async () => {
  const other = await platformOf(api, 'another');
  await fc.assert(
    fc.asyncProperty(worker, worker, async (first, second) => {
      run += 1;
      const prefix = `trn_p${run}_`;
      const calls = oneTotalPerVersion([...first, ...second]);
      const [a, b] = [calls.slice(0, first.length), calls.slice(first.length)];
      const [codes, more] = await Promise.all([
        perform(platform, prefix, a),
        perform(other, prefix, b),
      ]);
      expect([...codes, ...more].filter((code) => code !== 'ok' && code !== 'not_found')).toEqual(
        [],
      );
      // Repeat every call, as a service does when its training was not known yet.
      await perform(platform, prefix, calls.toReversed());
      await perform(other, prefix, calls);
      for (const index of [0, 1, 2]) {
        await expectEnd(
          `${prefix}${index}`,
          calls.filter((each) => each.training === index),
        );
      }
      expect(await readRollups(api.db.pool, TEAM)).toEqual(await recount(api.db.pool, TEAM));
    }),
    { numRuns: 10 },
  );
});

/**
 * Gives all saves of one version of an evaluation the same total: saving a version twice is
 * repeating one save.
 */
function oneTotalPerVersion(calls: Call[]): Call[] {
  const totals = new Map<string, number | null>();
  return calls.map((each) => {
    if (each.kind !== 'save') return each;
    const key = `${each.training} ${each.version}`;
    if (!totals.has(key)) totals.set(key, each.total);
    return { ...each, total: totals.get(key) ?? null };
  });
}

/** Makes the calls one after the other, and resolves with their problem codes. */
async function perform(by: Platform, prefix: string, calls: Call[]): Promise<string[]> {
  const codes: string[] = [];
  for (const each of calls) {
    const id = `${prefix}${each.training}`;
    const description = describeTraining('random', id, {
      // Two trainings share a person and a week. The third is another person's.
      user_id: userId('random', each.training === 2 ? 'admin' : 'member'),
      ...(each.training === 0 && { assignment_id: 'asg_random' }),
    });
    if (each.kind === 'start') codes.push(await codeOf(by.trainings.start.mutate(description)));
    if (each.kind === 'abort') codes.push(await codeOf(by.trainings.abort.mutate(description)));
    if (each.kind === 'end')
      codes.push(
        await codeOf(
          by.trainings.end.mutate({ ...description, finished_at: '2026-11-17T09:30:00Z' }),
        ),
      );
    if (each.kind === 'save') {
      const savedAt = `2026-11-17T10:00:0${each.version}.000Z`;
      codes.push(
        await codeOf(
          by.evaluations.save.mutate(describeEvaluation('random', id, each.total, savedAt)),
        ),
      );
    }
  }
  return codes;
}

/** Expects the training, its evaluation and its events to be what these calls lead to. */
async function expectEnd(id: string, calls: Call[]): Promise<void> {
  const has = (kind: Step['kind']) => calls.some((each) => each.kind === kind);
  const isKnown = has('start') || has('end') || has('abort');
  const { rows } = await api.db.pool.query(
    `select t.status, t.finished_at is not null as ended, e.total, e.saved_at
     from training t
     left join evaluation e on e.team_id = t.team_id and e.training_id = t.id
     where t.team_id = $1 and t.id = $2`,
    [TEAM, id],
  );
  const saves = (isKnown ? calls : []).flatMap((each) => (each.kind === 'save' ? [each] : []));
  const last = saves.toSorted((a, b) => b.version - a.version)[0];
  const unscored = has('end') ? 'completed' : has('abort') ? 'aborted' : 'started';
  const stored = {
    status: last ? 'scored' : unscored,
    ended: has('end'),
    total: last?.total ?? null,
    saved_at: last ? `2026-11-17T10:00:0${last.version}.000Z` : null,
  };
  expect(rows).toEqual(isKnown ? [stored] : []);
  const expected = [
    ...(last ? ['evaluation.completed'] : []),
    ...(has('end') ? ['training.completed'] : []),
  ];
  const events = await eventsOf(api, TEAM, id);
  expect(events.map(({ type }) => type).toSorted()).toEqual(expected);
}

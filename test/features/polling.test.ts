// Clients that poll as the guide says. What a guide advises is read from its page, so that these
// pollers do what a customer does who reads it.
import { beforeAll, describe, expect, test } from 'vitest';
import { POLLING_ADVICE, POLL_OVERLAP_MIN } from '../../src/core/polling.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { idsOf, type Page } from '../support/lists.ts';
import {
  api,
  describeEvaluation,
  describeTraining,
  platform,
  usePlatform,
} from '../support/platform.ts';
import { makeTeam, memberId } from '../support/seed.ts';

/** So much is the clock of the customer ahead of that of the service. */
const AHEAD_MS = 90_000;
const MINUTES: Readonly<Record<string, number>> = { one: 1, eine: 1, five: 5, fünf: 5 };

interface Advice {
  /** Whether the time of a poll is that of its response, or else of the customer's clock. */
  readonly isOfResponse: boolean;
  readonly overlapMs: number;
}

const assignments = ['asg_changed', 'asg_late'].map((id) => ({
  id,
  member_id: memberId('a', 'member'),
  title: 'Practise',
  created_at: '2026-10-01T09:00:00Z',
}));
usePlatform([makeTeam('a', { assignments })], 'scoring');

/** What the list of steps in the section on polls says. */
async function readAdvice(path: string, title: string): Promise<Advice> {
  const text = await (await fetch(`${api.url}${path}.md`)).text();
  const section = text.split('\n## ').find((one) => one.startsWith(title)) ?? '';
  const steps = (/^1\. .*?(?=\n\n)/ms.exec(section)?.[0] ?? '').replaceAll(/\s+/g, ' ');
  const [, word = ''] = /(?:less|minus) (\w+|fünf) [Mm]inute/.exec(steps) ?? [];
  return {
    isOfResponse: /header `Date`|Header `Date`/.test(steps),
    overlapMs: (MINUTES[word] ?? NaN) * 60_000,
  };
}

/** Follows the advice for a list. Each call polls once and returns the ids. */
function makePoller(list: string, { isOfResponse, overlapMs }: Advice) {
  let kept = 0;
  return async (): Promise<string[]> => {
    const own = Date.now() + AHEAD_MS;
    const since = new Date(Math.max(kept - overlapMs, 0)).toISOString();
    const path = `${list}?limit=200&updated_since=${since}`;
    const { status, body, headers } = await api.call(api.key('team_a'), 'GET', path);
    expect(status).toBe(200);
    kept = isOfResponse ? Date.parse(String(headers['date'])) : own;
    return idsOf(body as Page);
  };
}

/** Each changes an entry of a list: one now, and one that is seen long after its time. */
const LISTS = [
  {
    list: '/evaluations',
    table: 'evaluation',
    id: 'training_id',
    column: 'stored_at',
    changed: 'trn_changed',
    late: 'trn_late',
    change: async (id: string) => {
      await platform.trainings.end.mutate(
        describeTraining('a', id, { finished_at: '2026-11-17T09:12:00Z' }),
      );
      await platform.evaluations.save.mutate(
        describeEvaluation('a', id, 60, new Date().toISOString()),
      );
    },
  },
  {
    list: '/assignments',
    table: 'assignment',
    id: 'id',
    column: 'updated_at',
    changed: 'asg_changed',
    late: 'asg_late',
    change: async (id: string) => {
      const body = { note: `Changed at ${Date.now()}` };
      await api.call(api.key('team_a'), 'PATCH', `/assignments/${id}`, { body });
    },
  },
] as const;

describe.each([
  ['/docs/pagination', 'Synchronize by polling'],
  ['/docs/de/pagination', 'Durch Abfragen synchronisieren'],
])('a customer who polls as %s says', (path, title) => {
  let advice: Advice;
  beforeAll(async () => {
    advice = await readAdvice(path, title);
  });

  test('does what all other texts say', () => {
    expect(advice).toEqual({ isOfResponse: true, overlapMs: POLL_OVERLAP_MIN * 60_000 });
  });

  test.each(LISTS)('misses nothing of $list with a clock that is ahead', async (one) => {
    const poll = makePoller(one.list, advice);
    await poll();
    await one.change(one.changed);
    expect(await poll()).toContain(one.changed);
  });

  test.each(LISTS)('misses nothing of $list that was committed late', async (one) => {
    const poll = makePoller(one.list, advice);
    await poll();
    await one.change(one.late);
    // A transaction of 15 s, in a database whose clock is a minute behind.
    await api.db.pool.query(
      `update ${one.table}
       set ${one.column} = clock_timestamp() - interval '75 s'
       where ${one.id} = $1`,
      [one.late],
    );
    expect(await poll()).toContain(one.late);
  });
});

test('every operation with updated_since gives this advice', () => {
  const polled = ENDPOINTS.filter(({ input }) => 'updated_since' in input.shape);
  expect(polled.map(({ path }) => path).toSorted()).toEqual(['/assignments', '/evaluations']);
  for (const { description } of polled) expect(description).toContain(POLLING_ADVICE);
});

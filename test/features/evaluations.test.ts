import { beforeAll, describe, expect, test } from 'vitest';
import type { TestApi } from '../support/api.ts';
import { idsOf, idsOfAllPages, readPage, startWithTeamA } from '../support/lists.ts';
import { describeEvaluation, platformOf, type Platform } from '../support/platform.ts';
import { makeEvaluation, makeMember, makeTraining, userId } from '../support/seed.ts';

const scored = (id: string, savedAt: string, fields: Parameters<typeof makeTraining>[2] = {}) =>
  makeTraining('a', id, { ...fields, evaluation: { ...makeEvaluation(60), saved_at: savedAt } });

/** They were not stored in the order in which they began. */
function startWithFive(): Promise<TestApi> {
  return startWithTeamA({
    members: [makeMember('a', 'gone', { status: 'ended' })],
    trainings: [
      scored('trn_1', '2026-10-09T10:00:00Z', { created_at: '2026-10-01T09:00:00Z' }),
      scored('trn_2', '2026-10-06T10:00:00Z', { created_at: '2026-10-02T09:00:00Z' }),
      scored('trn_3', '2026-10-08T10:00:00Z', { created_at: '2026-10-03T09:00:00Z' }),
      scored('trn_4', '2026-10-08T10:00:00Z', { created_at: '2026-10-04T09:00:00Z' }),
      scored('trn_5', '2026-10-07T10:00:00Z', { created_at: '2026-10-05T09:00:00Z' }),
      scored('trn_gone', '2026-10-08T12:00:00Z', { user_id: userId('a', 'gone') }),
      makeTraining('a', 'trn_unscored', {
        status: 'completed',
        created_at: '2026-10-10T09:00:00Z',
        evaluation: null,
      }),
    ],
  });
}

const list = (api: TestApi, query: string) => readPage(api, `/evaluations?${query}`);

describe('GET /evaluations', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startWithFive();
  });

  test('lists the scored trainings of active members, the last stored first', async () => {
    expect(idsOf(await list(api, ''))).toEqual(['trn_1', 'trn_4', 'trn_3', 'trn_5', 'trn_2']);
  });

  test('shows trainings as GET /trainings does', async () => {
    const { data } = await list(api, 'limit=1');
    const { body } = await api.call(api.key('team_a'), 'GET', '/trainings/trn_1');
    expect(data).toEqual([body]);
  });

  test.each([
    ['2026-10-08T10:00:00Z', ['trn_1', 'trn_4', 'trn_3']],
    ['2026-10-08T10:00:00.001Z', ['trn_1']],
    ['2026-10-08T12:00:00%2B02:00', ['trn_1', 'trn_4', 'trn_3']],
    ['2030-01-01T00:00:00Z', []],
  ])('shows with updated_since=%s the evaluations stored at or after it', async (since, ids) => {
    expect(idsOf(await list(api, `updated_since=${since}`))).toEqual(ids);
  });

  test('pages with updated_since hold the same as the whole list', async () => {
    const seen = await idsOfAllPages(
      api,
      '/evaluations?updated_since=2026-10-07T00:00:00Z&limit=1',
    );
    expect(seen).toEqual(['trn_1', 'trn_4', 'trn_3', 'trn_5']);
  });

  test.each(['', '2026-10-08', '2026-10-08T10:00:00'])(
    'refuses updated_since=%s and names the field',
    async (since) => {
      const refused = await api.call(
        api.key('team_a'),
        'GET',
        `/evaluations?updated_since=${since}`,
      );
      expect(refused).toMatchObject({ status: 422, body: { code: 'validation_error' } });
      expect(refused.body.errors[0].path).toBe('query.updated_since');
    },
  );

  test('refuses the cursor of GET /trainings', async () => {
    const { next_cursor } = await readPage(api, '/trainings?limit=1');
    const refused = await api.call(api.key('team_a'), 'GET', `/evaluations?cursor=${next_cursor}`);
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'query.cursor' }] } });
  });

  test('with member details off it is refused', async () => {
    const refused = await api.call(api.key('team_off'), 'GET', '/evaluations');
    expect(refused).toMatchObject({ status: 403, body: { code: 'privacy_restricted' } });
  });
});

const BY_BEGINNING = ['trn_unscored', 'trn_5', 'trn_4', 'trn_3', 'trn_2', 'trn_1'];

describe.each([
  ['/evaluations', ['trn_1', 'trn_4', 'trn_3', 'trn_5', 'trn_2']],
  ['/trainings', ['trn_unscored', 'trn_5', 'trn_4', 'trn_3', 'trn_2', 'trn_1']],
  [
    '/trainings?user_id=usr_a_member',
    ['trn_unscored', 'trn_5', 'trn_4', 'trn_3', 'trn_2', 'trn_1'],
  ],
  ['/trainings?status=scored', BY_BEGINNING.slice(1)],
])('%s with include=evaluation', (path, ids) => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startWithFive();
  });
  const asked = `${path}${path.includes('?') ? '&' : '?'}include=evaluation`;

  test('shows each training with what the read of its evaluation shows, or null', async () => {
    const key = api.key('team_a');
    const { data } = await readPage(api, asked);
    expect(data.map(({ id }) => id)).toEqual(ids);
    const alone = await readPage(api, path);
    for (const [place, training] of data.entries()) {
      const single = await api.call(key, 'GET', `/trainings/${training.id}/evaluation`);
      const evaluation: unknown = single.status === 404 ? null : single.body;
      expect(training).toEqual({ ...alone.data[place], evaluation });
      expect(JSON.stringify(training)).toContain(
        evaluation === null ? '"evaluation":null' : `"evaluation":${single.text}`,
      );
    }
  });

  test('reads the same page by page', async () => {
    expect(await idsOfAllPages(api, `${asked}&limit=2`)).toEqual(ids);
  });

  test('403 insufficient_scope: needs the scope of that read, which it names', async () => {
    const scope = path.startsWith('/trainings') ? 'trainings:read' : 'users:read';
    const refused = await api.call(api.key('team_a', scope), 'GET', asked);
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: 'evaluations:read' },
    });
  });

  test('403 privacy_restricted: is refused like that read, with details off', async () => {
    const refused = await api.call(api.key('team_off'), 'GET', asked);
    const single = await api.call(api.key('team_off'), 'GET', '/trainings/trn_off/evaluation');
    const told = ({ status, body }: typeof refused) => ({ status, ...body, request_id: null });
    expect(told(refused)).toEqual(told(single));
    expect(refused).toMatchObject({ status: 403, body: { code: 'privacy_restricted' } });
  });

  test('422: includes nothing else, and names the field', async () => {
    for (const other of ['', 'training', 'evaluation,evaluation', 'Evaluation']) {
      const query = asked.replace('include=evaluation', `include=${other}`);
      expect(await api.call(api.key('team_a'), 'GET', query)).toMatchObject({
        status: 422,
        body: { code: 'validation_error', errors: [{ path: 'query.include' }] },
      });
    }
  });
});

describe('GET /evaluations, when evaluations arrive late', () => {
  let api: TestApi;
  let platform: Platform;
  beforeAll(async () => {
    api = await startWithFive();
    platform = await platformOf(api, 'scoring');
  });

  const save = (id: string, savedAt: string) =>
    platform.evaluations.save.mutate(describeEvaluation('a', id, 70, savedAt));
  /** As a client polls that goes by the `Date` header of its last response. */
  const poll = async () => {
    const { headers } = await api.call(api.key('team_a'), 'GET', '/evaluations?limit=1');
    return new Date(headers['date'] ?? '').toISOString();
  };

  test('shows one that was saved before the last poll and stored after it, first', async () => {
    const since = await poll();
    await save('trn_unscored', '2026-10-01T00:00:00Z');
    expect(idsOf(await list(api, `updated_since=${since}`))).toEqual(['trn_unscored']);
    expect(idsOf(await list(api, 'limit=2'))).toEqual(['trn_unscored', 'trn_1']);
  });

  test('moves one that is saved again to the front, by when that was stored', async () => {
    const since = await poll();
    await save('trn_2', '2026-10-06T11:00:00Z');
    expect(idsOf(await list(api, `updated_since=${since}`))[0]).toBe('trn_2');
  });

  test('does not move one whose stored evaluation is newer, because nothing changed', async () => {
    const before = idsOf(await list(api, ''));
    await save('trn_1', '2026-10-01T00:00:00Z');
    expect(idsOf(await list(api, ''))).toEqual(before);
  });

  test('shows each once over pages of one', async () => {
    const seen = await idsOfAllPages(api, '/evaluations?limit=1');
    expect(seen).toEqual(['trn_2', 'trn_unscored', 'trn_1', 'trn_4', 'trn_3', 'trn_5']);
  });
});

describe('GET /evaluations, while evaluations come and go', () => {
  test('neither repeats nor skips evaluations that were there throughout', async () => {
    const api = await startWithFive();
    const first = await list(api, 'limit=2');
    await api.db.pool.query(
      `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
       values ('team_a', 'trn_unscored', 'usr_a_member', '2026-10-20T00:00:00Z',
         '2026-10-20T00:00:00Z')`,
    );
    await api.db.pool.query(
      `delete from evaluation
       where team_id = 'team_a' and training_id in ('trn_4', 'trn_5')`,
    );
    const second = await list(api, `limit=2&cursor=${first.next_cursor}`);
    expect(idsOf(first)).toEqual(['trn_1', 'trn_4']);
    expect(idsOf(second)).toEqual(['trn_3', 'trn_2']);
    expect(second.next_cursor).toBeNull();
  });
});

describe('GET /evaluations, while an evaluation is saved again', () => {
  test('misses what is saved again until the next poll; trainings stay in order', async () => {
    const api = await startWithFive();
    const scoring = await platformOf(api, 'scoring');
    const began = new Date(Date.now() - 60_000).toISOString();
    const walk = async (path: string): Promise<string[]> => {
      const first = await readPage(api, `${path}&limit=3`);
      const now = new Date().toISOString();
      await scoring.evaluations.save.mutate(describeEvaluation('a', 'trn_2', 61, now));
      const second = await readPage(api, `${path}&limit=3&cursor=${first.next_cursor}`);
      return [...idsOf(first), ...idsOf(second)];
    };
    expect(await walk('/evaluations?include=evaluation')).toEqual([
      'trn_1',
      'trn_4',
      'trn_3',
      'trn_5',
    ]);
    expect(idsOf(await list(api, `updated_since=${began}`))).toEqual(['trn_2']);
    expect(await walk('/trainings?status=scored&include=evaluation')).toEqual([
      'trn_5',
      'trn_4',
      'trn_3',
      'trn_2',
      'trn_1',
    ]);
  });
});

describe('GET /trainings/{training_id}/evaluation', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startWithFive();
  });

  const read = (id: string, key = api.key('team_a')) =>
    api.call(key, 'GET', `/trainings/${id}/evaluation`);

  test('shows the score, the dimensions, the tips and the texts', async () => {
    const { status, body } = await read('trn_1', api.key('team_a', 'evaluations:read'));
    expect(status).toBe(200);
    expect(body).toEqual({
      training_id: 'trn_1',
      user_id: userId('a', 'member'),
      score: {
        dimensions: {
          closing: 60,
          conversation_control: 60,
          needs_analysis: 60,
          objection_handling: 60,
          value_argument: 60,
        },
        total: 60,
        spread: 4.5,
      },
      tips: [{ issue: 'i', moment: 'm', principle: 'p', rewrite: 'r', impact: 'x' }],
      goal: 'partial',
      methodology: 'met_spin',
      strongest: 'Opening',
      biggest_lever: 'Closing',
    });
  });

  test('is shown if it has only a score object and no tips', async () => {
    await api.db.pool.query(
      `insert into evaluation (team_id, training_id, user_id, saved_at)
       values ('team_a', 'trn_unscored', 'usr_a_member', now())`,
    );
    const { body } = await read('trn_unscored');
    expect(body).toMatchObject({
      score: { dimensions: {}, total: null, spread: null },
      tips: [],
      goal: null,
      methodology: null,
    });
    await api.db.pool.query(
      `delete from evaluation
       where team_id = 'team_a' and training_id = 'trn_unscored'`,
    );
  });

  test('is refused while member details are off, whether there is one or not', async () => {
    for (const id of ['trn_off', 'trn_none']) {
      expect(await read(id, api.key('team_off'))).toMatchObject({
        status: 403,
        body: { code: 'privacy_restricted' },
      });
    }
  });

  test('is not found if not scored, for other teams, former members and unknown ids', async () => {
    const answers = [];
    for (const id of ['trn_unscored', 'trn_b', 'trn_gone', 'trn_none']) {
      const { status, body } = await read(id);
      answers.push({ status, ...body, request_id: undefined });
    }
    expect(answers[0]).toMatchObject({ status: 404, code: 'not_found' });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });
});

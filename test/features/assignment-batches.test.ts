import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { CATALOG, makeMember, makeSeed, makeTeam } from '../support/seed.ts';

interface Result {
  readonly index: number;
  readonly assignment: Readonly<Record<string, unknown>> | null;
  readonly problem: Readonly<Record<string, unknown>> | null;
}
interface Answer {
  readonly created: number;
  readonly results: readonly Result[];
}

const ENTRY = {
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};
const TEAMS = ['a', 'alone', 'none', 'quiet', 'once', 'gone', 'pair', 'order', 'rate'];

let api: TestApi;
beforeAll(async () => {
  const teamOf = (team: string) =>
    makeTeam(team, {
      blocked: ['ind_public'],
      members: [
        makeMember(team, 'second'),
        makeMember(team, 'gone', { status: 'ended' }),
        makeMember(team, 'picky', { blocked: ['per_calm'] }),
        makeMember(team, 'early', { status: 'invited', user_id: null }),
        makeMember(team, 'late', { status: 'invited', user_id: null }),
      ],
      privacy: { member_detail_enabled: team !== 'quiet' },
    });
  // Requests are counted by the minute, and none must begin between two of them.
  api = await startTestApi({
    clock: fixedClock(new Date()),
    seed: makeSeed(TEAMS.map(teamOf), {
      catalog: CATALOG,
      catalog_rules: [{ situation: 'sit_renewal', personality: 'per_tough' }],
    }),
  });
});

const entry = (team: string, fields: object = {}) => ({
  member_id: `mem_${team}_member`,
  ...ENTRY,
  ...fields,
});
const send = (team: string, body: object, headers: Record<string, string> = {}) =>
  api.call(api.key(`team_${team}`), 'POST', '/assignments/batch', { body, headers });
const sendOne = (team: string, body: unknown) =>
  api.call(api.key(`team_${team}`), 'POST', '/assignments', { body });
const answerTo = async (team: string, body: object) => (await send(team, body)).body as Answer;

/** What the team has: its assignments, and what was recorded of them. */
async function stored(team: string) {
  const { rows } = await api.db.pool.query<{ kind: string; id: string }>(
    `select 'assignment' as kind, id from assignment where team_id = $1
     union all
     select type, data ->> 'assignment_id' from event where team_id = $1
     union all
     select 'audit ' || action, target_id from audit_log where team_id = $1`,
    [`team_${team}`],
  );
  return (kind: string) => rows.flatMap((row) => (row.kind === kind ? [row.id] : [])).toSorted();
}

async function countOf(team: string): Promise<number> {
  return (await stored(team))('assignment').length;
}

/** Bodies of which each is wrong in its own way. */
const wrong = (team: string): Readonly<Record<string, unknown>> => ({
  'an unknown member': entry(team, { member_id: 'nobody' }),
  'a member of another team': entry(team, { member_id: 'mem_alone_second' }),
  'a former member': entry(team, { member_id: `mem_${team}_gone` }),
  'an unknown situation': entry(team, { situation_id: 'unknown' }),
  'an entry of another kind': entry(team, { industry_id: 'per_calm' }),
  'a combination that a rule forbids': entry(team, {
    situation_id: 'sit_renewal',
    personality_id: 'per_tough',
  }),
  'an industry that the team blocks': entry(team, { industry_id: 'ind_public' }),
  'a personality that the member blocks': entry(team, { member_id: `mem_${team}_picky` }),
  'a long title': entry(team, { title: 'x'.repeat(121) }),
  'no title': { ...entry(team), title: undefined },
  'an unknown field': entry(team, { titel: 'x' }),
  'several faults': entry(team, { title: 1, due_date: 'soon', more: true }),
  'a large external_ref': entry(team, { external_ref: { a: 'x'.repeat(5000) } }),
  'an external_ref with a long id': entry(team, { external_ref: { id: 'x'.repeat(201) } }),
  'no object': 'an assignment',
  nothing: null,
});

describe('POST /assignments/batch', () => {
  test('creates each entry as a single call does, with an event and an audit entry', async () => {
    const single = (await sendOne('alone', entry('alone', { due_date: '2026-12-01' }))).body;
    const bodies = [
      entry('a', { due_date: '2026-12-01' }),
      entry('a', { member_id: 'mem_a_second', note: 'Soon', external_ref: { id: 7 } }),
      entry('a', { due_date: '2026-12-01' }),
    ];
    const { created, results } = await answerTo('a', { assignments: bodies });
    expect(created).toBe(3);
    expect(results.map(({ index, problem }) => [index, problem])).toEqual([
      [0, null],
      [1, null],
      [2, null],
    ]);
    const [first, second] = results;
    const { id: _id, created_at: _at, ...shown } = single as Record<string, unknown>;
    expect(first?.assignment).toMatchObject({
      ...shown,
      member_user_id: 'usr_a_member',
      member_email: 'member@a.test',
    });
    expect(second?.assignment).toMatchObject({
      member_user_id: 'usr_a_second',
      note: 'Soon',
      external_ref: { id: 7 },
    });
    const ids = results.map(({ assignment }) => String(assignment?.['id']));
    for (const [place, id] of ids.entries())
      expect((await api.call(api.key('team_a'), 'GET', `/assignments/${id}`)).body).toEqual(
        results[place]?.assignment,
      );
    const of = await stored('a');
    const kinds = ['assignment', 'assignment.created', 'audit assignment.created'];
    expect(kinds.map(of)).toEqual(kinds.map(() => ids.toSorted()));
  });

  test('is refused as a whole if text in it cannot be stored', async () => {
    const before = await countOf('a');
    const body = { assignments: [entry('a'), entry('a', { title: 'x\u0000' })] };
    expect(await send('a', body)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', errors: [{ path: 'body.assignments.1.title' }] },
    });
    expect(await countOf('a')).toBe(before);
  });

  test('refuses each wrong entry as a single call does, and creates the others', async () => {
    const before = await countOf('a');
    const entries = Object.entries(wrong('a'));
    const bodies = entries.flatMap(([, body]) => [body, entry('a')]);
    const { created, results } = await answerTo('a', { assignments: bodies });
    expect(created).toBe(entries.length);
    expect(await countOf('a')).toBe(before + entries.length);
    expect(results.map(({ assignment }) => assignment !== null)).toEqual(
      bodies.map((_body, place) => place % 2 === 1),
    );
    for (const [place, [name, body]] of entries.entries()) {
      // Only an object is a body, so there is no such single call.
      if (typeof body !== 'object' || body === null) continue;
      const single = await sendOne('a', body);
      const {
        type: _type,
        title: _title,
        request_id: _id,
        ...same
      } = single.body as Result & {
        [field: string]: unknown;
      };
      expect([name, results[2 * place]?.problem]).toEqual([name, same]);
      expect(single.status).toBeGreaterThanOrEqual(400);
    }
    expect(results.at(-2)?.problem).toEqual({
      status: 422,
      code: 'validation_error',
      detail: expect.stringMatching(/object/i),
      errors: [{ path: 'body', message: expect.any(String), code: 'invalid_type' }],
    });
  });

  test('with all_or_none creates nothing if one entry is wrong, and names each', async () => {
    const assignments = [
      entry('none'),
      entry('none', { member_id: 'nobody' }),
      entry('none'),
      entry('none', { title: '' }),
    ];
    expect(await send('none', { assignments, all_or_none: true })).toMatchObject({
      status: 422,
      body: {
        code: 'batch_refused',
        entries: [
          { index: 1, problem: { status: 404, code: 'not_found', field: 'member_id' } },
          {
            index: 3,
            problem: {
              status: 422,
              code: 'validation_error',
              errors: [{ path: 'body.title' }],
              field: 'title',
            },
          },
        ],
      },
    });
    const of = await stored('none');
    expect([of('assignment'), of('assignment.created'), of('audit assignment.created')]).toEqual([
      [],
      [],
      [],
    ]);
    const right = [entry('none'), entry('none')];
    expect(await answerTo('none', { assignments: right, all_or_none: true })).toMatchObject({
      created: 2,
    });
    expect(await countOf('none')).toBe(2);
  });

  test('answers with 200 and no assignment if all entries are wrong', async () => {
    const bad = entry('a', { member_id: 'nobody' });
    expect(await send('a', { assignments: [bad, 1] })).toMatchObject({
      status: 200,
      body: { created: 0, results: [{ assignment: null }, { assignment: null }] },
    });
  });

  test.each([
    ['no entry', [], 'body.assignments'],
    ['101 entries', Array.from({ length: 101 }, () => entry('a')), 'body.assignments'],
    ['no list', 'all', 'body.assignments'],
  ])('422: refuses %s as a whole', async (_name, assignments, path) => {
    const before = await countOf('a');
    expect(await send('a', { assignments })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', errors: [{ path }] },
    });
    expect(await countOf('a')).toBe(before);
  });

  test('422: refuses text that cannot be stored, wherever it is', async () => {
    const assignments = [entry('a'), entry('a', { note: 'a\0b' })];
    expect(await send('a', { assignments })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'body.assignments.1.note', code: 'invalid_text' }] },
    });
  });

  test('413: refuses a body of more than 1 MiB, as every operation does', async () => {
    const note = 'x'.repeat(10_000);
    const assignments = Array.from({ length: 100 }, () =>
      entry('a', { note, external_ref: { a: 'x'.repeat(1000) } }),
    );
    expect(await send('a', { assignments })).toMatchObject({
      status: 413,
      body: { code: 'bad_request' },
    });
  });

  test('100 entries are as many as there may be', async () => {
    const before = await countOf('a');
    const assignments = Array.from({ length: 100 }, (_, n) => entry('a', { title: `No ${n}` }));
    const { created, results } = await answerTo('a', { assignments });
    expect(created).toBe(100);
    expect(results.map(({ assignment }) => assignment?.['title'])).toEqual(
      assignments.map(({ title }) => title),
    );
    expect(await countOf('a')).toBe(before + 100);
  });

  test('shows no address while member_detail_enabled is off, as a single call', async () => {
    const { results } = await answerTo('quiet', { assignments: [entry('quiet')] });
    const single = await sendOne('quiet', entry('quiet'));
    expect(single.body).toMatchObject({ member_email: null, member_user_id: 'usr_quiet_member' });
    expect(results[0]?.assignment).toMatchObject({
      member_email: null,
      member_user_id: 'usr_quiet_member',
    });
  });

  test('counts as one request', async () => {
    const remaining = async (call: () => ReturnType<typeof send>) =>
      Number((await call()).headers['ratelimit-remaining']);
    const left = await remaining(() => send('rate', { assignments: [entry('rate')] }));
    const fifty = Array.from({ length: 50 }, () => entry('rate'));
    expect(await remaining(() => send('rate', { assignments: fifty }))).toBe(left - 1);
  });
});

describe('POST /assignments/batch with an Idempotency-Key', () => {
  const key = (name: string) => ({ 'idempotency-key': name });

  test('returns the same results again, and acts once', async () => {
    const body = { assignments: [entry('once'), entry('once', { member_id: 'nobody' }), 1] };
    const first = await send('once', body, key('mixed'));
    const again = await send('once', body, key('mixed'));
    expect(again.text).toBe(first.text);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(await countOf('once')).toBe(1);
    const other = { assignments: [entry('once')] };
    expect(await send('once', other, key('mixed'))).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
  });

  test('returns a refusal again, although all entries would be right by now', async () => {
    const late = entry('once', { situation_id: 'sit_late' });
    const body = { assignments: [entry('once'), late], all_or_none: true };
    const first = await send('once', body, key('refused'));
    expect(first).toMatchObject({ status: 422, body: { code: 'batch_refused' } });
    await api.db.pool.query(
      `insert into team_catalog_entry (team_id, id, kind, name_de, name_en)
       values ('team_once', 'sit_late', 'situation', 'Spät', 'Late')`,
    );
    const again = await send('once', body, key('refused'));
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(await countOf('once')).toBe(1);
    expect(await send('once', body, key('new'))).toMatchObject({ body: { created: 2 } });
  });

  test.each(['early', 'late'])(
    'keeps no address once the invitation of %s has ended, whichever entry was theirs',
    async (name) => {
      const invited = entry('gone', { member_id: `mem_gone_${name}` });
      const others = [entry('gone'), entry('gone', { member_id: 'mem_gone_second' })];
      const bodies = [[invited, ...others], [...others, invited], [invited]].map(
        (assignments, place) => ({ assignments, key: key(`${name} ${place}`) }),
      );
      for (const { assignments, key: header } of bodies)
        expect((await send('gone', { assignments }, header)).text).toContain(`${name}@gone.test`);
      const before = await countOf('gone');
      const removed = await api.call(api.key('team_gone'), 'DELETE', `/users/mem_gone_${name}`);
      expect(removed.status).toBe(200);
      for (const { assignments, key: header } of bodies) {
        const again = await send('gone', { assignments }, header);
        expect(again).toMatchObject({
          status: 200,
          headers: { 'idempotency-replayed': 'true' },
          body: {
            created: assignments.length,
            results: assignments.map(() => ({ assignment: { member_email: null } })),
          },
        });
      }
      expect(await countOf('gone')).toBe(before);
      const { rows } = await api.db.pool.query(
        `select from idempotency_record
         where team_id = 'team_gone' and key like $1 || ' %'
           and (
             convert_from(body, 'UTF8') like '%@gone.test%' or open_body is not null
             or subject_id is not null or other_subject_ids is not null
           )`,
        [name],
      );
      expect(rows).toEqual([]);
    },
  );

  test('a second call while the first one runs is a conflict, and later a replay', async () => {
    const body = { assignments: [entry('pair'), entry('pair')] };
    const release = await holdLock(api, 'lock table audit_log in share mode');
    const first = send('pair', body, key('running'));
    await untilWaiting(api, 1);
    expect(await send('pair', body, key('running'))).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
    await release();
    expect((await first).body).toMatchObject({ created: 2 });
    expect((await send('pair', body, key('running'))).text).toBe((await first).text);
    expect(await countOf('pair')).toBe(2);
  });
});

describe('two batches at once', () => {
  test('create both what each of them names, for the same members and external ids', async () => {
    const members = ['member', 'second', 'admin'];
    const bodies = [members, members.toReversed()].map((names) =>
      names.flatMap((name, place) => [
        entry('order', { member_id: `mem_order_${name}`, external_ref: { id: 'the same' } }),
        entry('order', { member_id: `mem_order_${name}`, external_ref: { id: place } }),
      ]),
    );
    const rounds = 10;
    const answers = await Promise.all(
      Array.from({ length: rounds }, () => bodies)
        .flat()
        .map((assignments) => answerTo('order', { assignments, all_or_none: true })),
    );
    expect(answers.map(({ created }) => created)).toEqual(answers.map(() => 6));
    const of = await stored('order');
    expect(of('assignment')).toHaveLength(2 * rounds * 6);
    expect(of('assignment.created')).toEqual(of('assignment'));
    const found = await api.call(
      api.key('team_order'),
      'GET',
      '/assignments?external_ref_id=the%20same&limit=200',
    );
    expect(found.body).toMatchObject({ data: { length: 2 * rounds * 3 } });
  });
});

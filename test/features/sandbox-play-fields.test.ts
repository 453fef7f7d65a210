// Each field of each play is seen in what the play has made, and so is what a play takes by itself
// where a call does not name it.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { PLAYS, type Play } from '../../src/features/sandbox/play-rules.ts';
import { simulateInput } from '../../src/features/sandbox/play-schema.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** Ahead of the tokens of callers, which are of the machine's time. */
const NOW = new Date(Date.now() + 60_000);
const HOUR = 3_600_000;
const SANDBOX = 'team_a:sandbox';

type Json = Record<string, unknown>;
/** The fields that a play takes. */
type FieldOf<P extends Play> = (typeof PLAYS)[P]['takes'][number];

interface Case {
  /** What the call has besides the field. */
  readonly beside?: Json;
  /** The value of the field, and what is seen with it. */
  readonly given: readonly [value: unknown, seen: unknown];
  /** What is seen in a call without the field. */
  readonly otherwise: unknown;
  readonly see: (made: Json) => unknown;
}

let api: TestApi;
let key: string;
const clock = fixedClock(NOW);

beforeAll(async () => {
  api = await startTestApi({ clock, seed: makeSeed([makeTeam('a')]) });
  key = await openSandbox(api, 'a');
});

beforeEach(async () => {
  // What was played before is over.
  clock.advance(600_000);
  const reset = await api.call(key, 'POST', '/sandbox/reset', { body: { scenario: 'typical' } });
  if (reset.status !== 200) throw new Error(reset.text);
  await api.db.pool.query('delete from pending_job where team_id = $1', [SANDBOX]);
  // Newer ones of what the scenario has one of, and an assignment unlike the defaults.
  await api.db.pool.query(
    `insert into member (team_id, id, email, role, status, invited_at, created_at)
     values ($1, 'mem_later', 'later@sandbox.example', 'member', 'invited', $2, $2)`,
    [SANDBOX, clock.now()],
  );
  await api.db.pool.query(
    `insert into crm_connection
     select (jsonb_populate_record(c, $2::jsonb)).*
     from crm_connection c
     where team_id = $1`,
    [SANDBOX, JSON.stringify({ id: 'crm_later', created_at: clock.now() })],
  );
  await api.db.pool.query(
    `update assignment
     set situation_id = 'sit_sandbox_first_call', industry_id = 'ind_sandbox_software'
     where team_id = $1 and id = 'asg_sandbox_focused'`,
    [SANDBOX],
  );
});

const play = (body: Json) => api.call(key, 'POST', '/sandbox/simulate', { body });
async function first(sql: string, ...values: unknown[]): Promise<Json> {
  const [row] = (await api.db.pool.query<Json>(sql, [SANDBOX, ...values])).rows;
  if (!row) throw new Error(`no row: ${sql}`);
  return row;
}

const trainingOf = ({ training_id }: Json) =>
  first(
    `select user_id, assignment_id, situation_id, personality_id, industry_id, duration_s,
       finished_at, extract(epoch from finished_at - created_at)::int as took_s
     from training where team_id = $1 and id = $2`,
    training_id,
  );
const traineeOf = async (made: Json) => [(await trainingOf(made))['user_id'], made['member_id']];
const evaluationOf = ({ training_id }: Json) =>
  first(`select * from evaluation where team_id = $1 and training_id = $2`, training_id);
const totalOf = async (made: Json) => (await evaluationOf(made))['total'];
const memberOf = ({ member_id }: Json) =>
  first(`select id, user_id, status from member where team_id = $1 and id = $2`, member_id);
const msFromNow = (time: unknown) => Date.parse(String(time)) - clock.now().getTime();
/** When the evaluation was made, from now. */
const savedFromNow = async (made: Json) => msFromNow((await evaluationOf(made))['saved_at']);
/** For how long something lasts: as the answer says, and as the sandbox has it. */
const lastsMs = (column: string) => async (made: Json) => [
  msFromNow(made['until']),
  msFromNow((await first(`select ${column} as until from sandbox where team_id = $1`))['until']),
];
const both = (ms: number) => [ms, ms];

const errorsOfConnections = async () =>
  (
    await api.db.pool.query<Json>(
      `select last_error from crm_connection where team_id = $1 order by created_at`,
      [SANDBOX],
    )
  ).rows.map(({ last_error }) => last_error);

const CLARA = ['usr_sandbox_clara', 'mem_sandbox_clara'];
const ELIF = ['usr_sandbox_elif', 'mem_sandbox_elif'];
/** Of a time before now that depends on the test's clock. */
const ago = (ms: number) => () => new Date(clock.now().getTime() - ms).toISOString();

/** Whoever adds a field to a play says here what follows from it. */
const FIELDS: { readonly [P in Play]: { readonly [F in FieldOf<P>]: Case } } = {
  training_completed: {
    member_id: { given: ['mem_sandbox_elif', ELIF], otherwise: CLARA, see: traineeOf },
    user_id: { given: ['usr_sandbox_elif', ELIF], otherwise: CLARA, see: traineeOf },
    assignment_id: {
      given: [
        'asg_sandbox_focused',
        {
          user_id: 'usr_sandbox_felix',
          assignment_id: 'asg_sandbox_focused',
          situation_id: 'sit_sandbox_first_call',
          personality_id: 'per_sandbox_sceptic',
          industry_id: 'ind_sandbox_software',
        },
      ],
      otherwise: {
        user_id: 'usr_sandbox_clara',
        assignment_id: null,
        situation_id: 'sit_sandbox_price',
        personality_id: null,
        industry_id: null,
      },
      see: async (made) => {
        const { duration_s: _, finished_at: __, took_s: ___, ...training } = await trainingOf(made);
        return training;
      },
    },
    situation_id: {
      beside: { assignment_id: 'asg_sandbox_focused' },
      given: ['sit_sandbox_complaint', 'sit_sandbox_complaint'],
      otherwise: 'sit_sandbox_first_call',
      see: async (made) => (await trainingOf(made))['situation_id'],
    },
    duration_s: {
      given: [77, [77, 77]],
      otherwise: [420, 420],
      see: async (made) => {
        const { duration_s, took_s } = await trainingOf(made);
        return [duration_s, took_s];
      },
    },
    score: { beside: { delay_s: 0 }, given: [93, 93], otherwise: 71, see: totalOf },
    delay_s: {
      given: [33, [33_000, 33_000, 33_000]],
      otherwise: [10_000, 10_000, 10_000],
      see: async (made) => {
        const job = await first(
          `select run_at, payload ->> 'savedAt' as saved_at from pending_job where team_id = $1`,
        );
        return [made['evaluation_at'], job['run_at'], job['saved_at']].map(msFromNow);
      },
    },
    at: {
      beside: { delay_s: 0 },
      given: [ago(HOUR), [-HOUR, -HOUR, 0]],
      otherwise: [0, 0, 0],
      see: async (made) => [
        msFromNow((await trainingOf(made))['finished_at']),
        await savedFromNow(made),
        // When it is saved, and not the time that it has.
        msFromNow(made['evaluation_at']),
      ],
    },
  },
  evaluation_saved: {
    training_id: {
      given: ['trn_sandbox_008', 'trn_sandbox_008'],
      otherwise: 'trn_sandbox_058',
      see: async (made) => (await evaluationOf(made))['training_id'],
    },
    score: { given: [93, 93], otherwise: 71, see: totalOf },
    at: { given: [ago(HOUR), -HOUR], otherwise: 0, see: savedFromNow },
  },
  evaluation_corrected: {
    training_id: {
      given: ['trn_sandbox_001', ['trn_sandbox_001', 0]],
      otherwise: ['trn_sandbox_059', 0],
      see: async (made) => [made['training_id'], await savedFromNow(made)],
    },
    // Five more than the newest evaluation has.
    score: { given: [93, 93], otherwise: 67, see: totalOf },
    at: { given: [ago(HOUR), -HOUR], otherwise: 0, see: savedFromNow },
  },
  invitation_accepted: {
    member_id: {
      given: ['mem_later', ['mem_later', 'active']],
      otherwise: ['mem_sandbox_lena', 'active'],
      see: async (made) => {
        const { id, status } = await memberOf(made);
        return [id, status];
      },
    },
    user_id: {
      given: ['usr_chosen', 'usr_chosen'],
      otherwise: expect.stringMatching(/^usr_(?!chosen)/),
      see: async (made) => (await memberOf(made))['user_id'],
    },
  },
  member_left: {
    member_id: {
      given: ['mem_sandbox_elif', [...ELIF, 'ended']],
      otherwise: ['usr_sandbox_jonas', 'mem_sandbox_jonas', 'ended'],
      see: async (made) => {
        const { id, user_id, status } = await memberOf(made);
        return [user_id, id, status];
      },
    },
    user_id: {
      given: ['usr_sandbox_elif', 'mem_sandbox_elif'],
      otherwise: 'mem_sandbox_jonas',
      see: ({ member_id }) => member_id,
    },
  },
  crm_sync_failed: {
    connection_id: {
      given: ['crm_later', [null, 'unauthorized']],
      otherwise: ['unauthorized', null],
      see: () => errorsOfConnections(),
    },
    reason: {
      given: ['timeout', ['timeout', null]],
      otherwise: ['unauthorized', null],
      see: () => errorsOfConnections(),
    },
  },
  team_suspended: {
    for_s: {
      given: [90, both(90_000)],
      otherwise: both(60_000),
      see: lastsMs('suspended_until'),
    },
  },
  rate_limit_nearly_reached: {
    remaining: {
      given: [9, 9],
      otherwise: 5,
      see: async () => {
        const { left } = await first(
          `select t.rate_limit_per_min - c.count as left
           from team t join team_counter c on c.team_id = t.id and c.bucket = 'keys'
           where t.id = $1`,
        );
        return left;
      },
    },
  },
  webhooks_failing: {
    for_s: {
      given: [90, both(90_000)],
      otherwise: both(300_000),
      see: lastsMs('receivers_fail_until'),
    },
  },
};

const NAMES = Object.keys(PLAYS) as Play[];
const CASES = NAMES.flatMap((name) =>
  Object.entries<Case>(FIELDS[name]).map(([field, tried]) => [name, field, tried] as const),
);

async function made(body: Json): Promise<Json> {
  const answer = await play(body);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body as Json;
}

describe.each(CASES)('%s with %s', (name, field, { beside, given, otherwise, see }) => {
  it('does what the field says', async () => {
    const [value, seen] = given;
    const said = typeof value === 'function' ? (value as () => unknown)() : value;
    expect(await see(await made({ play: name, ...beside, [field]: said }))).toEqual(seen);
  });

  it('does what is documented where the field is left out', async () => {
    expect(await see(await made({ play: name, ...beside }))).toEqual(otherwise);
  });
});

it('evaluation_corrected is five less where five more are too many, as documented', async () => {
  await made({ play: 'evaluation_corrected', score: 98 });
  expect(await totalOf(await made({ play: 'evaluation_corrected' }))).toBe(93);
  expect(simulateInput.shape.score.meta()?.description).toMatch(
    /71 by default, of a correction five more than before, or five less where .* over 100\./,
  );
});

const NOTHING = {
  training_id: null,
  member_id: null,
  connection_id: null,
  evaluation_at: null,
  until: null,
};
const at = (ms: number) => () => new Date(clock.now().getTime() + ms).toISOString();
const A_TRAINING = expect.stringMatching(/^trn_/) as unknown;

/** What the answer says besides the play and its events; functions tell times of now. */
const ANSWERS: Readonly<Record<Play, Json>> = {
  training_completed: {
    training_id: A_TRAINING,
    member_id: 'mem_sandbox_clara',
    evaluation_at: at(10_000),
  },
  evaluation_saved: { training_id: 'trn_sandbox_058', evaluation_at: at(0) },
  evaluation_corrected: { training_id: 'trn_sandbox_059', evaluation_at: at(0) },
  invitation_accepted: { member_id: 'mem_sandbox_lena' },
  member_left: { member_id: 'mem_sandbox_jonas' },
  crm_sync_failed: { connection_id: 'crm_sandbox' },
  team_suspended: { until: at(60_000) },
  rate_limit_nearly_reached: {
    until: () => new Date((Math.floor(clock.now().getTime() / 60_000) + 1) * 60_000).toISOString(),
  },
  webhooks_failing: { until: at(300_000) },
};

it.each(NAMES)('%s answers with all that it has made, and nothing else', async (name) => {
  const said = Object.entries(ANSWERS[name]).map(([field, value]) => [
    field,
    typeof value === 'function' ? (value as () => unknown)() : value,
  ]);
  expect(await made({ play: name })).toEqual({
    ...NOTHING,
    ...Object.fromEntries(said),
    play: name,
    events: PLAYS[name].raises,
  });
});

it.each(['team_suspended', 'webhooks_failing'] as const)('%s ends by a call', async (name) => {
  const { v1, admin } = await appInSandbox(api, 'a', 'owner', clock.now());
  const read = async () => (await admin.sandbox.get.query({})).sandbox;
  const none = { suspended_until: null, receivers_fail_until: null };
  await v1.sandbox.simulate.mutate({ play: name, for_s: 60 });
  expect(await read()).not.toMatchObject(none);
  expect(await v1.sandbox.simulate.mutate({ play: name, for_s: 0 })).toMatchObject(NOTHING);
  expect(await read()).toMatchObject(none);
});

/** Fields that name something which must be there; `user_id` of an invitation is a new person. */
const NAMED: readonly (readonly [Play, string])[] = [
  ['training_completed', 'member_id'],
  ['training_completed', 'user_id'],
  ['training_completed', 'assignment_id'],
  ['evaluation_saved', 'training_id'],
  ['evaluation_corrected', 'training_id'],
  ['invitation_accepted', 'member_id'],
  ['member_left', 'member_id'],
  ['member_left', 'user_id'],
  ['crm_sync_failed', 'connection_id'],
];

it.each(NAMED)('%s refuses an unknown %s, and changes nothing', async (name, field) => {
  const before = await first('select count(*)::int as entries from audit_log where team_id = $1');
  expect(await play({ play: name, [field]: 'unknown' })).toMatchObject({
    status: 404,
    body: { code: 'not_found', field },
  });
  const after = await first('select count(*)::int as entries from audit_log where team_id = $1');
  expect(after).toEqual(before);
});

it('training_completed refuses the assignment of somebody who has not joined', async () => {
  const assignment_id = 'asg_sandbox_focused';
  await api.db.pool.query(
    `update assignment set member_id = 'mem_later' where team_id = $1 and id = $2`,
    [SANDBOX, assignment_id],
  );
  expect(await play({ play: 'training_completed', assignment_id })).toMatchObject({
    status: 422,
    body: { code: 'validation_error', field: 'assignment_id' },
  });
  const member_id = 'mem_later';
  expect(await play({ play: 'training_completed', assignment_id, member_id })).toMatchObject({
    status: 404,
    body: { code: 'not_found', field: 'member_id' },
  });
});

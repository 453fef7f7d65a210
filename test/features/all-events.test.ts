// Every documented event, from the call that raises it to the receiver that verifies it:
// the REST API, the app, the host application, a CRM that refuses, jobs, real HTTP.
// A new type in core/events.ts fails here until it is raised here.
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock, systemClock } from '../../src/core/clock.ts';
import { EVENT_TYPES, SUBSCRIBABLE_EVENTS, type EventType } from '../../src/core/events.ts';
import type { ProviderName } from '../../src/features/crm/providers/registry.ts';
import { crmTasks } from '../../src/features/crm/sync/tasks.ts';
import { verifyWebhook, type WebhookEvent } from '../../src/client/webhook-verification.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { startCrm } from '../support/crm/fake.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { createOddDatabase } from '../support/odd-database.ts';
import { describeEvaluation, describeTraining, eventsOf, platformOf } from '../support/platform.ts';
import { startReceiver, status, type Received, type Receiver } from '../support/receiver.ts';
import { makeMember, makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};
const END = { finished_at: '2026-11-17T09:12:00.000Z', duration_s: 700 };
const API_VERSION = '2026-11';
/** After its first failure a delivery waits for so long. */
const WAIT_MS = 60_000;

/** The clock of the delivery loop. */
const clock = fixedClock(new Date());
let api: TestApi;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  const teams = ['open', 'quiet', 'held'].map((name) =>
    makeTeam(name, { members: [makeMember(name, 'leaver')] }),
  );
  // Nothing that is set for the database may change what an event says.
  const database = await createOddDatabase();
  api = await startTestApi({ seed: makeSeed(teams), allowPrivateTargets: true, database });
  await startDeliveries(api, { clock });
});

/** Runs the jobs of the CRM connections that wait. */
const syncCrm = () =>
  runJobsOnce(
    api,
    crmTasks({
      db: api.db,
      clock: systemClock,
      secrets: { current: TEST_APP_SECRET, previous: null },
      allowBaseUrl: true,
    }),
  );

interface Endpoint {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
}

interface Expected {
  readonly type: EventType;
  readonly data: object;
  /** The earliest and the latest time at which it may have been raised. */
  readonly from: number;
  readonly to: number;
}

/** The data of an event: the part that it always has, and the part about a person. */
interface Said {
  readonly always: object;
  readonly person?: { readonly user_id?: string | null; readonly score?: number };
}

/** A team with an endpoint for all events, and its admin, API client and host application. */
async function enter(team: string) {
  const teamId = `team_${team}`;
  const [app, platform] = [await appAsMember(api, team, 'owner'), await platformOf(api)];
  const call = (method: string, path: string, body?: object) =>
    api.call(api.key(teamId), method, path, body ? { body } : {});
  const path = `/${team}`;
  const created = await call('POST', '/webhook-endpoints', {
    url: receiver.url + path,
    events: SUBSCRIBABLE_EVENTS,
  });
  const endpoint: Endpoint = { id: created.body.id, secret: created.body.secret, path };
  const setDetail = (isOn: boolean) =>
    app.admin.team.privacy.set.mutate({ member_detail_enabled: isOn });
  const endTraining = (id: string, fields: object = {}) =>
    platform.trainings.end.mutate(describeTraining(team, id, { ...END, ...fields }));
  const saveEvaluation = (id: string) =>
    platform.evaluations.save.mutate(describeEvaluation(team, id, 71));
  return { team, teamId, app, call, endpoint, setDetail, endTraining, saveEvaluation };
}

type Team = Awaited<ReturnType<typeof enter>>;

/** Returns the event of a delivery, after checking its signature with the endpoint's secret. */
function verify({ body, headers }: Received, { secret }: Endpoint): WebhookEvent {
  const event = verifyWebhook(body, headers, secret, { now: clock.now() });
  expect(headers['svc-event-id']).toBe(event.id);
  return event;
}

/** Returns each event once, because a delivery may come twice. */
async function receive({ endpoint }: Team, count: number): Promise<WebhookEvent[]> {
  return until(() => {
    const events = receiver.requestsTo(endpoint.path).map((request) => verify(request, endpoint));
    const once = [...new Map(events.map((event) => [event.id, event])).values()];
    return once.length >= count ? once : null;
  });
}

/**
 * Raises one event of each type. The switch is set right before each event and changed right after
 * it, because only its value at the time of the event may matter.
 */
async function raiseAll(
  own: Team,
  { isOn, crmName }: { isOn: boolean; crmName: ProviderName },
): Promise<Expected[]> {
  const { team, teamId, app, call, endpoint } = own;
  const expected: Expected[] = [];
  const raise = async (type: EventType, act: () => Promise<Said>): Promise<void> => {
    await own.setDetail(isOn);
    const from = Date.now();
    const { always, person } = await act();
    const data = { team_id: teamId, ...always, ...(isOn ? person : {}) };
    expected.push({ type, data, from, to: Date.now() });
    await own.setDetail(!isOn);
  };

  const member = { member_id: memberId(team, 'member') };
  const person = { user_id: userId(team, 'member') };
  const wanted = { ...member, title: 'Practise', due_date: '2026-12-01', ...COMBINATION };
  const assignment = {
    ...member,
    title: 'Practise',
    due_date: '2026-12-01',
    completed_training_id: null,
  };

  await raise('member.joined', async () => {
    const { body } = await call('POST', '/users', { email: `new@${team}.test`, role: 'member' });
    return { always: { member_id: body.id, role: 'member' }, person: { user_id: null } };
  });
  await raise('member.removed', async () => {
    const id = memberId(team, 'leaver');
    expect((await call('DELETE', `/users/${id}`)).status).toBe(200);
    return {
      always: { member_id: id, role: 'member' },
      person: { user_id: userId(team, 'leaver') },
    };
  });
  let made = '';
  await raise('assignment.created', async () => {
    made = (await call('POST', '/assignments', wanted)).body.id;
    return { always: { ...assignment, assignment_id: made, status: 'open' }, person };
  });
  await raise('assignment.completed', async () => {
    expect((await call('PATCH', `/assignments/${made}`, { status: 'done' })).status).toBe(200);
    return { always: { ...assignment, assignment_id: made, status: 'done' }, person };
  });

  // An admin in the app, and the host application that scores a training, raise no event.
  const silent = await app.v1.assignments.create.mutate(wanted);
  await app.v1.assignments.update.mutate({ assignment_id: silent.id, status: 'done' });
  const linked = await app.v1.assignments.create.mutate(wanted);
  const training = `trn_${team}`;
  await raise('training.completed', async () => {
    await own.endTraining(training, { assignment_id: linked.id });
    return { always: { training_id: training, assignment_id: linked.id, ...END }, person };
  });
  await raise('evaluation.completed', async () => {
    await own.saveEvaluation(training);
    return { always: { training_id: training }, person: { ...person, score: 71 } };
  });
  expect(await completedBy(own, linked.id)).toEqual({
    status: 'done',
    completed_training_id: training,
  });
  expect(await completedBy(own, silent.id)).toEqual({
    status: 'done',
    completed_training_id: null,
  });

  const connectionId = await connectAndSync(own, crmName);
  await raise('crm.sync.failed', async () => {
    await app.admin.crm.syncNow.mutate({ connection_id: connectionId });
    await syncCrm();
    expect((await findConnection(own, connectionId))?.last_error).toBeTruthy();
    return { always: { connection_id: connectionId, provider: crmName, reason: 'unauthorized' } };
  });
  await raise('ping', async () => {
    expect((await call('POST', `/webhook-endpoints/${endpoint.id}/test`)).status).toBe(202);
    return { always: { endpoint_id: endpoint.id } };
  });
  return expected;
}

async function completedBy({ teamId }: Team, id: string): Promise<unknown> {
  const { rows } = await api.db.pool.query(
    `select status, completed_training_id
     from assignment
     where team_id = $1 and id = $2`,
    [teamId, id],
  );
  return rows[0];
}

async function findConnection({ app }: Team, id: string) {
  return (await app.admin.crm.list.query({})).data.find((connection) => connection.id === id);
}

/** Makes a connection that was synchronized once and whose token the CRM then refuses. */
async function connectAndSync(own: Team, crmName: ProviderName): Promise<string> {
  const crm = await startCrm(crmName);
  const { id } = await own.app.admin.crm.connect.mutate(crm.connectInput());
  await syncCrm();
  expect((await findConnection(own, id))?.last_synced_at).toBeTruthy();
  crm.token = 'another';
  return id;
}

describe.each([
  { team: 'open', isOn: true, crmName: 'hubspot' },
  { team: 'quiet', isOn: false, crmName: 'pipedrive' },
] as const)(
  'with member_detail_enabled $isOn at the time of the event',
  ({ team, isOn, crmName }) => {
    test('each type is raised and arrives signed, with exactly the documented fields', async () => {
      const own = await enter(team);
      const expected = await raiseAll(own, { isOn, crmName });
      // One of each: the app and the host application raised nothing for the assignments.
      const raised = (await eventsOf(api, own.teamId)).map(({ type }) => type);
      expect(raised.toSorted()).toEqual(EVENT_TYPES.toSorted());
      const received = await receive(own, expected.length);
      expect(new Set(received.map(({ type }) => type))).toEqual(new Set(EVENT_TYPES));
      for (const { type, data, from, to } of expected) {
        const event = received.find((each) => each.type === type);
        expect(event).toStrictEqual({
          id: expect.stringMatching(/^evt_\w+$/),
          type,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          api_version: API_VERSION,
          tenant_id: own.teamId,
          data,
        });
        const at = Date.parse(event?.created_at ?? '');
        expect(at).toBeGreaterThanOrEqual(from);
        expect(at).toBeLessThanOrEqual(to);
      }
    });
  },
);

test('an event keeps its bytes while its endpoint is disabled and the switch is set', async () => {
  const own = await enter('held');
  const { endpoint, call } = own;
  const { path } = endpoint;
  receiver.on(path, status(500));
  // Its deliveries are due when those are, so a loop that attempts them has looked at both.
  receiver.on('/control', status(500));
  await call('POST', '/webhook-endpoints', {
    url: `${receiver.url}/control`,
    events: SUBSCRIBABLE_EVENTS,
  });
  await own.setDetail(true);
  await own.endTraining('trn_held');
  await own.saveEvaluation('trn_held');
  const ofEvaluation = () =>
    receiver
      .requestsTo(path)
      .filter((request) => verify(request, endpoint).type === 'evaluation.completed');
  // Both deliveries must exist before the endpoint is disabled: none is made afterwards.
  await receive(own, 2);

  await call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'disabled' });
  await own.setDetail(false);
  const list = async (): Promise<
    { event_type: string; status: string; attempt: number; next_try_at: string }[]
  > => (await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries`)).body.data;
  const waiting = await until(async () => {
    const deliveries = await list();
    return deliveries.every(({ attempt }) => attempt === 1) ? deliveries : null;
  });
  expect(waiting.map((delivery) => delivery.status)).toEqual(['retrying', 'retrying']);
  receiver.on(path, status(200));
  clock.advance(WAIT_MS);
  await receiver.arrived('/control', 4);
  expect(await list()).toEqual(waiting);
  const tried = ofEvaluation().length;

  await call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'active' });
  await until(async () => (await list()).every((delivery) => delivery.status === 'ok'));
  const attempts = ofEvaluation();
  expect(attempts).toHaveLength(tried + 1);
  expect(new Set(attempts.map(({ body }) => body.toString())).size).toBe(1);
  const last = attempts.at(-1);
  expect(last && verify(last, endpoint).data).toStrictEqual({
    team_id: own.teamId,
    training_id: 'trn_held',
    user_id: userId('held', 'member'),
    score: 71,
  });
  // The switch is off: events from now on name no person.
  await own.endTraining('trn_after');
  const events = await receive(own, 3);
  expect(events.find(({ data }) => data['training_id'] === 'trn_after')?.data).toStrictEqual({
    team_id: own.teamId,
    training_id: 'trn_after',
    assignment_id: null,
    ...END,
  });
});

import type { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { DIMENSIONS } from '../../core/dimensions.ts';
import { newId, newRequestId } from '../../core/ids.ts';
import { invalidField, ProblemError, unknownId } from '../../core/problem.ts';
import { SANDBOX_ACTOR } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { enqueue, record } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { failNow } from '../crm/sync/service.ts';
import { saveEvaluation } from '../evaluations/platform-service.ts';
import { acceptInvitation } from '../members/platform-service.ts';
import { removeMember } from '../members/service.ts';
import { updateTeam } from '../team-lifecycle/service.ts';
import { recordStep, toDescription } from '../trainings/platform-service.ts';
import { END_SUSPENSION, SCORE_TRAINING } from './jobs.ts';
import * as plays from './play-rules.ts';
import type { Play } from './play-rules.ts';
import type { simulateInput } from './play-schema.ts';
import * as store from './play-store.ts';
import * as rules from './rules.ts';
import { judgementOf, scenarioPersonOf } from './scenario.ts';
import { idFor } from './service.ts';
import { findSandbox, type SandboxRow } from './store.ts';
import { endSuspension } from './suspension-service.ts';

export type Wanted = z.output<typeof simulateInput>;

/** What a play has made. */
interface Made {
  readonly trainingId?: string;
  readonly memberId?: string;
  readonly connectionId?: string;
  readonly evaluationAt?: Date;
  readonly until?: Date;
}

/** What has been played, and the events that follow. */
export interface Played extends Made {
  readonly play: Play;
  readonly events: readonly string[];
}

/** What a play works with. The sandbox's team is locked. */
interface Stage {
  readonly tx: Tx;
  readonly sandbox: SandboxRow;
  readonly clock: Clock;
  /** The host application's stand-in. */
  readonly host: PlatformChangeContext;
}

/**
 * Plays something in a sandbox. The context's team is the live team or the sandbox. Opens a
 * transaction. Throws `not_found` (no sandbox, or a named id), `validation_error`, `conflict`
 * (there is nothing to play it with), and what the services that it calls throw.
 */
export async function simulate(
  db: Db,
  context: PlatformChangeContext,
  clock: Clock,
  wanted: Wanted,
): Promise<Played> {
  const teamId = idFor(context.teamId);
  const { play } = wanted;
  plays.requireTaken(wanted);
  plays.requireRecent(wanted.at, context.at);
  return db.transaction(async (tx) => {
    const [sandbox, current] = await Promise.all([
      lockSandbox(tx, teamId),
      readChangeContext(tx, { ...context, teamId }),
    ]);
    const host = { ...context, teamId, actor: SANDBOX_ACTOR };
    record(tx, current, {
      audit: { action: 'sandbox.played', targetId: teamId, details: { play } },
    });
    const made = await PLAYERS[play]({ tx, sandbox, clock, host }, wanted);
    return { ...made, play, events: plays.PLAYS[play].raises };
  });
}

const PLAYERS: Record<Play, (stage: Stage, wanted: Wanted) => Promise<Made>> = {
  training_completed: completeTraining,
  evaluation_saved: saveFirst,
  evaluation_corrected: correct,
  invitation_accepted: accept,
  member_left: leave,
  crm_sync_failed: failSync,
  team_suspended: suspend,
  rate_limit_nearly_reached: nearRateLimit,
  webhooks_failing: failWebhooks,
};

async function completeTraining(stage: Stage, wanted: Wanted): Promise<Made> {
  const { tx, sandbox, clock, host } = stage;
  const { teamId } = host;
  const assignment = await requireAssignment(stage, wanted.assignment_id);
  const named = { memberId: wanted.member_id, userId: wanted.user_id };
  const isNamed = Object.values(named).some((id) => id !== undefined);
  const person =
    assignment && !isNamed
      ? await requireRecipient(stage, assignment)
      : await requirePerson(stage, 'longest', named);
  const end = plays.requireRecent(wanted.at, host.at);
  const durationS = wanted.duration_s ?? plays.DEFAULTS.durationS;
  const trainingId = newId('training');
  const description = toDescription({
    team_id: teamId,
    training_id: trainingId,
    user_id: person.user_id,
    source: 'app',
    assignment_id: wanted.assignment_id,
    created_at: new Date(end.getTime() - durationS * 1000).toISOString(),
    situation_id: wanted.situation_id ?? assignment?.situationId ?? plays.DEFAULTS.situationId,
    personality_id: assignment?.personalityId,
    industry_id: assignment?.industryId,
  });
  await recordStep(tx, host, description, { kind: 'start' });
  const finishedAt = end.toISOString();
  await recordStep(tx, host, description, { kind: 'end', finishedAt, durationS });
  const delayMs = plays.evaluationDelayMs(wanted.delay_s, sandbox.speed);
  const score = {
    trainingId,
    score: wanted.score ?? plays.DEFAULTS.score,
    savedAt: new Date(end.getTime() + delayMs).toISOString(),
  };
  const evaluationAt = new Date(host.at.getTime() + delayMs);
  const made = { trainingId, memberId: person.id, evaluationAt };
  if (delayMs === 0) {
    await saveScore(tx, host, score);
    return made;
  }
  const payload: ScorePayload = { teamId, ...score };
  const wait = { ms: delayMs, from: clock.override() };
  await enqueue(tx, teamId, { task: SCORE_TRAINING, payload: { ...payload }, wait });
  return made;
}

async function requireAssignment(
  { tx, host }: Stage,
  id: string | undefined,
): Promise<store.AssignmentToTrain | null> {
  if (id === undefined) return null;
  const found = await store.findAssignment(tx, host.teamId, id);
  if (!found) throw unknownId('assignment_id');
  return found;
}

async function requirePerson(
  { tx, host }: Stage,
  which: 'longest' | 'newest',
  wanted: { readonly memberId: string | undefined; readonly userId: string | undefined },
): Promise<store.Person> {
  const found = await store.findPerson(tx, host.teamId, which, wanted);
  if (!found) throw unknownId(wanted.userId === undefined ? 'member_id' : 'user_id');
  return found;
}

async function requireRecipient(
  { tx, host }: Stage,
  { memberId }: store.AssignmentToTrain,
): Promise<store.Person> {
  const wanted = { memberId, userId: undefined };
  const found = await store.findPerson(tx, host.teamId, 'longest', wanted);
  if (!found) throw invalidField('assignment_id', 'Its recipient is no active member.');
  return found;
}

/** What a training is scored with. The score is the only part that is no id. */
export interface ScorePayload {
  readonly teamId: string;
  readonly trainingId: string;
  readonly score: number;
  readonly savedAt: string;
}

/**
 * The job after a training: saves its evaluation, unless it has one by now, or the sandbox was
 * reset or is being removed. Opens a transaction.
 */
export async function scoreTraining(
  db: Db,
  clock: Clock,
  { teamId, ...score }: ScorePayload,
): Promise<void> {
  const actor = SANDBOX_ACTOR;
  const host = { teamId, actor, requestId: newRequestId(), at: clock.now() };
  await db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    if (!(await findSandbox(tx, teamId))) return;
    const wanted = { id: score.trainingId, status: 'completed' };
    if ((await store.findTraining(tx, teamId, wanted))?.status !== 'completed') return;
    await saveScore(tx, host, score);
  });
}

async function saveScore(
  tx: Tx,
  host: PlatformChangeContext,
  { trainingId, score, savedAt }: Omit<ScorePayload, 'teamId'>,
): Promise<void> {
  const scores = plays.scoresAround(score, DIMENSIONS.length);
  const evaluation = { ...judgementOf(scores), total: score };
  await saveEvaluation(tx, host, { ...evaluation, training_id: trainingId, saved_at: savedAt });
}

async function saveFirst({ tx, host }: Stage, wanted: Wanted): Promise<Made> {
  const id = wanted.training_id;
  const training = await store.findTraining(tx, host.teamId, { id, status: 'completed' });
  if (!training) throw id === undefined ? nothing('training waits for one') : unknownTraining();
  if (training.status === 'scored')
    throw new ProblemError('conflict', {
      detail: 'The training has an evaluation already. Play evaluation_corrected.',
    });
  const at = plays.requireRecent(wanted.at, host.at);
  const trainingId = training.id;
  const score = wanted.score ?? plays.DEFAULTS.score;
  await saveScore(tx, host, { trainingId, score, savedAt: at.toISOString() });
  return { trainingId, evaluationAt: host.at };
}

async function correct({ tx, host }: Stage, wanted: Wanted): Promise<Made> {
  const { teamId, at } = host;
  const id = wanted.training_id;
  const training = await store.findTraining(tx, teamId, { id, status: 'scored' });
  if (!training) throw id === undefined ? nothing('training has one') : unknownTraining();
  const before = await store.findEvaluation(tx, teamId, training.id);
  if (!before)
    throw new ProblemError('conflict', {
      detail: 'The training has no evaluation yet. Play evaluation_saved.',
    });
  const savedAt = plays.requireLater(wanted.at, before.savedAt, at).toISOString();
  const score = wanted.score ?? plays.correctedScore(before.total);
  await saveScore(tx, host, { trainingId: training.id, score, savedAt });
  return { trainingId: training.id, evaluationAt: at };
}

async function accept({ tx, host }: Stage, wanted: Wanted): Promise<Made> {
  const { teamId } = host;
  const invitation = await store.findInvitation(tx, teamId, wanted.member_id);
  if (!invitation)
    throw wanted.member_id === undefined ? nothing('invitation is open') : unknownId('member_id');
  const { id: memberId, email } = invitation;
  const named = scenarioPersonOf(email);
  const userId =
    wanted.user_id ?? (await store.findAbsent(tx, teamId, { email, named })) ?? newId('user');
  await acceptInvitation(tx, host, { userId, memberId, email: null });
  return { memberId };
}

async function leave(stage: Stage, wanted: Wanted): Promise<Made> {
  const { tx, host } = stage;
  const named = { memberId: wanted.member_id, userId: wanted.user_id };
  const { id: memberId } = await requirePerson(stage, 'newest', named);
  await removeMember(tx, await readChangeContext(tx, host), memberId);
  return { memberId };
}

async function failSync({ tx, host, clock }: Stage, wanted: Wanted): Promise<Made> {
  const id = wanted.connection_id;
  const connectionId = await store.lockConnection(tx, host.teamId, id);
  if (connectionId === null)
    throw id === undefined ? nothing('CRM connection is active') : unknownId('connection_id');
  const reason = wanted.reason ?? plays.DEFAULTS.crmReason;
  await failNow(tx, clock, { teamId: host.teamId, connectionId }, reason);
  return { connectionId };
}

async function suspend(stage: Stage, wanted: Wanted): Promise<Made> {
  const { tx, host, sandbox, clock } = stage;
  const { teamId } = host;
  const forS = wanted.for_s ?? plays.DEFAULTS.suspendedS;
  if (forS === 0) {
    await endSuspension(tx, host, sandbox.suspended_until);
    return {};
  }
  const team = await store.findTeam(tx, teamId);
  // It is the live team that is closed.
  if (team?.status !== 'active' && sandbox.suspended_until === null)
    throw new ProblemError('api_disabled');
  await updateTeam(tx, host, { team_id: teamId, status: 'suspended' });
  const until = new Date(host.at.getTime() + forS * 1000);
  await store.markPlayed(tx, teamId, { suspendedUntil: until });
  const payload = { teamId, until: until.toISOString() };
  const wait = { ms: forS * 1000, from: clock.override() };
  await enqueue(tx, teamId, { task: END_SUSPENSION, payload, wait });
  return { until };
}

async function nearRateLimit({ tx, host, clock }: Stage, wanted: Wanted): Promise<Made> {
  const team = await store.findTeam(tx, host.teamId);
  const remaining = wanted.remaining ?? plays.DEFAULTS.remaining;
  const count = Math.max(0, (team?.rateLimitPerMin ?? 0) - remaining);
  return { until: await store.fillRateLimit(tx, host.teamId, { count, now: clock.override() }) };
}

async function failWebhooks({ tx, host }: Stage, wanted: Wanted): Promise<Made> {
  const forS = wanted.for_s ?? plays.DEFAULTS.failingS;
  const until = new Date(host.at.getTime() + forS * 1000);
  await store.markPlayed(tx, host.teamId, { receiversFailUntil: forS === 0 ? null : until });
  return forS === 0 ? {} : { until };
}

/** Reads the sandbox and locks its team until the transaction ends. Throws `not_found`. */
export async function lockSandbox(tx: Tx, teamId: string): Promise<SandboxRow> {
  lockTeam(tx, teamId);
  return rules.requireSandbox(await findSandbox(tx, teamId));
}

/** Sets the speed of a sandbox. Opens a transaction. Throws `not_found`. */
export async function updateSandbox(
  db: Db,
  context: PlatformChangeContext,
  { speed }: { readonly speed: number },
): Promise<SandboxRow> {
  const teamId = idFor(context.teamId);
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      lockSandbox(tx, teamId),
      readChangeContext(tx, { ...context, teamId }),
    ]);
    if (before.speed === speed) return before;
    await store.markPlayed(tx, teamId, { speed });
    record(tx, current, {
      audit: { action: 'sandbox.updated', targetId: teamId, details: { speed } },
    });
    return { ...before, speed };
  });
}

function nothing(what: string): ProblemError {
  return new ProblemError('conflict', { detail: `No ${what}.` });
}

function unknownTraining(): ProblemError {
  return unknownId('training_id');
}

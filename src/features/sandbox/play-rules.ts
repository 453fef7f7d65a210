/**
 * Decisions about what is played in a sandbox:
 *  * A play goes through the services that the host application's calls go through, in one
 *    transaction under the lock of the sandbox's team. So it waits for a reset, and of two plays
 *    of one invitation the second one finds it accepted.
 *  * Whoever plays is in the audit log with `sandbox.played`. What follows is done by the host
 *    application's stand-in, the platform actor `sandbox`, with the same request id.
 *  * A play that needs somebody or something and is not told whom or what takes the first that
 *    fits, always the same way: to train, the member who has been there longest; to leave, the
 *    newest one; the oldest invitation; the newest training with, or without, an evaluation.
 *  * Who accepts an invitation is who was a member with its address before, as in a live team,
 *    where a person signs in with it. So whoever was removed and invited again gets the trainings
 *    back. The invited one of a scenario has the id that is fixed for them.
 *  * A training is scored ten seconds after its end, divided by the sandbox's `speed`, by a job.
 *    `delay_s` is taken as it is. With 0 the evaluation is saved in the same call.
 *  * `at` moves what the host application would report: the beginning and the end of the training,
 *    or when the evaluation was made. So lists and weeks show it then. What this service notes
 *    itself is of now: events, deliveries, the audit log, and when an evaluation was stored, which
 *    orders `GET /evaluations`. A score is never earlier than the one that it corrects. The clock
 *    of a caller may be ahead: a time up to a minute in the future is taken as now.
 *  * A correction raises no event, as it raises none in a live team.
 *  * A failing CRM is noted like any failed attempt: with its event, and with the next attempt
 *    after a minute. A synchronization that runs at that moment has lost the connection.
 *  * While the team is suspended, its keys get `api_disabled`. The admin page stays open, because
 *    its admins end it: with `for_s: 0`, or with a reset. It ends by itself at its time, even if
 *    the job is late, and what the live team's status is then counts. The host application may
 *    change that at any time: a suspended or ended live team has a suspended or ended sandbox, and
 *    the suspension that was simulated has ended: an active team's sandbox is active again.
 *  * The rate limit is played for the current minute, in the count that all keys share.
 *  * While webhooks fail, an attempt is one that got 503, without asking the receiver. Its `error`
 *    says `simulated`. A test of an endpoint fails, too. Then the schedule goes on as usual.
 *  * `speed` divides the waits that begin from then on. A wait that a receiver asks for with
 *    `Retry-After` is the receiver's and stays. When a silent endpoint is paused does not change.
 */
import type { EventType } from '../../core/events.ts';
import { invalidField } from '../../core/problem.ts';

/** The fields that choose how something is played. */
export const PLAY_FIELDS = [
  'member_id',
  'user_id',
  'training_id',
  'assignment_id',
  'situation_id',
  'connection_id',
  'score',
  'duration_s',
  'delay_s',
  'for_s',
  'remaining',
  'reason',
  'at',
] as const;
export type PlayField = (typeof PLAY_FIELDS)[number];

interface Declaration {
  /** A sentence for the documentation. */
  readonly does: string;
  readonly takes: readonly PlayField[];
  /** The events that it raises, in their order. */
  readonly raises: readonly EventType[];
}

/** Everything that can be played. */
export const PLAYS = {
  training_completed: {
    does: 'A member completes a training, and some seconds later it is scored.',
    takes: [
      'member_id',
      'user_id',
      'assignment_id',
      'situation_id',
      'duration_s',
      'score',
      'delay_s',
      'at',
    ],
    raises: ['training.completed', 'evaluation.completed'],
  },
  evaluation_saved: {
    does: 'A training that has no evaluation gets one.',
    takes: ['training_id', 'score', 'at'],
    raises: ['evaluation.completed'],
  },
  evaluation_corrected: {
    does: 'The score of a training changes.',
    takes: ['training_id', 'score', 'at'],
    raises: [],
  },
  invitation_accepted: {
    does: 'Somebody accepts an open invitation.',
    takes: ['member_id', 'user_id'],
    raises: [],
  },
  member_left: {
    does: 'A member leaves the team.',
    takes: ['member_id', 'user_id'],
    raises: ['member.removed'],
  },
  crm_sync_failed: {
    does: 'A synchronization with a CRM fails.',
    takes: ['connection_id', 'reason'],
    raises: ['crm.sync.failed'],
  },
  team_suspended: {
    does: 'The host application suspends the team.',
    takes: ['for_s'],
    raises: [],
  },
  rate_limit_nearly_reached: {
    does: 'The keys of the team have few requests left in this minute.',
    takes: ['remaining'],
    raises: [],
  },
  webhooks_failing: {
    does: 'The webhook endpoints answer 503.',
    takes: ['for_s'],
    raises: [],
  },
} as const satisfies Record<string, Declaration>;

export type Play = keyof typeof PLAYS;
export const PLAY_NAMES = Object.keys(PLAYS) as readonly Play[];

/** Why a CRM can be played to have failed. */
export const CRM_REASONS = [
  'unauthorized',
  'forbidden',
  'rate_limited',
  'provider_error',
  'timeout',
  'unreachable',
] as const;

export const SPEED_MAX = 1_000;
export const DAYS_BACK = 90;
const DAY_MS = 86_400_000;
/** The clock of a caller may be so far ahead. */
const AHEAD_MAX_MS = 60_000;

/** What a play has where the call says nothing. */
export const DEFAULTS = {
  score: 71,
  situationId: 'sit_sandbox_price',
  durationS: 420,
  delayS: 10,
  suspendedS: 60,
  failingS: 300,
  remaining: 5,
  crmReason: 'unauthorized',
} as const;

/** What a call asks for: a play, and some of its fields. */
export type Wanted = { readonly play: Play } & Readonly<Partial<Record<PlayField, unknown>>>;

/** Throws `validation_error` for a field that the play does not take. */
export function requireTaken(wanted: Wanted): void {
  const takes: readonly PlayField[] = PLAYS[wanted.play].takes;
  for (const field of PLAY_FIELDS)
    if (wanted[field] !== undefined && !takes.includes(field))
      throw invalidField(field, `${wanted.play} takes no ${field}, but ${takes.join(', ')}.`);
}

/**
 * Returns the time that is played, now if none is given or if it is up to a minute ahead. Throws
 * `validation_error` (field `at`) for a later one, and for one more than `DAYS_BACK` days ago.
 */
export function requireRecent(at: string | undefined, now: Date): Date {
  if (at === undefined) return now;
  const wanted = new Date(at);
  const ageMs = now.getTime() - wanted.getTime();
  if (ageMs < 0 && ageMs >= -AHEAD_MAX_MS) return now;
  if (ageMs >= 0 && ageMs <= DAYS_BACK * DAY_MS) return wanted;
  const detail = `A time in the last ${DAYS_BACK} days, and not in the future.`;
  throw invalidField('at', detail, 'not_recent');
}

/** How long after its end a training is scored. */
export function evaluationDelayMs(delayS: number | undefined, speed: number): number {
  return (delayS ?? DEFAULTS.delayS / speed) * 1000;
}

/** A corrected score, unless the call has one: five more, or five less where that is too much. */
export function correctedScore(before: number | null): number {
  const score = before ?? DEFAULTS.score;
  return score + 5 > 100 ? score - 5 : score + 5;
}

/**
 * Returns when the correction was made: after what it corrects. Throws `validation_error` (field
 * `at`).
 */
export function requireLater(at: string | undefined, before: string, now: Date): Date {
  const wanted = requireRecent(at, now);
  if (wanted.getTime() > Date.parse(before)) return wanted;
  if (at === undefined || Date.parse(at) > now.getTime()) return new Date(Date.parse(before) + 1);
  throw invalidField('at', `The evaluation that it corrects is of ${before}.`);
}

/** Scores of the dimensions whose mean is the total. */
export function scoresAround(total: number, dimensions: number): number[] {
  const spread = Math.max(0, Math.min(total, 100 - total, 12));
  const middle = (dimensions - 1) / 2;
  return Array.from({ length: dimensions }, (_, place) =>
    Math.trunc(total + Math.trunc((spread * (place - middle)) / middle)),
  );
}

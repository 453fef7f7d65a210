/** What can be played in a sandbox, and what is chosen of it: see `plays.tsx`. */
import type { RouterInputs } from '../lib/api.ts';

type Wanted = RouterInputs['v1']['sandbox']['simulate'];
export type Play = Wanted['play'];
/** The fields of the plays that the page offers, by their names in the API. */
export type FieldName = 'member_id' | 'score' | 'at' | 'for_s' | 'reason' | 'remaining';

const MINUTE_S = 60;
export const DURATIONS_S: readonly number[] = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_S);

/** Everything that can be played, with what can be chosen of it. */
export const PLAYS: Readonly<Record<Play, readonly FieldName[]>> = {
  training_completed: ['member_id', 'score', 'at'],
  evaluation_saved: ['score'],
  evaluation_corrected: ['score'],
  invitation_accepted: [],
  member_left: ['member_id'],
  crm_sync_failed: ['reason'],
  team_suspended: ['for_s'],
  rate_limit_nearly_reached: ['remaining'],
  webhooks_failing: ['for_s'],
};

/** How long something lasts if nothing is chosen. */
export const LASTS_S: Partial<Record<Play, number>> = {
  team_suspended: MINUTE_S,
  webhooks_failing: 5 * MINUTE_S,
};

/** The highest number that a field takes. */
export const HIGHEST = { score: 100, remaining: 1_000 } as const;

export const REASONS = [
  'unauthorized',
  'forbidden',
  'rate_limited',
  'provider_error',
  'timeout',
  'unreachable',
] as const satisfies Wanted['reason'][];

/** What is filled in. The service says what is wrong with it. */
export function readFields(data: FormData): Partial<Wanted> {
  const text = (name: FieldName): string | undefined => {
    const value = data.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const number = (name: FieldName): number | undefined => {
    const value = text(name);
    return value === undefined ? undefined : Number(value);
  };
  const at = text('at');
  return {
    score: number('score'),
    for_s: number('for_s'),
    remaining: number('remaining'),
    reason: REASONS.find((one) => one === text('reason')),
    at: at === undefined ? undefined : new Date(at).toISOString(),
  };
}

/** The fields that show what is wrong with them. The choice of a person does not. */
export function fieldsWithErrors(play: Play): readonly FieldName[] {
  return PLAYS[play].filter((name) => name !== 'member_id');
}

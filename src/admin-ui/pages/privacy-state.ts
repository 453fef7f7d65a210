/** What the privacy switches come to: see `privacy.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';
import { CONCERNED_SCOPES } from '../lib/privacy-scopes.ts';
import type { ApiKey } from './key-state.ts';

type Switches = RouterOutputs['admin']['team']['privacy']['get'];
export type SwitchName = keyof Switches;

/** Why the comparison shows nothing although it is switched on. */
export type Idle = 'isIdle' | 'isTooSmall' | 'isAsked' | null;

/** Why a switch changes nothing even if it is on; null: it does. */
export function idleOf(
  name: SwitchName,
  { member_detail_enabled: hasDetail }: Pick<Switches, 'member_detail_enabled'>,
  /** undefined: unknown. */
  results: { readonly people: unknown } | undefined,
): Idle {
  if (name !== 'leaderboard_enabled') return null;
  if (!hasDetail) return 'isIdle';
  if (results === undefined) return 'isAsked';
  return results.people === null ? 'isTooSmall' : null;
}

/** What a switch is said to be, as the texts call it, and whether it does something. */
export function stateOfSwitch(
  isOn: boolean,
  idle: Idle,
): { readonly text: 'isOn' | 'isOff' | NonNullable<Idle>; readonly isGood: boolean } {
  if (!isOn) return { text: 'isOff', isGood: false };
  return { text: idle ?? 'isOn', isGood: idle === null };
}

/** How many working keys read what a switch can hide, by their permission. */
export function keysConcerned(
  name: SwitchName,
  keys: readonly Pick<ApiKey, 'state' | 'scopes'>[],
): readonly { readonly scope: string; readonly count: number }[] {
  const live = keys.filter(({ state }) => state === 'active');
  return CONCERNED_SCOPES[name]
    .map((scope) => ({ scope, count: live.filter(({ scopes }) => scopes.includes(scope)).length }))
    .filter(({ count }) => count > 0);
}

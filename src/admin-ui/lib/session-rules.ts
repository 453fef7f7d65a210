/** What the page decides about a session: see `session.ts`. */
import type { Session, SessionState, StateOfNobody } from './session.ts';

/** A new token is asked for this long before the last one expires. */
const RENEW_BEFORE_MS = 60_000;
/** Not sooner, however short the lives of the tokens are. */
const RENEW_AFTER_MS = 5_000;
/** Not later: no token lives longer, and browsers fire a timer of 25 days at once. */
const RENEW_WITHIN_MS = 3_600_000;
/** With less time left, a call waits for a new token: it could be refused on its way. */
const LEFT_MS = 2_000;

/** What an answer that has no session says of it. */
export function refusalOf(
  status: number,
  isSandbox: boolean,
): 'ended' | 'closed' | 'no_sandbox' | 'unreachable' {
  if (status === 403) return 'closed';
  if (status === 401) return 'ended';
  return status === 404 && isSandbox ? 'no_sandbox' : 'unreachable';
}

/** Whether two sessions are of the same person in the same team. */
export function isSameReader(one: Session, other: Session): boolean {
  return one.team.id === other.team.id && one.member_id === other.member_id;
}

/** How long a token still lives. `date`: the time of the service, if it has told it. */
export function leftMsOf(expiresAt: string, date: string | null): number {
  return Date.parse(expiresAt) - (date === null ? Date.now() : Date.parse(date));
}

/** How long to wait before the next token is asked for. */
export function renewalAfterMs(leftMs: number): number {
  return Math.min(RENEW_WITHIN_MS, Math.max(RENEW_AFTER_MS, leftMs - RENEW_BEFORE_MS));
}

/** Whether a token expires too soon for a call. */
export function isExpiring(expiresAtMs: number): boolean {
  return Date.now() > expiresAtMs - LEFT_MS;
}

/** What stands instead of the page: the reader is nobody, or a member without a role here. */
export function standstillOf(state: SessionState): StateOfNobody | 'forbidden' | null {
  if (!('session' in state)) return state.kind;
  return state.session.role === 'member' ? 'forbidden' : null;
}

/** Whether another try may help where nothing can be shown. */
export function helpsToRetry(state: StateOfNobody | 'forbidden'): boolean {
  return state === 'unreachable' || state === 'no_host';
}

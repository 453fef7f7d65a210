import type { RouterOutputs } from '../lib/api.ts';

export type ApiKey = RouterOutputs['admin']['apiKeys']['list']['data'][number];

/** The state of a key as the page names it. `ending`: it was replaced and still works. */
export function stateOf({
  state,
  revoked_at,
}: Pick<ApiKey, 'state' | 'revoked_at'>): 'active' | 'ending' | 'expired' | 'revoked' {
  return state === 'active' && revoked_at !== null ? 'ending' : state;
}

/** Whether nobody has confirmed to have stored the key, and nothing has used it. */
export function wasNeverSeen({ state, revoked_at, stored_at, last_used_at }: ApiKey): boolean {
  const isLive = stateOf({ state, revoked_at }) === 'active';
  return isLive && stored_at === null && last_used_at === null;
}

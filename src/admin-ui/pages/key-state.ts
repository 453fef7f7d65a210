import type { RouterOutputs } from '../lib/api.ts';

export type ApiKey = RouterOutputs['admin']['apiKeys']['list']['data'][number];

/** The state of a key as the page names it. `ending`: it was replaced and still works. */
export function stateOf({
  state,
  revoked_at,
}: Pick<ApiKey, 'state' | 'revoked_at'>): 'active' | 'ending' | 'expired' | 'revoked' {
  return state === 'active' && revoked_at !== null ? 'ending' : state;
}

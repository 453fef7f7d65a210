/** What pages read of the team's keys, of which very many can have ended. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, client } from '../lib/api.ts';
import { rowsKnown } from '../lib/queries.ts';
import type { ApiKey } from './key-state.ts';
import { eachOnce, idsToName, nameInParts } from './ids-to-name.ts';

/** A key as it is chosen, or named in a row. */
export type NamedKey = Pick<ApiKey, 'id' | 'name'>;

/** Every key that works. A team has 50 at most, so that they are one page. */
export const liveKeys = () => api.admin.apiKeys.list.queryOptions({ state: 'active', limit: 200 });

/**
 * `known`: the keys that work, and the newest of those that have ended. `named`: these, and those
 * of the ids, which are asked for if they are not among them.
 */
export function useKeys(ids: readonly string[] = []): {
  readonly known: readonly ApiKey[];
  readonly named: readonly NamedKey[];
  readonly isPending: boolean;
} {
  const live = useQuery(liveKeys());
  const newest = useQuery(api.admin.apiKeys.list.queryOptions({ limit: 200 }));
  const known = eachOnce(rowsKnown(live), rowsKnown(newest));
  const isKnowing = live.isPending || newest.isPending;
  const others = idsToName(ids, known);
  const isAsking = !isKnowing && others.length > 0;
  const names = useQuery({
    queryKey: [...api.admin.apiKeys.names.queryKey({ key_ids: others }), 'all'],
    queryFn: () =>
      nameInParts(others, (part) => client.admin.apiKeys.names.query({ key_ids: part })),
    enabled: isAsking,
    placeholderData: keepPreviousData,
  });
  return {
    known,
    named: eachOnce<NamedKey>(known, rowsKnown(names)),
    isPending: isKnowing || (isAsking && names.isPending),
  };
}

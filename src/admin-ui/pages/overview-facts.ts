import { useQuery } from '@tanstack/react-query';
import { api, type RouterOutputs } from '../lib/api.ts';
import { fillDays, firstDayOf } from '../lib/days.ts';
import type { Health } from '../lib/success.ts';
import type { QueryLike } from '../lib/queries.ts';
import { liveKeys } from './key-queries.ts';

/** How many days are drawn. */
const DAYS = 30;
/** Who looks here asks how it is now. */
export const ANEW = { refetchOnMount: 'always', refetchInterval: 30_000 } as const;

type Days = RouterOutputs['admin']['usage']['daily']['data'];

/** What the overview is made of. */
export interface Facts {
  /** The live keys. */
  readonly keys: RouterOutputs['admin']['apiKeys']['list']['data'];
  /** The last 30 days, today included. */
  readonly days: Days;
  readonly hooks: readonly Health[];
  readonly crms: RouterOutputs['admin']['crm']['list']['data'];
}

/** Reads everything that the overview is made of. */
export function useFacts(): QueryLike<Facts> {
  const since = firstDayOf(DAYS);
  const keys = useQuery({ ...liveKeys(), ...ANEW });
  const usage = useQuery({ ...api.admin.usage.daily.queryOptions({ since }), ...ANEW });
  const hooks = useQuery({ ...api.admin.deliveries.health.queryOptions({}), ...ANEW });
  const crms = useQuery({ ...api.admin.crm.list.queryOptions({}), ...ANEW });
  const queries = [keys, usage, hooks, crms];
  const refetch = () => queries.map((query) => void query.refetch());
  const error = queries.find((query) => query.error)?.error ?? null;
  if (!keys.data || !usage.data || !hooks.data || !crms.data)
    return { data: undefined, error, isPlaceholderData: false, refetch };
  return {
    data: {
      keys: keys.data.data,
      days: fillDays(usage.data.data, since),
      hooks: hooks.data.data,
      crms: crms.data.data,
    },
    error,
    isPlaceholderData: false,
    refetch,
  };
}

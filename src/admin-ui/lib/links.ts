/** The calls about links that hand a secret over. Those for keys need a right of their own. */
import type { QueryKey } from '@tanstack/react-query';
import { api, client } from './api.ts';

/** What a link hands over. */
export interface Subject {
  readonly kind: 'key' | 'endpoint';
  readonly id: string;
}

/** A link, whatever it hands over. */
export type Handover = Omit<Awaited<ReturnType<typeof client.admin.handovers.get.query>>, 'key_id'>;

interface LinkCalls {
  readonly get: (input: { handover_id: string }) => Promise<Handover>;
  readonly withdraw: (input: { handover_id: string }) => Promise<Handover>;
  /** Where the cache has a link, and all lists of them. */
  readonly keyOf: (id: string) => QueryKey;
  readonly lists: () => { readonly queryKey?: QueryKey };
}

export const LINKS: Readonly<Record<Subject['kind'], LinkCalls>> = {
  key: {
    get: client.admin.handovers.get.query,
    withdraw: client.admin.handovers.withdraw.mutate,
    keyOf: (id) => api.admin.handovers.get.queryKey({ handover_id: id }),
    lists: () => api.admin.handovers.list.pathFilter(),
  },
  endpoint: {
    get: client.admin.endpointHandovers.get.query,
    withdraw: client.admin.endpointHandovers.withdraw.mutate,
    keyOf: (id) => api.admin.endpointHandovers.get.queryKey({ handover_id: id }),
    lists: () => api.admin.endpointHandovers.list.pathFilter(),
  },
};

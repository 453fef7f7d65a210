import type { RouterOutputs } from '../lib/api.ts';

export type Endpoint = RouterOutputs['v1']['webhooks']['listEndpoints']['data'][number];

/** How a webhook endpoint is called on the page. */
export const nameOfEndpoint = ({
  url,
  description,
}: Pick<Endpoint, 'url' | 'description'>): string => description ?? new URL(url).host;

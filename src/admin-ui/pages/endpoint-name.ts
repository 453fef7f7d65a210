import type { RouterOutputs } from '../lib/api.ts';

export type Endpoint = RouterOutputs['v1']['webhooks']['listEndpoints']['data'][number];
type Named = Pick<Endpoint, 'url' | 'description'>;

/** A choice as long as its text would be wider than the page. */
const CHOICE_MAX_CHARACTERS = 80;

/** How a webhook endpoint is called on the page. */
export function nameOfEndpoint({ url, description }: Named): string {
  return description ?? new URL(url).host;
}

/**
 * The endpoints as choices, cut. Those of one name have their path, too, or their id where that is
 * the same. Never the query, which may hold a secret.
 */
export function endpointChoices(
  endpoints: readonly (Named & { readonly id: string })[],
): (readonly [id: string, text: string])[] {
  const short = (one: Named): string => cut(nameOfEndpoint(one));
  const long = (one: Named): string => `${short(one)} ${cut(new URL(one.url).pathname)}`;
  const isOne = (textOf: (one: Named) => string, text: string): boolean =>
    endpoints.filter((one) => textOf(one) === text).length === 1;
  return endpoints.map((endpoint) => {
    const text = [short, long].find((textOf) => isOne(textOf, textOf(endpoint)));
    return [endpoint.id, text ? text(endpoint) : `${long(endpoint)} (${endpoint.id})`];
  });
}

type Subscribed = Pick<Endpoint, 'id' | 'url' | 'events'>;

/** Whether another endpoint sends some of the same events to this URL, which may be none yet. */
export function hasTwin(endpoint: Subscribed, endpoints: readonly Subscribed[]): boolean {
  const text = endpoint.url.trim();
  const href = URL.canParse(text) ? new URL(text).href : null;
  return endpoints.some(
    ({ id, url, events }) =>
      id !== endpoint.id &&
      new URL(url).href === href &&
      events.some((type) => endpoint.events.includes(type)),
  );
}

function cut(text: string): string {
  const characters = Array.from(text);
  return characters.length <= CHOICE_MAX_CHARACTERS
    ? text
    : `${characters.slice(0, CHOICE_MAX_CHARACTERS).join('')}…`;
}

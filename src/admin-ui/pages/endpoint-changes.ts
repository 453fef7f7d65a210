/** What is changed of a webhook endpoint: see `webhook-settings.tsx`. */
import type { Endpoint } from './endpoint-name.ts';

/** What a webhook endpoint is made of. */
export interface EndpointValues {
  readonly url: string;
  readonly events: string[];
  readonly description: string | null;
}

export function valuesOf({ url, description, events }: EndpointValues): EndpointValues {
  return { url, description, events: [...events] };
}

/** What was entered, as it is saved. */
export function enteredValues({
  url,
  events,
  description,
}: {
  readonly url: string;
  readonly events: string[];
  readonly description: string;
}): EndpointValues {
  return { url: url.trim(), events, description: description.trim() || null };
}

/** Only what differs: an address that stays need not be looked up again. */
export function changesOf(before: EndpointValues, after: EndpointValues): Partial<EndpointValues> {
  return {
    ...(after.url !== before.url && { url: after.url }),
    ...(after.description !== before.description && { description: after.description }),
    ...(!isSame({ ...before, events: after.events }, before) && { events: after.events }),
  };
}

/** In whichever order the events are. */
export function isSame(one: EndpointValues, other: EndpointValues): boolean {
  const textOf = ({ url, description, events }: EndpointValues) =>
    JSON.stringify([url, description, events.toSorted((a, b) => a.localeCompare(b))]);
  return textOf(one) === textOf(other);
}

/** The list with another status of one endpoint. */
export function withStatus<
  One extends { readonly id: string; readonly status: string },
  List extends { readonly data: readonly One[] },
>(list: List, id: string, status: One['status'] | undefined) {
  const data = list.data.map((one) => (one.id === id && status ? { ...one, status } : one));
  return { ...list, data };
}

/**
 * Whether nothing can check with the secrets of an endpoint, because nobody has stored the present
 * one. With earlier ones the server may still check, and "now" would end them, too.
 */
export function isSecretUseless(
  { earlier_secrets_until: earlier }: Pick<Endpoint, 'earlier_secrets_until'>,
  isUnstored: boolean,
): boolean {
  return isUnstored && earlier === undefined;
}

/** What has to be filled in before it is sent. All of it is said at once. */
export function missingIn({
  url,
  events,
}: Pick<EndpointValues, 'url' | 'events'>): readonly ('url' | 'events')[] {
  return [
    ...(url.trim() === '' ? (['url'] as const) : []),
    ...(events.length === 0 ? (['events'] as const) : []),
  ];
}

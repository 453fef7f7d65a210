/** The events as the page shows them. One that lacks a name in a language does not compile. */
import type { EventType } from '../../core/events.ts';
import { en, type Texts } from '../i18n/en.ts';

const NAMED = Object.keys(en.webhooks.eventNames) as readonly EventType[];

/** Every event that an endpoint can get, in the order of the documentation. */
export const SUBSCRIBABLE_EVENTS = NAMED.filter((type) => type !== 'ping');

/** What the page calls an event; its type, if a newer version of the service has sent it. */
export function nameOfEvent(t: Texts, type: string): string {
  const names: Readonly<Record<string, string>> = t.webhooks.eventNames;
  return names[type] ?? type;
}

/**
 * A test of an endpoint is a `ping` everywhere in this service: in lists, in what pauses an
 * endpoint, in what is sent again. Its receiver can get the example of another type instead, marked
 * as a test. The event of the `ping` then holds what is sent, so that every attempt sends the same.
 */
import { EVENTS, type EventType } from '../core/events.ts';
import { redactEventData, type Privacy } from '../core/privacy.ts';

interface TestedEvent {
  readonly teamId: string;
  readonly endpointId: string;
  readonly type: EventType;
}

/** The data of an example, as the team's receivers would get it. */
export function exampleData(
  privacy: Privacy,
  type: EventType,
  teamId: string,
): Record<string, unknown> {
  return { team_id: teamId, ...redactEventData(privacy, type, EVENTS[type].example) };
}

/** The stored data of the `ping` that is sent as an event of the type. */
export function testData(privacy: Privacy, { teamId, endpointId, type }: TestedEvent): string {
  const ping = { team_id: teamId, endpoint_id: endpointId };
  if (type === 'ping') return JSON.stringify(ping);
  const sent = JSON.stringify(exampleData(privacy, type, teamId));
  return JSON.stringify({ ...ping, sent_as: type, sent_data: sent });
}

/** What a `ping` with this stored data is sent as; null: as a `ping`. */
export function readTestData(stored: string): { type: string; data: string } | null {
  const { sent_as: type, sent_data: data } = JSON.parse(stored) as Record<string, unknown>;
  return typeof type === 'string' && typeof data === 'string' ? { type, data } : null;
}

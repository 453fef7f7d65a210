import type { Mode } from './sandbox.ts';

/**
 * The limits that refuse requests or close connections, with what each of them limits. The metric
 * `api_refusals_total` has a series for each; limits of input and rules of features are none.
 */
export const LIMITS = {
  key_rate: 'requests of a key in a minute, also if its team has no higher limit',
  team_rate: 'requests of all keys of a team, or calls of its app, in a minute',
  person_rate: 'calls of a person in the app in a minute, also if the team has no higher limit',
  address_rate: 'requests of an address without a valid key or token in a minute',
  team_queue_length: 'how much work of a team waits for a turn at the database',
  team_queue_time: 'how long it waits there',
  body_size: 'the bytes of a body',
  body_speed: 'the speed of a large body, while others wait for its room',
  waiting_answers: 'refusals, and answers to strangers, of an address that wait to be sent',
  header_size: 'the bytes of the headers of a request',
  request_time: 'the time until a request has come, or until a new connection has sent one',
  exchange_time: 'the time from the headers of a request to the last byte of its response',
  pipelined_requests: 'requests in flight on one connection',
  unread_bytes: 'bytes of responses that clients leave unread',
  connections: 'open connections, and those that wait to begin',
  connection_rate: 'new connections of an address that has just sent a flood',
} as const;

export type Limit = keyof typeof LIMITS;

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly Limit[];

/**
 * Called for each request that a limit refuses, and for each connection that it closes. `owner` is
 * the team whose request it is, or a name that is no team's; null: not known. It must be fast and
 * synchronous.
 */
export type ObserveRefusal = (limit: Limit, owner: string | null) => void;

/**
 * Called for each request or call that was answered. `limit` is the one that has refused it; null:
 * none has. It must be fast and synchronous.
 */
export type ObserveOutcome = (
  name: string,
  outcome: { readonly status: number; readonly limit: Limit | null },
  seconds: number,
  mode: Mode,
) => void;

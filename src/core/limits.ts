import type { Mode } from './sandbox.ts';

/**
 * The limits that refuse requests or close connections, with what each of them limits. The metric
 * `api_refusals_total` has a series for each; limits of input and rules of features are none.
 */
export const LIMITS = {
  key_rate: 'requests of a key in a minute',
  team_rate: 'requests of a team, or calls of its app, in a minute',
  person_rate: 'calls of a person in the app in a minute',
  address_rate: 'requests of an address in a minute, without a valid key',
  team_queue_length: 'work of a team that waits for the database',
  team_queue_time: 'how long it waits there',
  body_size: 'bytes of a body',
  body_speed: 'speed of a large body while others wait',
  waiting_answers: 'refusals that wait to be sent to an address',
  header_size: 'bytes of headers',
  request_time: 'time until a request has come',
  exchange_time: 'time from its headers to the last byte of the response',
  pipelined_requests: 'requests in flight on one connection',
  unread_bytes: 'bytes that clients leave unread',
  connections: 'open connections',
  connection_rate: 'new connections of an address that floods',
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

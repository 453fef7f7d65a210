import type { RouterOutputs } from '../lib/api.ts';

export type Connection = RouterOutputs['admin']['crm']['list']['data'][number];

/** Nothing can be read. */
export function isTokenMissing({ has_credentials }: Pick<Connection, 'has_credentials'>): boolean {
  return !has_credentials;
}

/** Whether it is read, as far as is known. */
export function isCrmFine(connection: Connection): boolean {
  const { status, last_error } = connection;
  return status === 'active' && last_error === null && !isTokenMissing(connection);
}

const LOOK_EVERY_MS = 2_000;

/** A worker reads it, or will in a moment. */
export function isBeingRead({ syncing, due }: Pick<Connection, 'syncing' | 'due'>): boolean {
  return syncing || due;
}

/** When the list asks for them again: while one is being read. */
export function looksAgainMs(
  connections: readonly Pick<Connection, 'syncing' | 'due'>[] | undefined,
): number | false {
  return connections?.some(isBeingRead) ? LOOK_EVERY_MS : false;
}

/** What a connection is said to be, with its colour. */
export function stateOfCrm(
  connection: Pick<Connection, 'status' | 'last_error' | 'last_synced_at' | 'has_credentials'>,
): {
  readonly word: 'noToken' | 'status' | 'failed' | 'notYet' | 'fine';
  readonly tone: 'good' | 'bad' | 'plain';
} {
  const { status, last_error, last_synced_at } = connection;
  if (status !== 'active') return { word: 'status', tone: 'plain' };
  if (isTokenMissing(connection)) return { word: 'noToken', tone: 'bad' };
  if (last_error !== null) return { word: 'failed', tone: 'bad' };
  if (last_synced_at === null) return { word: 'notYet', tone: 'plain' };
  return { word: 'fine', tone: 'good' };
}

/** What an entry of the audit log holds, and where it leads: see `audit.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';
import { idsToName } from './ids-to-name.ts';

export type Entry = RouterOutputs['admin']['auditLog']['list']['data'][number];

type Named = Pick<Entry, 'actor' | 'target_id'>;

/** The members that the entries are by or about. */
export function memberIdsIn(entries: readonly Named[]): string[] {
  return idsToName(idsIn(entries, 'user', 'mem_'));
}

/** The keys that the entries are by or about. */
export function keyIdsIn(entries: readonly Named[]): string[] {
  return idsIn(entries, 'api_key', 'key_');
}

/** The actors of a kind, and the targets whose ids begin so. */
function idsIn(entries: readonly Named[], kind: string, begin: string): string[] {
  return entries.flatMap(({ actor, target_id: target }) => [
    ...(actor.kind === kind ? [actor.id] : []),
    ...(target?.startsWith(begin) ? [target] : []),
  ]);
}

/** All that an entry says, its own details first. */
export function factsOf({
  details,
  actor,
  target_id,
  request_id,
}: Pick<Entry, 'details' | 'actor' | 'target_id' | 'request_id'>): (readonly [string, string])[] {
  const facts = [
    ...Object.entries(details),
    ['actor_id', actor.id],
    ...(target_id === null ? [] : [['target_id', target_id]]),
    ['request_id', request_id],
  ] as const;
  return facts.map(([field = '', value]) => [
    field,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

/** Whether its call is in the request log, which has only those of keys. */
export function isInRequestLog({ kind }: Pick<Entry['actor'], 'kind'>): boolean {
  return kind === 'api_key';
}

/** The pages that show what begins with these letters. */
const PAGES_OF = { key: '/keys', mem: '/members', crm: '/crm' } as const;

/** What the page of a target is, if it has one, else all entries about it. */
export function placeOfTarget(
  id: string,
): 'endpoint' | 'delivery' | 'entries' | (typeof PAGES_OF)[keyof typeof PAGES_OF] {
  const [kind = ''] = id.split('_', 1);
  if (kind === 'whe') return 'endpoint';
  if (kind === 'whd') return 'delivery';
  return kind in PAGES_OF ? PAGES_OF[kind as keyof typeof PAGES_OF] : 'entries';
}

/**
 * How things are known in memory: by their team and their own id, because two teams may have the
 * same id. Only `teamKey` makes such a key, so a map or set of keys takes no id alone.
 */
declare const madeOfTeamAndId: unique symbol;
export type TeamKey = string & { readonly [madeOfTeamAndId]: true };

/** `part` tells apart what has the same id. Ids hold no line break. */
export function teamKey(teamId: string, id: string, part?: string): TeamKey {
  const key = `${teamId}\n${id}`;
  return (part === undefined ? key : `${key}\n${part}`) as TeamKey;
}

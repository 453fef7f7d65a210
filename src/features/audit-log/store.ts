import { PAGE_LIMIT_MAX, type PagePosition } from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';

export interface AuditRow {
  readonly id: string;
  readonly created_at: string;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly action: string;
  readonly target_id: string | null;
  readonly request_id: string;
  readonly details: Record<string, unknown>;
}

/** Filters that compare a column with a value. */
const EQUALITIES = ['actor_kind', 'actor_id', 'action', 'target_id'] as const;

/** All given filters must match. */
export interface AuditFilters {
  readonly actor_kind?: string | undefined;
  readonly actor_id?: string | undefined;
  readonly action?: string | undefined;
  readonly target_id?: string | undefined;
  /** ISO, inclusive. */
  readonly since?: string | undefined;
  /** ISO, exclusive. */
  readonly until?: string | undefined;
}

// The constant limit tells the planner that only a page will be read; see
// features/trainings/store.ts. An actor, an action and a target each have an index. A search for a
// rare combination reads the range of one of them, in the time that a statement may take.
const listOf = statementsByFilters(EQUALITIES, (named) =>
  statement<AuditRow>(
    ['auditLog.list', ...named].join('.'),
    `select *
     from (
       select id, created_at, actor_kind, actor_id, action, target_id, request_id, details
       from audit_log
       where team_id = $1
         and ${isAfter(BY_CREATION, ['$3', '$4'])}
         and created_at >= coalesce($5::timestamptz, '-infinity')
         and created_at < coalesce($6::timestamptz, 'infinity')
         ${conditionsOf(named)}
       ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
     ) page
     ${newestFirst(BY_CREATION, '$2')}`,
    { isSearch: named.length > 0 },
  ),
);

/** The index of actors begins with their kind, so a search for an id names all kinds. */
function conditionsOf(named: readonly string[]): string {
  const given = named.map((name, place) => `and ${name} = $${place + 7}`);
  if (named.includes('actor_id') && !named.includes('actor_kind'))
    given.push(`and actor_kind in ('api_key', 'user', 'platform', 'system')`);
  return given.join(' ');
}

/** Lists entries, newest first, after `after`. `limit`: at most one more than a page holds. */
export function listEntries(
  db: Db,
  teamId: string,
  { limit, after }: { readonly limit: number; readonly after: PagePosition | null },
  filters: AuditFilters,
): Promise<AuditRow[]> {
  const { since, until } = filters;
  const { list, values } = listOf(filters);
  return db.query(list, [
    teamId,
    limit,
    ...positionValues(after),
    since ?? null,
    until ?? null,
    ...values,
  ]);
}

import type { SeedFile, SeedTeam } from './prepare.ts';
import type { CatalogKind } from '../core/catalog-kinds.ts';

/**
 * The ids that generated rows refer to, by kind: the file's entries that are visible to the team.
 * If a kind has none, the column is null in every generated row.
 */
export type CatalogIds = Readonly<Record<CatalogKind, readonly string[]>>;

/** Leaves out entries that are blocked, not released or another team's. */
export function collectIds(catalog: SeedFile['catalog'], team: SeedTeam): CatalogIds {
  const blocked = new Set(team.blocked);
  const released = Array.isArray(team.released) ? new Set(team.released) : null;
  const visible = catalog.filter((entry) => {
    if (blocked.has(entry.id)) return false;
    return entry.team ? entry.team === team.id : (released?.has(entry.id) ?? true);
  });
  const of = (kind: CatalogKind) =>
    visible.filter((entry) => entry.kind === kind).map((entry) => entry.id);
  return {
    situation: of('situation'),
    personality: of('personality'),
    industry: of('industry'),
    role: of('role'),
    methodology: of('methodology'),
  };
}

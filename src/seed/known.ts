import type { ClientBase } from 'pg';
import type { SeedFile } from './prepare.ts';

/** The facts from the database that the checks need, read under the locks of {@link lockTeams}. */
export interface Known {
  /** The existing teams among those that the file lists or that its catalog entries name. */
  readonly teams: ReadonlySet<string>;
  /** The existing global catalog entries among those that teams of the file release. */
  readonly catalogIds: ReadonlySet<string>;
}

/**
 * Locks the teams of the file until the transaction ends, so that two loads of one team run one
 * after the other. The ids are sorted, so that two loads cannot deadlock.
 */
export async function lockTeams(client: ClientBase, seed: SeedFile): Promise<void> {
  const ids = [...new Set(seed.teams.map((team) => team.id))].toSorted();
  for (const id of ids)
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('seed:' || $1, 0))::text`, [
      id,
    ]);
}

/** Reads the facts. Needs a transaction. */
export async function readKnown(client: ClientBase, seed: SeedFile): Promise<Known> {
  const teamIds = [
    ...seed.teams.map((team) => team.id),
    ...seed.catalog.flatMap((entry) => entry.team ?? []),
  ];
  const released = seed.teams.flatMap((team) =>
    Array.isArray(team.released) ? team.released : [],
  );
  return {
    teams: await findIds(client, 'team', teamIds),
    catalogIds: await findIds(client, 'catalog_entry', released),
  };
}

async function findIds(
  client: ClientBase,
  table: 'team' | 'catalog_entry',
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM ${table} WHERE id = ANY ($1)`,
    [[...new Set(ids)]],
  );
  return new Set(rows.map((row) => row.id));
}

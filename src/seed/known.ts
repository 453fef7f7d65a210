import type { ClientBase } from 'pg';
import type { SeedFile } from './prepare.ts';

/** What the checks must know from the database, read under the locks of {@link lockTeams}. */
export interface Known {
  /** Of the file's own ids, and of the teams that its catalog entries name: those that exist. */
  readonly teams: ReadonlySet<string>;
  /** Global catalog ids, of the ones that teams of the file release. */
  readonly catalogIds: ReadonlySet<string>;
  /** As the unique index does it: JavaScript and Postgres do not lower every letter to the same one. */
  readonly lowerEmail: (email: string) => string;
}

/** Loads of one team follow each other, whatever the order of the teams in their files. Held until the transaction ends. */
export async function lockTeams(client: ClientBase, seed: SeedFile): Promise<void> {
  const ids = [...new Set(seed.teams.map((team) => team.id))].toSorted();
  for (const id of ids)
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('seed:' || $1, 0))::text`, [
      id,
    ]);
}

export async function readKnown(client: ClientBase, seed: SeedFile): Promise<Known> {
  const teamIds = [
    ...seed.teams.map((team) => team.id),
    ...seed.catalog.flatMap((entry) => entry.team ?? []),
  ];
  const released = seed.teams.flatMap((team) =>
    Array.isArray(team.released) ? team.released : [],
  );
  const lowered = await lowerInDatabase(client, seed);
  return {
    teams: await findIds(client, 'team', teamIds),
    catalogIds: await findIds(client, 'catalog_entry', released),
    lowerEmail: (email) => lowered.get(email) ?? email.toLowerCase(),
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

async function lowerInDatabase(client: ClientBase, seed: SeedFile): Promise<Map<string, string>> {
  const unusual = seed.teams.flatMap((team) =>
    team.members.map((member) => member.email).filter(isBeyondAscii),
  );
  if (unusual.length === 0) return new Map();
  const { rows } = await client.query<{ email: string; lowered: string }>(
    'SELECT email, lower(email) AS lowered FROM unnest($1::text[]) AS given (email)',
    [unusual],
  );
  return new Map(rows.map((row) => [row.email, row.lowered]));
}

function isBeyondAscii(text: string): boolean {
  return Buffer.byteLength(text) > text.length;
}

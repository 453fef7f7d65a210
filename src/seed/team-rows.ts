// Writes the rows of the teams themselves.
import type { ClientBase } from 'pg';
import { asSandbox, sandboxIdOf, statusInSandbox, TAKEN_OVER } from '../core/sandbox.ts';
import { collectFaults, SeedFault } from './fault.ts';
import { insertStatement } from './insert.ts';
import type { SeedFile } from './prepare.ts';
import { teamRow } from './rows.ts';

type TeamRow = ReturnType<typeof teamRow>;

/**
 * Inserts the rows of new teams and overwrites those of replaced ones, which must be locked. Throws
 * a {@link SeedFault} if a team was created since the checks. The app can do that, because it does
 * not take the locks of `lockTeams`.
 */
export async function writeTeamRows(
  client: ClientBase,
  seed: SeedFile,
  { now, replaced }: { readonly now: string; readonly replaced: readonly string[] },
): Promise<void> {
  // Every load inserts in the same order, so that two loads cannot deadlock.
  const rows = seed.teams
    .map((team) => teamRow(team, now))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const written = new Set(replaced);
  for (const id of await insertNew(
    client,
    rows.filter((row) => !written.has(row.id)),
  ))
    written.add(id);
  const faults = collectFaults();
  seed.teams.forEach((team, index) => {
    if (!written.has(team.id))
      faults.add(
        ['teams', index, 'id'],
        `the team ${team.id} was created by someone else just now`,
      );
  });
  if (faults.list.length > 0) throw new SeedFault(faults.list);
  for (const row of rows.filter(({ id }) => replaced.includes(id))) await overwrite(client, row);
}

async function insertNew(client: ClientBase, rows: readonly TeamRow[]): Promise<string[]> {
  const [first] = rows;
  if (!first) return [];
  const statement = insertStatement(
    'team',
    Object.keys(first),
    'ON CONFLICT DO NOTHING RETURNING id',
  );
  const inserted = await client.query<{ id: string }>(statement, [JSON.stringify(rows)]);
  return inserted.rows.map(({ id }) => id);
}

/** Gives sandboxes that the file has not, which must be locked, what their live teams have now. */
export async function overwriteSandboxes(
  client: ClientBase,
  seed: SeedFile,
  { now, sandboxes }: { readonly now: string; readonly sandboxes: readonly string[] },
): Promise<void> {
  const columns = TAKEN_OVER.join(', ');
  for (const team of seed.teams) {
    const id = sandboxIdOf(team.id);
    if (!sandboxes.includes(id)) continue;
    const row = asSandbox(teamRow(team, now));
    const simulated = 'team_id = $1 AND suspended_until IS NOT NULL';
    if (row.status !== 'active')
      await client.query(`UPDATE sandbox SET suspended_until = NULL WHERE ${simulated}`, [id]);
    const { rowCount } = await client.query(`SELECT FROM sandbox WHERE ${simulated}`, [id]);
    const status = statusInSandbox(row.status, rowCount === 1);
    await client.query(
      `UPDATE team
       SET (${columns}) = (
           SELECT ${columns}
           FROM json_populate_record(null::team, $2::json)
         )
       WHERE id = $1`,
      [id, JSON.stringify({ ...row, status })],
    );
  }
}

/** A column that the seed does not set gets its default, as in a new row. */
async function overwrite(client: ClientBase, row: TeamRow): Promise<void> {
  const given = Object.keys(row).filter((name) => name !== 'id');
  const { rows: others } = await client.query<{ name: string }>(
    `SELECT column_name AS name
     FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = 'team' AND column_name <> ALL ($1)`,
    [Object.keys(row)],
  );
  const columns = given.map((name) => `"${name}"`).join(', ');
  const defaults = others.map(({ name }) => `, "${name}" = DEFAULT`).join('');
  await client.query(
    `UPDATE team
     SET (${columns}) = (
         SELECT ${columns}
         FROM json_populate_record(null::team, $2::json)
       )${defaults}
     WHERE id = $1`,
    [row.id, JSON.stringify(row)],
  );
}

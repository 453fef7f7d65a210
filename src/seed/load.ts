import pg from 'pg';
import { rebuildRollups } from '../features/analytics/rollups.ts';
import { checkSeed } from './check.ts';
import { collectFaults, SeedFault } from './fault.ts';
import { generateRows } from './generate.ts';
import { insertRows, insertStatement } from './insert.ts';
import { lockTeams, readKnown } from './known.ts';
import { prepareSeed, type SeedFile } from './prepare.ts';
import { removeTeam } from './remove.ts';
import { catalogRows, catalogRuleRows, teamRow } from './rows.ts';
import { writeTeam, type TeamSecrets } from './write-team.ts';

export interface SeedOptions {
  /** Teams of the file that exist are removed first; else they are a fault. */
  readonly replace: boolean;
  /** Encrypts the webhook secrets. */
  readonly appSecret: string;
}

export interface SeedResult {
  readonly teams: Record<string, TeamSecrets>;
}

/** From this many rows on, what the planner and index-only scans need is not left to a later autovacuum. */
const VACUUM_ROWS = 50_000;
const WRITTEN_TABLES =
  'person, member, assignment, training, evaluation, training_case, analytics_person, analytics_person_week, crm_deal, crm_objection';

/**
 * Loads a seed file (seed-file.md) in one transaction of its own. Throws a {@link SeedFault} with every fault when the file
 * does not fit, a team of it exists, or another load makes one at this moment; nothing is written then.
 */
export async function loadSeed(
  databaseUrl: string,
  file: unknown,
  options: SeedOptions,
): Promise<SeedResult> {
  const seed = prepareSeed(file);
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'seed',
    connectionTimeoutMillis: 10_000,
  });
  // Without a listener a server that goes away between two queries ends the process; the next query rejects anyway.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN');
    const { result, rows } = await writeSeed(client, seed, options);
    await client.query('COMMIT');
    if (rows >= VACUUM_ROWS) await client.query(`VACUUM (ANALYZE) ${WRITTEN_TABLES}`);
    return result;
  } finally {
    // Ending the session ends a transaction that has not been committed.
    await client.end();
  }
}

async function writeSeed(
  client: pg.ClientBase,
  seed: SeedFile,
  options: SeedOptions,
): Promise<{ result: SeedResult; rows: number }> {
  await lockTeams(client, seed);
  const faults = checkSeed(seed, await readKnown(client, seed), options);
  if (faults.length > 0) throw new SeedFault(faults);
  if (options.replace) for (const team of seed.teams) await removeTeam(client, team.id);

  const now = new Date().toISOString();
  await writeTeams(client, seed, now);
  await writeCatalog(client, seed);
  const results: [string, TeamSecrets][] = [];
  let rows = 0;
  for (const team of seed.teams) {
    const context = { team, now, appSecret: options.appSecret };
    results.push([team.id, await writeTeam(client, context)]);
    const generated = await generateRows(client, context, seed.catalog);
    rows += team.trainings.length + generated;
    // Its rows are new to the planner, which would else take the rollups' joins for tiny.
    if (rows >= VACUUM_ROWS) await client.query('ANALYZE training, evaluation');
    if (team.trainings.length + generated > 0) await rebuildRollups(client, team.id);
  }
  return { result: { teams: Object.fromEntries(results) }, rows };
}

/** The app may make a team meanwhile; it takes none of our locks, but is seen here. */
async function writeTeams(client: pg.ClientBase, seed: SeedFile, now: string): Promise<void> {
  // In one order in every load, so that two of them cannot deadlock.
  const rows = seed.teams
    .map((team) => teamRow(team, now))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const statement = insertStatement(
    'team',
    Object.keys(rows[0] ?? { id: '' }),
    'ON CONFLICT DO NOTHING RETURNING id',
  );
  const { rows: written } = await client.query<{ id: string }>(statement, [JSON.stringify(rows)]);
  const ids = new Set(written.map((row) => row.id));
  const faults = collectFaults();
  seed.teams.forEach((team, index) => {
    if (!ids.has(team.id))
      faults.add(['teams', index, 'id'], `the team ${team.id} was made by somebody else just now`);
  });
  if (faults.list.length > 0) throw new SeedFault(faults.list);
}

async function writeCatalog(client: pg.ClientBase, seed: SeedFile): Promise<void> {
  const { global, own } = catalogRows(seed);
  const update =
    'DO UPDATE SET kind = excluded.kind, name_de = excluded.name_de, name_en = excluded.name_en, icon = excluded.icon';
  await insertRows(client, 'catalog_entry', global, `ON CONFLICT (id) ${update}`);
  await insertRows(client, 'team_catalog_entry', own, `ON CONFLICT (team_id, id) ${update}`);
  await insertRows(client, 'catalog_rule', catalogRuleRows(seed), 'ON CONFLICT DO NOTHING');
}

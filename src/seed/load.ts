import pg from 'pg';
import { rebuildRollups } from '../features/analytics/rollups-store.ts';
import { checkSeed } from './check.ts';
import { collectFaults, SeedFault } from './fault.ts';
import { generateRows } from './generate.ts';
import { insertRows, insertStatement } from './insert.ts';
import { lockTeams, readKnown } from './known.ts';
import { prepareSeed, type SeedFile } from './prepare.ts';
import { removeTeam } from './remove-store.ts';
import { catalogRows, catalogRuleRows, teamRow } from './rows.ts';
import { writeTeam, type TeamSecrets } from './write-team.ts';

/** How to load a seed file. */
export interface SeedOptions {
  /** Whether to remove the file's teams that exist first. If false, they are a fault. */
  readonly replace: boolean;
  /** Encrypts the webhook secrets. */
  readonly appSecret: string;
}

/** The secrets that are shown once, by team id. */
export interface SeedResult {
  readonly teams: Record<string, TeamSecrets>;
}

/**
 * From this many rows on, the load vacuums and analyzes by itself. The planner and index-only scans
 * must not wait for autovacuum.
 */
const VACUUM_ROWS = 50_000;
const WRITTEN_TABLES = [
  'person',
  'member',
  'assignment',
  'training',
  'evaluation',
  'training_case',
  'analytics_person',
  'analytics_person_week',
  'crm_deal',
  'crm_objection',
].join(', ');

/**
 * Loads a seed file (see README.md here) on its own connection, in one transaction. Throws a
 * {@link SeedFault} with every fault if the file is wrong, if one of its teams exists already, or
 * if one is created by someone else at the same time. Nothing is written then.
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
  // Without a listener, a connection that breaks between two queries would end the process. The
  // next query rejects anyway.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN');
    const { result, rows } = await writeSeed(client, seed, options);
    await client.query('COMMIT');
    if (rows >= VACUUM_ROWS) await client.query(`VACUUM (ANALYZE) ${WRITTEN_TABLES}`);
    return result;
  } finally {
    // Ending the session rolls back a transaction that is not committed.
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
    // Without fresh statistics, the planner would expect the rollups' joins to be tiny.
    if (rows >= VACUUM_ROWS) await client.query('ANALYZE training, evaluation');
    if (team.trainings.length + generated > 0) await rebuildRollups(client, team.id);
  }
  return { result: { teams: Object.fromEntries(results) }, rows };
}

/**
 * Throws a {@link SeedFault} if a team was created since the checks. The app can do that, because
 * it does not take the locks of {@link lockTeams}.
 */
async function writeTeams(client: pg.ClientBase, seed: SeedFile, now: string): Promise<void> {
  // Every load inserts in the same order, so that two loads cannot deadlock.
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
      faults.add(
        ['teams', index, 'id'],
        `the team ${team.id} was created by someone else just now`,
      );
  });
  if (faults.list.length > 0) throw new SeedFault(faults.list);
}

async function writeCatalog(client: pg.ClientBase, seed: SeedFile): Promise<void> {
  const { global, own } = catalogRows(seed);
  const update = `
    DO UPDATE SET
      kind = excluded.kind,
      name_de = excluded.name_de,
      name_en = excluded.name_en,
      icon = excluded.icon`;
  await insertRows(client, 'catalog_entry', global, `ON CONFLICT (id) ${update}`);
  await insertRows(client, 'team_catalog_entry', own, `ON CONFLICT (team_id, id) ${update}`);
  await insertRows(client, 'catalog_rule', catalogRuleRows(seed), 'ON CONFLICT DO NOTHING');
}

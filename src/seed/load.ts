import type pg from 'pg';
import { isSandbox, sandboxIdOf } from '../core/sandbox.ts';
import { columnsOf } from '../db/rows.ts';
import { rebuildRollups } from '../features/analytics/rollups-store.ts';
import { checkSeed } from './check.ts';
import { collectFaults, SeedFault } from './fault.ts';
import { generateRows } from './generate.ts';
import { insertRows } from './insert.ts';
import { lockTeams, readKnown } from './known.ts';
import { prepareSeed, type SeedFile } from './prepare.ts';
import { lockExistingTeams, removeCounters, removeRows } from './remove-store.ts';
import { catalogRows, catalogRuleRows, releaseRows } from './rows.ts';
import { withSeedClient } from './seed-client.ts';
import { overwriteSandboxes, writeTeamRows } from './team-rows.ts';
import { writeTeam, type TeamSecrets } from './write-team.ts';

/** How to load a seed file. */
export interface SeedOptions {
  /** Whether to remove the file's teams that exist first. If false, they are a fault. */
  readonly replace: boolean;
  /** Encrypts the webhook secrets. */
  readonly appSecret: string;
  /** Called when the file was loaded, but something after that failed. */
  readonly onWarning?: (message: string) => void;
  /** How many rows are vacuumed at once. Only tests set it. */
  readonly vacuumRows?: number;
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
/** On Citus, where one transaction writes tables of teams and those of all; else without effect. */
const ONE_BY_ONE = `SET LOCAL citus.multi_shard_modify_mode = 'sequential'`;
/** A large file takes long, and so does the wait for another load of its teams. */
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
 * {@link SeedFault} if the file is wrong, if one of its teams exists already, or
 * if one is created by someone else at the same time. Nothing is written then.
 */
export async function loadSeed(
  databaseUrl: string,
  file: unknown,
  options: SeedOptions,
): Promise<SeedResult> {
  const seed = prepareSeed(file);
  return withSeedClient(databaseUrl, async (client) => {
    await client.query(ONE_BY_ONE);
    const { result, rows } = await writeSeed(client, seed, options);
    await client.query('COMMIT');
    if (rows >= (options.vacuumRows ?? VACUUM_ROWS)) await vacuum(client, options);
    return result;
  });
}

/** Never rejects: the file is loaded, and its keys are shown once. */
async function vacuum(client: pg.ClientBase, { onWarning }: SeedOptions): Promise<void> {
  try {
    await client.query(`VACUUM (ANALYZE, SKIP_LOCKED) ${WRITTEN_TABLES}`);
  } catch (error) {
    onWarning?.(`Loaded, but Postgres could not vacuum yet; autovacuum will: ${String(error)}`);
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

  const now = new Date().toISOString();
  const { replaced, sandboxes } = options.replace
    ? await lockReplaced(client, seed)
    : { replaced: [], sandboxes: [] };
  for (const id of replaced) await removeRows(client, id);
  await writeTeamRows(client, seed, { now, replaced });
  await overwriteSandboxes(client, seed, { now, sandboxes });
  const results: [string, TeamSecrets][] = [];
  let rows = 0;
  for (const team of seed.teams) {
    const context = { team, now, appSecret: options.appSecret };
    results.push([team.id, await writeTeam(client, context)]);
    const generated = await generateRows(client, context, seed.catalog);
    rows += team.trainings.length + generated;
    // Without fresh statistics, the planner would expect the rollups' joins to be tiny.
    if (rows >= VACUUM_ROWS) await client.query('ANALYZE (SKIP_LOCKED) training, evaluation');
    if (team.trainings.length + generated > 0) await rebuildRollups(client, team.id);
  }
  await writeShared(client, seed, replaced);
  return { result: { teams: Object.fromEntries(results) }, rows };
}

/**
 * The existing teams that the file has, and the sandboxes that it has not of those that it has, but
 * for those that are being erased.
 */
interface Replaced {
  readonly replaced: readonly string[];
  readonly sandboxes: readonly string[];
}

/** Locks them. Throws a {@link SeedFault} for a team that is being erased. */
async function lockReplaced(client: pg.ClientBase, seed: SeedFile): Promise<Replaced> {
  const ids = seed.teams.map((team) => team.id);
  const live = ids.filter((id) => !isSandbox(id));
  const locked = await lockExistingTeams(client, [...new Set([...ids, ...live.map(sandboxIdOf)])]);
  const existing = locked.filter(({ id }) => ids.includes(id));
  const faults = collectFaults();
  for (const { id } of existing.filter(({ isErasing }) => isErasing))
    faults.add(['teams', ids.indexOf(id), 'id'], `the team ${id} is being erased; load it later`);
  if (faults.list.length > 0) throw new SeedFault(faults.list);
  return {
    replaced: existing.map(({ id }) => id),
    sandboxes: locked
      .filter((team) => !existing.includes(team) && !team.isErasing)
      .map(({ id }) => id),
  };
}

/**
 * Writes what other teams use too. This comes last, so that nobody waits longer than for a COMMIT.
 * Deferred constraints are checked before, because that takes long.
 */
async function writeShared(
  client: pg.ClientBase,
  seed: SeedFile,
  replaced: readonly string[],
): Promise<void> {
  await client.query('SET CONSTRAINTS ALL IMMEDIATE');
  const { global, own } = catalogRows(seed);
  await insertRows(
    client,
    'team_catalog_entry',
    own,
    upsertOf('team_catalog_entry', 'team_id, id'),
  );
  await insertRows(client, 'catalog_entry', global, upsertOf('catalog_entry', 'id'));
  await insertRows(client, 'catalog_release', releaseRows(seed));
  await insertRows(client, 'catalog_rule', catalogRuleRows(seed), 'ON CONFLICT DO NOTHING');
  for (const id of replaced) await removeCounters(client, id);
}

/** The entry's columns are replaced, unless they are the same already. */
function upsertOf(table: string, key: string): string {
  const columns = columnsOf('CatalogEntry', 'id');
  const listOf = (source: string): string =>
    columns.map((column) => `${source}.${column}`).join(', ');
  return `
    ON CONFLICT (${key}) DO UPDATE SET
      ${columns.map((column) => `${column} = excluded.${column}`).join(',\n      ')}
    WHERE (${listOf(table)}) IS DISTINCT FROM (${listOf('excluded')})`;
}

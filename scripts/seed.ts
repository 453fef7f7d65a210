// `npm run seed -- FILE.json [--replace]` loads a seed file. Standard output gets a single JSON
// object with the keys and secrets that are shown once; messages for people go to standard error.
import '../src/runtime/node-version.ts';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { printableLines } from '../src/core/terminal.ts';
import { requireAppSecretAt } from '../src/db/operator/app-secret.ts';
import { migrate } from '../src/db/operator/migrate.ts';
import {
  findEmbedded,
  startEmbedded,
  type EmbeddedPostgres,
} from '../src/embedded-postgres/embedded-postgres.ts';
import { readArguments, usageError } from '../src/runtime/arguments.ts';
import { commandOf, runHere, type Surroundings } from '../src/runtime/command.ts';
import { withSecretFiles } from '../src/runtime/config.ts';
import {
  lockForSeed,
  openDataFolder,
  readKeptSecrets,
  type DataFolder,
} from '../src/runtime/data-folder.ts';
import type { Environment } from '../src/runtime/secret-files.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail } from '../src/runtime/process.ts';
import { loadSeed } from '../src/seed/load.ts';

const USAGE = 'Usage: npm run seed -- FILE.json [--replace]';

interface Target {
  databaseUrl: string;
  appSecret: string;
  close(): Promise<void>;
}

/** The Postgres that this process has started. */
let own: EmbeddedPostgres | null = null;

export const main = commandOf(async (surroundings) => {
  const { path, replace } = readWanted(surroundings);
  await load(surroundings, { file: readJson(path), replace });
  return 0;
});

function readWanted({ args }: Surroundings): { path: string; replace: boolean } {
  const { values, positionals } = readArguments(USAGE, args, {
    options: { replace: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [path, ...rest] = positionals;
  if (path === undefined || rest.length > 0) throw usageError(USAGE);
  return { path, replace: values.replace };
}

function readJson(path: string): unknown {
  try {
    // `fatal`, because a wrongly encoded name must not be stored as question marks.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)));
  } catch (error) {
    throw new Error(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

async function load(
  { env, printError, write }: Surroundings,
  { file, replace }: { readonly file: unknown; readonly replace: boolean },
): Promise<void> {
  const target = await openTarget(env, file);
  try {
    const { databaseUrl, appSecret } = target;
    const previous = readEnvironment(env)['APP_SECRET_PREVIOUS'] || null;
    // A file without webhook endpoints needs no secret, so there may be none.
    const secrets = appSecret.length >= 32 ? { current: appSecret, previous } : null;
    await requireAppSecretAt(databaseUrl, secrets);
    const startedAt = performance.now();
    const onWarning = (message: string): void => printError(printableLines(message));
    const result = await loadSeed(databaseUrl, file, { replace, appSecret, onWarning });
    // At once: nothing that fails from here on may lose the keys.
    write(`${JSON.stringify(result)}\n`);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    printError(`Loaded ${Object.keys(result.teams).length} team(s) in ${seconds} s.`);
  } finally {
    await target.close();
  }
}

/** The settings that the seed uses; SMTP_URL and others may be wrong. */
function readEnvironment(env: Environment) {
  return withSecretFiles(env, ['DATABASE_URL', 'APP_SECRET', 'APP_SECRET_PREVIOUS']);
}

async function openTarget(env: Environment, file: unknown): Promise<Target> {
  const { DATABASE_URL: databaseUrl, APP_SECRET: appSecret = '' } = readEnvironment(env);
  if (!databaseUrl) return openEmbedded(env);
  if (appSecret.length < 32 && hasEndpoints(file)) {
    throw new Error(
      'APP_SECRET is required, with at least 32 characters: ' +
        'it encrypts the secrets of the webhook endpoints in this file.',
    );
  }
  return { databaseUrl, appSecret, close: () => Promise.resolve() };
}

/** Looks for webhook endpoints in a file that is not validated yet; `loadSeed` validates it. */
function hasEndpoints(file: unknown): boolean {
  const { teams } = (file ?? {}) as { teams?: unknown };
  if (!Array.isArray(teams)) return false;
  return teams.some(
    (team: { webhook_endpoints?: unknown[] } | null) => (team?.webhook_endpoints?.length ?? 0) > 0,
  );
}

/** Opens the database of `npm start`. If `npm start` is running, its Postgres is left running. */
async function openEmbedded(env: Environment): Promise<Target> {
  const path = resolve('.data');
  if (!lockForSeed(path))
    throw new Error(`Another "npm run seed" is using ${path}. Wait for its end.`);
  const folder = openDataFolder(path);
  const opened = folder ? await startOwn(folder) : await findRunning(path);
  const appSecret = readEnvironment(env)['APP_SECRET'] || opened.appSecret;
  const { databaseUrl } = opened.postgres;
  const close = () => (folder ? stopOwn() : Promise.resolve());
  try {
    await migrate(databaseUrl);
  } catch (error) {
    await close();
    throw error;
  }
  return { databaseUrl, appSecret, close };
}

interface Opened {
  readonly postgres: EmbeddedPostgres;
  readonly appSecret: string;
}

/** Starts a Postgres that does not outlive this process, whatever ends it. */
async function startOwn(folder: DataFolder): Promise<Opened> {
  const aborting = new AbortController();
  process.on('exit', () => {
    aborting.abort();
    own?.kill();
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  const { appSecret } = folder.readSecrets();
  own = await startEmbedded({ dataDir: folder.path, signal: aborting.signal });
  return { postgres: own, appSecret };
}

async function stopOwn(): Promise<void> {
  await own?.stop();
  own = null;
}

/** A Postgres beside an `npm start` that uses another one would never be stopped. */
async function findRunning(path: string): Promise<Opened> {
  const postgres = await findEmbedded(path);
  const kept = readKeptSecrets(path);
  if (postgres && kept) return { postgres, appSecret: kept.appSecret };
  throw new Error(
    `${path} is in use by an "npm start", and its Postgres does not run. Wait for it, ` +
      'or set DATABASE_URL and APP_SECRET to those of that "npm start".',
  );
}

if (import.meta.main) {
  shapeOutput(fail);
  await runHere(main);
}

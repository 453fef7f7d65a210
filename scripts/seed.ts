// `npm run seed -- FILE.json [--replace]` loads a seed file. Standard output gets a single JSON
// object with the keys and secrets that are shown once; messages for people go to standard error.
import '../src/runtime/node-version.ts';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readArguments, refuseArguments } from '../src/runtime/arguments.ts';
import { withSecretFiles } from '../src/runtime/config.ts';
import { openDataFolder } from '../src/runtime/data-folder.ts';
import { requireAppSecretAt } from '../src/db/operator/app-secret.ts';
import { startEmbedded } from '../src/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../src/db/operator/migrate.ts';
import { loadSeed } from '../src/seed/load.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail, messageOf } from '../src/runtime/process.ts';

const USAGE = 'Usage: npm run seed -- FILE.json [--replace]';

interface Target {
  databaseUrl: string;
  appSecret: string;
  close(): Promise<void>;
}

shapeOutput(fail);
try {
  const { path, replace } = readWanted();
  const file = readJson(path);
  await load(file, replace);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

function readWanted(): { path: string; replace: boolean } {
  const { values, positionals } = readArguments(USAGE, {
    options: { replace: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [path, ...rest] = positionals;
  if (path === undefined || rest.length > 0) return refuseArguments(USAGE);
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

async function load(file: unknown, replace: boolean): Promise<void> {
  const target = await openTarget(file);
  try {
    const { databaseUrl, appSecret } = target;
    const previous = readEnvironment()['APP_SECRET_PREVIOUS'] || null;
    // A file without webhook endpoints needs no secret, so there may be none.
    if (appSecret.length >= 32)
      await requireAppSecretAt(databaseUrl, { current: appSecret, previous });
    const startedAt = performance.now();
    const onWarning = (message: string): void => console.error(message);
    const result = await loadSeed(databaseUrl, file, { replace, appSecret, onWarning });
    // At once: nothing that fails from here on may lose the keys.
    process.stdout.write(`${JSON.stringify(result)}\n`);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.error(`Loaded ${Object.keys(result.teams).length} team(s) in ${seconds} s.`);
  } finally {
    await target.close();
  }
}

/** The settings that the seed uses; SMTP_URL and others may be wrong. */
function readEnvironment() {
  return withSecretFiles(process.env, ['DATABASE_URL', 'APP_SECRET', 'APP_SECRET_PREVIOUS']);
}

async function openTarget(file: unknown): Promise<Target> {
  const { DATABASE_URL: databaseUrl, APP_SECRET: appSecret = '' } = readEnvironment();
  if (!databaseUrl) return openEmbedded();
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
async function openEmbedded(): Promise<Target> {
  const folder = openDataFolder(resolve('.data'));
  const appSecret =
    readEnvironment()['APP_SECRET'] ||
    (folder ? folder.readSecrets().appSecret : readSecretOfRunning());
  const postgres = await startEmbedded({ dataDir: '.data' });
  const close = () => (folder ? postgres.stop() : Promise.resolve());
  try {
    await migrate(postgres.databaseUrl);
  } catch (error) {
    await close();
    throw error;
  }
  return { databaseUrl: postgres.databaseUrl, appSecret, close };
}

/** Reads the secret that the process holding the folder has made. */
function readSecretOfRunning(): string {
  const kept = JSON.parse(readFileSync(join('.data', 'secrets.json'), 'utf8')) as {
    appSecret: string;
  };
  return kept.appSecret;
}

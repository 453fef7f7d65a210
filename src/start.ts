/**
 * `npm start`: runs everything in one process, with a Postgres of its own unless DATABASE_URL names
 * one. The steps:
 *
 *  1. Lock `.data`, and read the environment and the kept secrets.
 *  2. Start Postgres. Import the API, the worker and the seed meanwhile, which takes as long.
 *  3. Migrate the database, and load the demo team if the database is empty.
 *  4. Start the worker and the API, and print how to use them.
 */
import './runtime/node-version.ts';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { isLoopbackAddress } from './core/loopback.ts';
import { PrimaryClient } from './db/wire/primary-client.ts';
import { startEmbedded, type EmbeddedPostgres } from './embedded-postgres/embedded-postgres.ts';
import { appSecretsOf, loadConfig, ownUrl, type Config } from './runtime/config.ts';
import { EMBEDDED, openDataFolder, type DataFolder, type DemoKeys } from './runtime/data-folder.ts';
import { identifyDatabase } from './runtime/database-identity.ts';
import { runUntilSignal, type Part } from './runtime/process.ts';
import { fileNameOf } from './runtime/secret-files.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID } from './seed/demo-team.ts';

/** After this time Postgres is stopped, so that it still ends within the 15 s of a stop. */
const DRAIN_TIMEOUT_MS = 13_000;
const API_PATH = '/api/public/v1';
/** Stands for the URL of the embedded database until it runs. */
const EMBEDDED_PLACEHOLDER = 'postgres://embedded';

/** Gives up the start of Postgres. */
const aborting = new AbortController();
const services: Part[] = [];
let postgres: EmbeddedPostgres | null = null;

// Postgres must not outlive this process, whatever ends it. Only `kill -9` can prevent that; the
// next start then takes the running Postgres over.
process.on('exit', () => {
  aborting.abort();
  postgres?.kill();
});

await runUntilSignal(start, giveUp);

async function start(): Promise<Part> {
  try {
    await startAll();
  } catch (error) {
    if (!aborting.signal.aborted) await stopAll();
    throw explain(error);
  }
  return { announceStop, stop: stopAll };
}

async function startAll(): Promise<void> {
  const path = resolve('.data');
  const folder = openDataFolder(path);
  if (!folder) {
    throw new Error(
      `Another "npm start" or "npm run seed" is running on ${path}. ` +
        'Stop it first, with Ctrl-C in its terminal.',
    );
  }
  const settings = loadConfig(withDefaults(process.env, folder), { mail: true, port: true });
  const [modules, config] = await Promise.all([importModules(), withDatabase(settings, folder)]);
  await modules.migrate(config.databaseUrl);
  await modules.requireAppSecretAt(config.databaseUrl, appSecretsOf(config));
  const demo = await provideDemoTeam(config, folder, modules);

  // The process has one port for metrics, and the API uses it.
  services.push(await modules.startWorker({ ...config, metricsPort: undefined }));
  const api = await modules.startApi(config);
  services.push(api);
  // Not PUBLIC_URL, which may name a proxy that is not running. Pasted lines must work now.
  const site = ownUrl({ ...config, port: api.port });
  if (demo?.isNew) {
    await fillSandbox(site, demo.keys);
    folder.writeDemo(demo.database, { state: 'loaded', ...demo.keys });
  }
  greet(config, site, demo?.keys ?? null);
}

async function giveUp(): Promise<void> {
  if (services.length === 0) aborting.abort();
  await stopAll();
}

async function announceStop(): Promise<void> {
  await Promise.all(services.map(async (service) => service.announceStop?.()));
}

/** Stops Postgres last, because the work in flight still needs it. */
async function stopAll(): Promise<void> {
  const drained = Promise.allSettled(services.map((service) => service.stop()));
  await Promise.race([drained, delay(DRAIN_TIMEOUT_MS, undefined, { ref: false })]);
  await postgres?.stop();
}

async function importModules() {
  const [migrations, appSecret, api, worker, load, demo, past] = await Promise.all([
    import('./db/operator/migrate.ts'),
    import('./db/operator/app-secret.ts'),
    import('./api.ts'),
    import('./worker.ts'),
    import('./seed/load.ts'),
    import('./seed/demo.ts'),
    import('./seed/demo-past-store.ts'),
  ]);
  return { ...migrations, ...appSecret, ...api, ...worker, ...load, ...demo, ...past };
}

type Modules = Awaited<ReturnType<typeof importModules>>;

/**
 * Adds what the environment does not set: the secrets in `.data`, and what helps a developer: a
 * login without a password if no other machine can reach it, and webhooks to receivers on this
 * machine. The URL of an embedded database is not known yet, so a placeholder stands for it.
 */
function withDefaults(given: NodeJS.ProcessEnv, folder: DataFolder): NodeJS.ProcessEnv {
  const kept = folder.readSecrets();
  const isDevelopment = given['NODE_ENV'] !== 'production';
  const isAlone = isLoopbackAddress(given['HOST']?.trim() || '127.0.0.1');
  const defaults = {
    ...(!given['APP_AUTH_JWKS_URL'] && { APP_AUTH_SECRET: kept.appAuthSecret }),
    APP_SECRET: kept.appSecret,
    DEVELOPMENT_LOGIN: isDevelopment && isAlone ? '1' : '0',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: isDevelopment ? '1' : '0',
    DATABASE_URL: EMBEDDED_PLACEHOLDER,
  };
  const missing = Object.entries(defaults).filter(
    ([name]) => !given[name]?.trim() && !given[fileNameOf(name)]?.trim(),
  );
  return { ...given, ...Object.fromEntries(missing) };
}

async function withDatabase(config: Config, folder: DataFolder): Promise<Config> {
  if (config.databaseUrl !== EMBEDDED_PLACEHOLDER) return config;
  postgres = await startEmbedded({ dataDir: folder.path, signal: aborting.signal });
  return { ...config, databaseUrl: postgres.databaseUrl };
}

/** The demo team of a database. */
interface DemoTeam {
  /** Names its database in `.data/demo.json`. */
  readonly database: string;
  readonly keys: DemoKeys;
  readonly isNew: boolean;
}

/**
 * Loads the demo team if the database has no team, but never in production. Returns null if there
 * is no demo team whose API keys we know. A key is shown only when it is made, so they are kept in
 * `.data/demo.json`, once the team `isNew` no more.
 */
async function provideDemoTeam(
  config: Config,
  folder: DataFolder,
  modules: Modules,
): Promise<DemoTeam | null> {
  const { teams, identity } = await examine(config.databaseUrl);
  const database = postgres === null ? identity : EMBEDDED;
  const record = folder.readDemo(database);
  const wasInterrupted = record?.state === 'loading' && teams.demo;
  if (teams.any && !wasInterrupted)
    return record?.state === 'loaded' && teams.demo
      ? { database, keys: record, isNew: false }
      : null;
  if (config.nodeEnv === 'production') return null;

  folder.writeDemo(database, { state: 'loading' });
  const { databaseUrl, appSecret } = config;
  const loaded = await modules.loadSeed(databaseUrl, modules.demoSeedFile(), {
    replace: wasInterrupted,
    appSecret,
  });
  const keyOf = (team: string): string => {
    const key = loaded.teams[team]?.api_keys['demo'];
    if (key === undefined) throw new Error(`The demo seed file has no API key "demo" in ${team}.`);
    return key;
  };
  const keys = { apiKey: keyOf(DEMO_TEAM_ID), testKey: keyOf(DEMO_SANDBOX_ID) };
  await modules.writeDemoPast(databaseUrl);
  return { database, keys, isNew: true };
}

/**
 * Brings the scenario of the quickstart, which no seed file has, into the new sandbox. Not with
 * `fetch`, which refuses some ports, such as 10080.
 */
async function fillSandbox(site: string, { testKey }: DemoKeys): Promise<void> {
  const call = request(`${site}${API_PATH}/sandbox/reset`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    agent: false,
  });
  call.end(JSON.stringify({ scenario: 'typical' }));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const answer = await readText(response);
  if (response.statusCode !== 200) throw new Error(`The sandbox was not filled: ${answer}`);
}

/** Finds out whether the database has any team or the demo team, and which database it is. */
async function examine(databaseUrl: string) {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    const { rows } = await client.query<{ any: boolean; demo: boolean }>(
      `SELECT EXISTS (SELECT FROM team) AS any,
              EXISTS (SELECT FROM team WHERE id = $1) AS demo`,
      [DEMO_TEAM_ID],
    );
    const identity = await identifyDatabase(client, databaseUrl);
    return { teams: rows[0] ?? { any: false, demo: false }, identity };
  } finally {
    await client.end();
  }
}

/** For a person, also where the console writes JSON. */
function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints the addresses, the keys of the demo team and examples. null: they are not known. */
function greet(config: Config, site: string, keys: DemoKeys | null): void {
  const base = `${site}${API_PATH}`;
  const reason =
    config.nodeEnv === 'production'
      ? 'no demo tenant in production'
      : 'this database had teams of its own';
  print(`
Team Customer API
  Base URL  ${base}
  API key   ${keys?.apiKey ?? `(none: ${reason})`}
  Test key  ${keys?.testKey ?? '(none)'}
  Docs      ${site}/docs
  Admin     ${site}/admin${config.developmentLogin ? '  (sign in with one click)' : ''}
`);
  if (keys !== null) printExamples(base, keys.apiKey);
}

function printExamples(base: string, apiKey: string): void {
  const auth = `-H 'Authorization: Bearer ${apiKey}'`;
  // With the key, pasting the line again gives the same response, not a conflict about the email.
  const once = randomBytes(4).toString('hex');
  const invite = [
    `-H 'Content-Type: application/json' -H 'Idempotency-Key: ${once}'`,
    `-d '{"email":"guest-${once}@example.com"}'`,
  ].join(' ');
  print(`Try it:
  curl ${auth} ${base}/me
  curl ${auth} '${base}/trainings?limit=2'
  curl ${auth} ${invite} ${base}/users

Ctrl-C stops everything.
`);
}

/** Adds what to do about a port that is in use. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return error;
  const port = 'port' in error ? String(error.port) : 'asked for';
  const advice = 'Stop the program that uses it, or choose another: PORT=3001 npm start';
  return new Error(`Port ${port} is in use. ${advice}`, { cause: error });
}

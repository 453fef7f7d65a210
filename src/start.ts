// `npm start`: everything in one process, on a Postgres of its own unless DATABASE_URL names one.
//
//   lock .data → environment → Postgres ┐
//                              imports  ┴→ migrations → demo tenant if the database is empty → API and worker → greeting
//
// The API, the worker and the seed are imported while Postgres starts, because reading them takes as long.
import './runtime/node-version.ts';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { loadConfig, type Config } from './runtime/config.ts';
import { openDataFolder, type DataFolder } from './runtime/data-folder.ts';
import { startEmbedded, type EmbeddedPostgres } from './db/embedded.ts';

interface Stoppable {
  stop(): Promise<void>;
}

/** Drained within this, so that Postgres, stopped after, still ends inside the 15 s of operations.md. */
const drainTimeoutMs = 13_000;
/** Ctrl-C reaches us from the terminal and once more from npm, which passes it on: that is one signal, not two. */
const echoMs = 300;
/** Stands for the URL of the embedded database while that is not running yet. */
const embeddedPlaceholder = 'postgres://embedded';
const demoTeamId = 'team_demo';

const aborting = new AbortController();
const services: Stoppable[] = [];
let postgres: EmbeddedPostgres | null = null;
let stoppingSince: number | null = null;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
// Whatever ends this process, its Postgres must not outlive it; only `kill -9` can, and the next start takes that over.
process.on('exit', () => {
  aborting.abort();
  postgres?.kill();
});

try {
  await start();
} catch (error) {
  if (stoppingSince === null) {
    console.error(error instanceof Error ? explain(error) : error);
    await stopAll();
    process.exit(1);
  }
}

async function start(): Promise<void> {
  const folder = openDataFolder(resolve('.data'));
  if (!folder) {
    throw new Error(
      `Another "npm start" is running on ${resolve('.data')}. Stop it first, with Ctrl-C in its terminal.`,
    );
  }
  const settings = loadConfig(withKeptSecrets(process.env, folder));
  const [modules, config] = await Promise.all([importModules(), withDatabase(settings, folder)]);
  await modules.migrate(config.databaseUrl);
  const demoKey = await provideDemoTenant(config, folder, modules);

  // One process, one port for metrics: the API's.
  services.push(await modules.startWorker({ ...config, metricsPort: undefined }));
  const api = await modules.startApi(config);
  services.push(api);
  greet({ config: { ...config, port: api.port }, demoKey });
}

async function importModules() {
  const [migrations, api, worker, load, demo] = await Promise.all([
    import('./db/migrate.ts'),
    import('./api.ts'),
    import('./worker.ts'),
    import('./seed/load.ts'),
    import('./seed/demo.ts'),
  ]);
  return { ...migrations, ...api, ...worker, ...load, ...demo };
}

type Modules = Awaited<ReturnType<typeof importModules>>;

/** What the environment does not say comes from `.data`. The database's URL is not known yet, only that there will be one. */
function withKeptSecrets(env: NodeJS.ProcessEnv, folder: DataFolder): NodeJS.ProcessEnv {
  const kept = folder.readSecrets();
  const auth =
    env['APP_AUTH_SECRET'] || env['APP_AUTH_JWKS_URL']
      ? {}
      : { APP_AUTH_SECRET: kept.appAuthSecret };
  return {
    ...env,
    ...auth,
    APP_SECRET: env['APP_SECRET'] || kept.appSecret,
    DATABASE_URL: env['DATABASE_URL'] || embeddedPlaceholder,
  };
}

async function withDatabase(config: Config, folder: DataFolder): Promise<Config> {
  if (config.databaseUrl !== embeddedPlaceholder) return config;
  postgres = await startEmbedded({ dataDir: folder.path, signal: aborting.signal });
  return { ...config, databaseUrl: postgres.databaseUrl };
}

/**
 * Loads the demo tenant into a database without any team, never in production. Resolves with its API key, or null when
 * this database has none that we know: the key is shown once, at its making, so it is kept in `.data/demo.json`.
 */
async function provideDemoTenant(
  config: Config,
  folder: DataFolder,
  modules: Modules,
): Promise<string | null> {
  const record = folder.readDemo();
  const teams = await countTeams(config.databaseUrl);
  const cutOff = record?.state === 'loading' && teams.demo;
  if (teams.any && !cutOff) return record?.state === 'loaded' && teams.demo ? record.apiKey : null;
  if (config.nodeEnv === 'production') return null;

  folder.writeDemo({ state: 'loading' });
  const { databaseUrl, appSecret } = config;
  const loaded = await modules.loadSeed(databaseUrl, modules.demoSeedFile(), {
    replace: cutOff,
    appSecret,
  });
  const apiKey = loaded.teams[demoTeamId]?.api_keys['demo'];
  if (apiKey === undefined)
    throw new Error(`The demo seed file has no API key "demo" in ${demoTeamId}.`);
  folder.writeDemo({ state: 'loaded', apiKey });
  return apiKey;
}

async function countTeams(databaseUrl: string): Promise<{ any: boolean; demo: boolean }> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  client.on('error', () => null);
  await client.connect();
  try {
    const { rows } = await client.query<{ any: boolean; demo: boolean }>(
      'SELECT EXISTS (SELECT FROM team) AS any, EXISTS (SELECT FROM team WHERE id = $1) AS demo',
      [demoTeamId],
    );
    return rows[0] ?? { any: false, demo: false };
  } finally {
    await client.end();
  }
}

function greet({ config, demoKey }: { config: Config; demoKey: string | null }): void {
  const own = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  // PUBLIC_URL may be a proxy's that is not there yet; what is printed for pasting must work here and now.
  const site = own.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//127.0.0.1:');
  const base = `${site}/api/public/v1`;
  const none =
    config.nodeEnv === 'production'
      ? 'no demo tenant in production'
      : 'this database had teams of its own';
  const key = demoKey ?? `(none: ${none})`;
  console.log(
    [
      '',
      'Team Customer API',
      `  Base URL  ${base}`,
      `  API key   ${key}`,
      `  Docs      ${site}/docs`,
      '',
    ].join('\n'),
  );
  if (demoKey === null) return;
  const auth = `-H 'Authorization: Bearer ${demoKey}'`;
  // The key makes pasting it again answer the same, instead of a conflict about the address.
  const once = randomBytes(4).toString('hex');
  const invite = `-H 'Content-Type: application/json' -H 'Idempotency-Key: ${once}' -d '{"email":"guest-${once}@example.com"}'`;
  console.log(`Try it:
  curl ${auth} ${base}/me
  curl ${auth} '${base}/trainings?limit=2'
  curl ${auth} ${invite} ${base}/users

Ctrl-C stops everything.
`);
}

/** The first signal stops cleanly, a second one at once. A start that is under way is given up. */
function onSignal(): void {
  const now = performance.now();
  if (stoppingSince !== null) {
    if (now - stoppingSince > echoMs) process.exit(1);
    return;
  }
  stoppingSince = now;
  if (services.length === 0) aborting.abort();
  void stopAll().then(() => process.exit(0));
}

/** Postgres last: what is in flight still needs it. */
async function stopAll(): Promise<void> {
  const drained = Promise.allSettled(services.map((service) => service.stop()));
  await Promise.race([drained, delay(drainTimeoutMs, undefined, { ref: false })]);
  await postgres?.stop();
}

function explain(error: Error): string {
  if (!('code' in error) || error.code !== 'EADDRINUSE') return error.message;
  const port = 'port' in error ? String(error.port) : 'asked for';
  return `Port ${port} is in use. Stop the program that uses it, or choose another: PORT=3001 npm start`;
}

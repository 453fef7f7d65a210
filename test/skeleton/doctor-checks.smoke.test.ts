// Each check of `npm run doctor`, in front of a real Postgres that is unwell in its way. The server
// is one of this file's own, because it is harmed. `doctor.smoke.test.ts` starts the command.
import { once } from 'node:events';
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fewestToShare } from '../../src/db/connections/division.ts';
import { holdSessionLock } from '../../src/db/connections/session-lock.ts';
import { requireAppSecretAt } from '../../src/db/operator/app-secret.ts';
import { migrate } from '../../src/db/operator/migrate.ts';
import { WORKER_LOCK_CLASS } from '../../src/delivery/claim-store.ts';
import { checkOfDatabase, ok, type Check, type Finding } from '../../src/doctor/check.ts';
import { CHECKS } from '../../src/doctor/checks.ts';
import { compareClocks } from '../../src/doctor/checks/clock.ts';
import { jobPools } from '../../src/doctor/checks/jobs.ts';
import { preparedTransactions } from '../../src/doctor/checks/prepared.ts';
import {
  findingOfStandby,
  findingOfSynchronous,
  type Standby,
} from '../../src/doctor/checks/replication.ts';
import { replicationSlots } from '../../src/doctor/checks/slots.ts';
import { findingOfTls } from '../../src/doctor/checks/tls.ts';
import { openTransactions } from '../../src/doctor/checks/transactions.ts';
import { examine, type Examined } from '../../src/doctor/examine.ts';
import { hasFailed, reportJson, reportText } from '../../src/doctor/report.ts';
import { bytesInTheEnd } from '../../src/doctor/sizing.ts';
import {
  startEmbedded,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { EXPIRED, GOOD, KEY, selfSigned } from '../support/certificates.ts';
import { makeFolder } from '../support/folder.ts';
import { jobIdOf } from '../support/jobs.ts';
import { findFreePort } from '../support/ports.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';

const APP_SECRET = 'a secret for tests, 32 characters';
const PASSWORD = 'hunter2';
const DAY_MS = 86_400_000;

let folder: string;
let server: EmbeddedPostgres;
/** The superuser, in the database of the service. */
let admin: Client;
/** The URL of the role that owns the database, and may see what monitoring sees. */
let url: string;

beforeAll(async () => {
  folder = await makeFolder('doctor');
  chmodSync(folder, 0o755);
  server = await startEmbedded({
    dataDir: folder,
    settings: {
      fsync: 'off',
      max_connections: '40',
      max_prepared_transactions: '5',
      autovacuum_freeze_max_age: '100000',
      autovacuum_multixact_freeze_max_age: '10000',
      archive_mode: 'on',
    },
  });
  await onServer(
    `CREATE ROLE app LOGIN PASSWORD '${PASSWORD}'`,
    'GRANT pg_monitor TO app',
    `ALTER SYSTEM SET archive_command = 'true'`,
    'SELECT pg_reload_conf()',
    'CREATE DATABASE app OWNER app',
  );
  url = urlOf('app');
  await migrate(url);
  admin = await connect(superUrl());
});

afterAll(async () => {
  await admin.end();
  await server.stop();
});

const superUrl = (): string => server.databaseUrl.replace(/[^/]+$/, 'app');

function urlOf(role: string): string {
  const own = new URL(superUrl());
  own.username = role;
  own.password = PASSWORD;
  return own.href;
}

async function connect(to: string): Promise<Client> {
  const client = new Client({ connectionString: to });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Runs statements as the superuser. */
async function onServer(...statements: string[]): Promise<void> {
  const client = await connect(server.databaseUrl);
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Changes settings of the server until the end of the test. */
async function set(settings: Readonly<Record<string, string>>): Promise<void> {
  const change = (undo: boolean): Promise<void> =>
    onServer(
      ...Object.entries(settings).map(
        ([name, value]) =>
          `ALTER SYSTEM ${undo ? 'RESET' : 'SET'} ${name}${undo ? '' : ` = ${value}`}`,
      ),
      'SELECT pg_reload_conf()',
    );
  onTestFinished(() => change(true));
  await change(false);
}

test('finds a database whose URL is in a file, also while other settings are wrong', async () => {
  const folder = await makeFolder('doctor-url');
  const file = join(folder, 'url');
  await writeFile(file, `${url}\n`);
  const env = { DATABASE_URL: '', DATABASE_URL_FILE: file, APP_SECRET: 'short' };
  expect(await findingsOf('database', env)).toMatchObject([{ level: 'ok' }]);
});

/** What a check finds. */
async function findingsOf(
  check: Check | string,
  {
    DATABASE_URL = url,
    backup,
    ...env
  }: Readonly<Record<string, string>> & { readonly backup?: string } = {},
): Promise<readonly Finding[]> {
  const one = typeof check === 'string' ? CHECKS.find(({ id }) => id === check) : check;
  if (!one) throw new Error('there is no such check');
  const [examined] = await examine([one], {
    env: { DATABASE_URL, APP_SECRET, ...env },
    backup: backup ?? null,
  });
  return examined?.findings ?? [];
}

const failing = (text: RegExp, remedy?: RegExp): unknown =>
  expect.objectContaining({
    level: 'fail',
    text: expect.stringMatching(text),
    remedy: expect.stringMatching(remedy ?? /\.$/),
  });
const warning = (text: RegExp): unknown =>
  expect.objectContaining({
    level: 'warn',
    text: expect.stringMatching(text),
    remedy: expect.any(String),
  });
const fine = (text: RegExp = /./): unknown => ({ level: 'ok', text: expect.stringMatching(text) });

/** Waits until the check finds it: what Postgres counts may come a moment late. */
const untilFound = (
  check: Check | string,
  wanted: unknown,
  settings?: Parameters<typeof findingsOf>[1],
): Promise<boolean> =>
  until(async () => {
    const found = await findingsOf(check, settings);
    return found.some((one) => {
      try {
        expect(one).toEqual(wanted);
        return true;
      } catch {
        return false;
      }
    });
  });

/** What the command prints, and whether it exits with 1. */
async function examineAll(
  env: Readonly<Record<string, string>>,
  backup: string | null = null,
): Promise<{ readonly failed: boolean; readonly text: string; readonly json: string }> {
  const examined = await examine(CHECKS, { env, backup });
  const [text, json] = [reportText(examined), reportJson(examined)];
  return { failed: hasFailed(examined), text, json };
}

describe('all checks', () => {
  test('find nothing wrong where nothing is', async () => {
    await admin.query('SELECT pg_switch_wal()');
    await untilFound('backup', fine(/archived/));
    const worker = await holdSessionLock(url, WORKER_LOCK_CLASS);
    onTestFinished(() => worker.close());
    const { json } = await examineAll({ DATABASE_URL: url, APP_SECRET });
    const { failed, checks } = JSON.parse(json) as { failed: boolean; checks: Examined[] };
    expect(failed).toBe(false);
    expect(checks.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
    // How much space this machine has is not ours to say.
    const other = checks
      .filter(({ id }) => id !== 'disk')
      .flatMap(({ findings }) => findings.filter(({ level }) => level !== 'ok'));
    expect(other).toEqual([
      { level: 'unknown', text: expect.stringContaining('nothing is older than an hour') },
    ]);
  });

  test('name what fails with its remedy', async () => {
    const { failed, text } = await examineAll({
      DATABASE_URL: url,
      APP_SECRET: 'short',
      PORT: 'none',
      WORKER_CONCURENCY: '3',
    });
    expect(failed).toBe(true);
    expect(text).toMatch(/^fail +configuration +APP_SECRET must .*README/m);
    expect(text).toMatch(/^fail +configuration +PORT must/m);
    expect(text).toMatch(/^warn +configuration +WORKER_CONCURENCY .*Is WORKER_CONCURRENCY meant/m);
    expect(text).toMatch(/^ok +database /m);
    expect(text).not.toContain(PASSWORD);
  });

  test('miss the page that invitations lead to, in production', async () => {
    const find = async (env: Readonly<Record<string, string>>) =>
      findingsOf('configuration', {
        NODE_ENV: 'production',
        SMTP_URL: 'smtp://mail.test',
        MAIL_FROM: 'no-reply@api.test',
        PUBLIC_URL: 'https://api.test',
        ...env,
      });
    expect(await find({})).toEqual([warning(/^INVITATION_URL /)]);
    for (const env of [{ INVITATION_URL: 'https://app.test' }, { NODE_ENV: 'test' }])
      expect(await find(env)).toEqual([fine()]);
  });

  test('miss the sender of mails that a server takes', async () => {
    const SMTP_URL = 'smtp://mail.test';
    expect(await findingsOf('configuration', { SMTP_URL })).toEqual([warning(/^MAIL_FROM /)]);
    const MAIL_FROM = 'no-reply@api.test';
    for (const env of [{}, { SMTP_URL, MAIL_FROM }])
      expect(await findingsOf('configuration', env)).toEqual([fine()]);
  });

  test('warn of a pool of which one team can hold all connections of a kind', async () => {
    const find = (poolMax: number) =>
      findingsOf('configuration', { DATABASE_POOL_MAX: String(poolMax) });
    expect(await find(fewestToShare() - 1)).toEqual([warning(/^DATABASE_POOL_MAX is 9, /)]);
    expect(await find(fewestToShare())).toEqual([fine()]);
  });

  test('still look at the rest while the database is away', async () => {
    const port = await findFreePort();
    const env = { DATABASE_URL: `postgres://app:${PASSWORD}@127.0.0.1:${port}/app`, APP_SECRET };
    const { failed, text } = await examineAll(env, '/nowhere');
    expect(failed).toBe(true);
    expect(text).toMatch(/^ok +configuration /m);
    expect(text).toMatch(/^fail +backup +there is no backup in \/nowhere/m);
    expect(text).toMatch(/^unknown +backup +the archive .*database_unreachable/m);
    expect(text).toMatch(/^fail +database +database_unreachable: .*ApiUnavailable/m);
    expect(text).toMatch(/^unknown +indexes +not looked at/m);
    expect(text).not.toContain(PASSWORD);
  });
});

describe('a check', () => {
  test('cannot write', async () => {
    const writes = checkOfDatabase('writes', 'Doctor', async (ask) => {
      await ask(`delete from team`);
      return [ok('written')];
    });
    expect(await findingsOf(writes)).toEqual([warning(/read-only transaction/)]);
  });

  test('that waits for ever, or breaks, stops no other', async () => {
    const hangs: Check = {
      id: 'hangs',
      section: 'Doctor',
      needsDatabase: false,
      run: () => new Promise(() => undefined),
    };
    const breaks: Check = { ...hangs, run: () => Promise.reject(new Error('out of order')) };
    const works: Check = { ...hangs, run: async () => [ok('works')] };
    const examined = await examine([hangs, breaks, works], {
      env: { DATABASE_URL: url, APP_SECRET },
      limitMs: 100,
    });
    expect(examined.map(({ findings }) => findings)).toEqual([
      [warning(/no answer in time/)],
      [warning(/out of order/)],
      [fine()],
    ]);
    expect(hasFailed(examined)).toBe(false);
    expect(reportText(examined)).toMatch(/1 ok, 2 warn, 0 fail, 0 unknown$/);
  });

  test('that waits for a lock gives up, and stops no other', async () => {
    const holder = await connect(superUrl());
    onTestFinished(() => holder.end());
    await holder.query('begin; lock table _prisma_migrations in access exclusive mode');
    expect(await findingsOf('migrations')).toEqual([warning(/lock timeout/)]);
    expect(await findingsOf('indexes')).toEqual([fine()]);
  });
});

describe('the database fails', () => {
  test('with the reason of /readyz: a wrong password, one that refuses writes', async () => {
    const wrong = new URL(url);
    wrong.password = 'wrong';
    expect(await findingsOf('database', { DATABASE_URL: wrong.href })).toEqual([
      failing(/^database_login_refused/, /ApiUnavailable/),
    ]);
    expect(await findingsOf('database', { DATABASE_URL: 'http://a' })).toEqual([
      failing(/DATABASE_URL is not valid/),
    ]);
    onTestFinished(() => onServer('ALTER DATABASE app RESET default_transaction_read_only'));
    await onServer('ALTER DATABASE app SET default_transaction_read_only = on');
    expect(await findingsOf('database')).toEqual([failing(/^database_read_only/)]);
  });
});

describe('certificates', () => {
  /** Lets Postgres serve a certificate for 127.0.0.1 that ends after these days. */
  async function serveTls(days: number): Promise<string> {
    const data = join(folder, 'postgres');
    const [key, certificate] = [join(data, 'server.key'), join(data, 'server.crt')];
    writeFileSync(key, KEY);
    writeFileSync(certificate, selfSigned('127.0.0.1', new Date(Date.now() + days * DAY_MS)));
    const { uid, gid } = statSync(data);
    for (const file of [key, certificate]) chownSync(file, uid, gid);
    chmodSync(key, 0o600);
    const root = join(folder, `authority-${days}.crt`);
    writeFileSync(root, readFileSync(certificate));
    await set({ ssl: 'on' });
    const secure = `${url}?sslmode=verify-full&sslrootcert=${root}`;
    await until(async () => (await findingsOf('tls', { DATABASE_URL: secure }))[0]?.level === 'ok');
    return secure;
  }

  test.each([
    [1, failing(/127\.0\.0\.1:\d+ ends at/, /Renew/)],
    [10, warning(/ends at/)],
    [100, fine(/ends at/)],
  ])('of Postgres: one that ends in %i days', async (days, wanted) => {
    const secure = await serveTls(days);
    expect(await findingsOf('database_certificate', { DATABASE_URL: secure })).toEqual([wanted]);
    expect(await findingsOf('tls', { DATABASE_URL: secure })).toEqual([fine(/verified/)]);
  });

  test('of Postgres: one that is not trusted, and none', async () => {
    await serveTls(100);
    const other = join(folder, 'other.crt');
    writeFileSync(other, GOOD);
    const secure = `${url}?sslmode=verify-full&sslrootcert=${other}`;
    expect(await findingsOf('database', { DATABASE_URL: secure })).toEqual([
      failing(/^database_certificate/),
    ]);
    await set({ ssl: 'off' });
    expect(
      await until(async () => {
        const [found] = await findingsOf('database_certificate', { DATABASE_URL: secure });
        return found?.level === 'fail' && found;
      }),
    ).toEqual(failing(/does not speak TLS/, /ssl = on/));
  });

  test('of PUBLIC_URL: one that has ended, one that nobody trusts, and no answer', async () => {
    const serve = async (cert: string): Promise<string> => {
      const https = createServer({ key: KEY, cert }).listen(0, '127.0.0.1');
      await once(https, 'listening');
      onTestFinished(() => void https.close());
      return `https://127.0.0.1:${(https.address() as AddressInfo).port}`;
    };
    const find = async (PUBLIC_URL: string) => findingsOf('public_certificate', { PUBLIC_URL });
    expect(await find(await serve(EXPIRED))).toEqual([failing(/has ended/, /Renew/)]);
    expect(await find(await serve(GOOD))).toEqual([failing(/not trusted here: [A-Z_]+$/)]);
    const nowhere = `https://127.0.0.1:${await findFreePort()}`;
    expect(await find(nowhere)).toEqual([warning(/cannot be reached/)]);
    expect(await find('http://127.0.0.1')).toEqual([fine()]);
    expect(await findingsOf('public_certificate', {})).toEqual([fine()]);
    const production = { NODE_ENV: 'production', MAIL_DIR: 'mails', HOST: '0.0.0.0' };
    expect(await findingsOf('public_certificate', production)).toEqual([
      warning(/^PUBLIC_URL is not set: .*http:\/\/127\.0\.0\.1:3000/),
    ]);
  });

  test('and TLS is missed only where others could listen', () => {
    expect(findingOfTls('none', 'db.internal')).toEqual(warning(/not encrypted/));
    expect(findingOfTls('unverified', 'db.internal')).toEqual(warning(/not verified/));
    expect(findingOfTls('verified', 'db.internal')).toEqual(fine());
    expect(findingOfTls('none', '127.0.0.1')).toEqual(fine());
    expect(findingOfTls('none', '/var/run/postgresql')).toEqual(fine());
  });
});

test('a server that accepts and then is silent has only its own check wait', async () => {
  const silent = createTcpServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const env = {
    PUBLIC_URL: `https://${host}`,
    DATABASE_URL: `postgres://app@${host}/app?sslmode=require`,
    APP_SECRET,
  };
  const checks = CHECKS.filter(({ id }) => id.endsWith('_certificate'));
  const examined = await examine(checks, { env, limitMs: 500 });
  expect(examined.map(({ findings }) => findings)).toEqual([
    [warning(/no answer in time/)],
    [warning(/no answer in time/)],
  ]);
});

test('clocks fail when they are apart by more than the answer took', async () => {
  expect(await findingsOf('clock')).toEqual([fine()]);
  const at = 1_800_000_000_000;
  expect(compareClocks({ before: at, at: at + 500, after: at + 900 })).toEqual([fine(/ 0 ms/)]);
  expect(compareClocks({ before: at, at: at + 60_000, after: at + 900 })).toEqual([
    failing(/59100 ms apart/, /chrony/),
  ]);
  expect(compareClocks({ before: at, at: at - 2_000, after: at + 900 })).toEqual([
    warning(/2000 ms apart/),
  ]);
});

test('the secret fails if it is not that of the database', async () => {
  await requireAppSecretAt(url, { current: APP_SECRET, previous: null });
  expect(await findingsOf('secret')).toEqual([fine()]);
  const other = 'another secret, of 32 characters.';
  const found = await findingsOf('secret', { APP_SECRET: other });
  expect(found).toEqual([failing(/not the one of this database/)]);
  expect(
    await findingsOf('secret', { APP_SECRET: other, APP_SECRET_PREVIOUS: APP_SECRET }),
  ).toEqual([fine()]);
  expect(await findingsOf('secret', { PORT: 'none' })).toMatchObject([{ level: 'unknown' }]);
});

describe('the role fails', () => {
  test('with too few connections or a password that ends, not by what is only unwise', async () => {
    expect(await findingsOf('role')).toEqual([fine()]);
    onTestFinished(() => onServer(`ALTER ROLE app CONNECTION LIMIT -1 VALID UNTIL 'infinity'`));
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await onServer(`ALTER ROLE app CONNECTION LIMIT 8 VALID UNTIL '${soon}'`);
    expect(await findingsOf('role')).toEqual([
      failing(/app may have 8 connections, and one process opens 16/),
      failing(/password of app ends in 0 days/),
    ]);
    await onServer(`ALTER ROLE app CONNECTION LIMIT 20 VALID UNTIL 'infinity'`);
    expect(await findingsOf('role')).toEqual([
      warning(/app may have 20 connections, and one worker opens up to 42/),
    ]);
    expect(await findingsOf('role', { DATABASE_POOL_MAX: '40' })).toEqual([
      failing(/app may have 20 connections, and one process opens 40/),
    ]);
    await onServer('ALTER ROLE app CONNECTION LIMIT 42');
    expect(await findingsOf('role')).toEqual([fine()]);
    expect(await findingsOf('role', { DATABASE_URL: superUrl() })).toEqual([
      warning(/postgres is a superuser/),
    ]);
  });

  test('that lacks what a process needs', async () => {
    await onServer(`CREATE ROLE guest LOGIN PASSWORD '${PASSWORD}'`);
    onTestFinished(() => onServer('DROP ROLE guest'));
    const found = await findingsOf('role', { DATABASE_URL: urlOf('guest') });
    expect(found).toEqual(
      expect.arrayContaining([
        warning(/guest may not migrate/),
        failing(/may not use the schema graphile_worker/, /Grant/),
        failing(/lacks INSERT on \d+ tables/, /Grant/),
        failing(/lacks TRUNCATE on 10 tables/, /Grant/),
      ]),
    );
    const unseen = { level: 'unknown', text: expect.stringContaining('pg_monitor') };
    const DATABASE_URL = urlOf('guest');
    expect(await findingsOf('transactions', { DATABASE_URL })).toEqual([unseen]);
    const own = await connect(DATABASE_URL);
    onTestFinished(() => own.end());
    await own.query('begin');
    const atOnce = openTransactions({ warnS: 0, failS: 3600 });
    expect(await findingsOf(atOnce, { DATABASE_URL })).toEqual([warning(/is open for/), unseen]);
  });

  test('that may do all with the tables of jobs, but sees no row of them', async () => {
    const name = 'hand';
    await onServer(`CREATE ROLE ${name} LOGIN PASSWORD '${PASSWORD}'`);
    onTestFinished(async () => {
      await admin.query(`drop owned by ${name}`);
      await onServer(`DROP ROLE ${name}`);
    });
    for (const schema of ['public', 'request_days', 'graphile_worker'])
      await admin.query(
        `grant usage on schema ${schema} to ${name};
         grant all on all tables in schema ${schema} to ${name}`,
      );
    const find = () => findingsOf('role', { DATABASE_URL: urlOf(name) });
    const mayNotMigrate = warning(/hand may not migrate/);
    expect(await find()).toEqual([
      mayNotMigrate,
      failing(/row level security hides the jobs/, /BYPASSRLS/),
    ]);
    await onServer(`ALTER ROLE ${name} BYPASSRLS`);
    expect(await find()).toEqual([mayNotMigrate]);
    await onServer(`ALTER ROLE ${name} NOBYPASSRLS; GRANT app TO ${name}`);
    expect(await find()).toEqual([fine()]);
  });

  test('for which is set what no session sets for itself', async () => {
    onTestFinished(() => onServer('ALTER ROLE app RESET ALL'));
    const proxy = await startPostgresProxy(url, { isPooler: true });
    onTestFinished(() => proxy.stop());
    const behindPooler = () => findingsOf('role', { DATABASE_URL: proxy.url });
    await onServer(`ALTER ROLE app SET default_transaction_isolation = 'READ COMMITTED'`);
    await onServer(`ALTER ROLE app SET lock_timeout = '2s'`);
    expect(await behindPooler()).toEqual([fine()]);
    await onServer(`ALTER ROLE app SET default_transaction_isolation = 'serializable'`);
    expect(await findingsOf('role')).toEqual([fine()]);
    expect(await behindPooler()).toEqual([failing(/isolation = serializable/, /Reset it/)]);
    await onServer(`ALTER ROLE app SET transaction_timeout = '10s'`);
    expect(await findingsOf('role')).toEqual([warning(/transaction_timeout = 10s/)]);
  });
});

test('connections fail when nearly all are taken', async () => {
  expect(await findingsOf('connections')).toEqual([fine(/of 37 connections/)]);
  const held = await Promise.all(Array.from({ length: 35 }, () => connect(superUrl())));
  onTestFinished(async () => void (await Promise.all(held.map((one) => one.end()))));
  await onServer(`CREATE ROLE stranger LOGIN PASSWORD '${PASSWORD}'`);
  onTestFinished(() => onServer('DROP ROLE stranger'));
  // Who may not see the sessions of others counts them all the same.
  // A session of before may take the last room until it has ended.
  const failed = failing(/3[5-7] of 37 connections/, /PgBouncer/);
  for (const DATABASE_URL of [superUrl(), urlOf('stranger')])
    await untilFound('connections', failed, { DATABASE_URL });
  await Promise.all(held.splice(0, 4).map((one) => one.end()));
  await untilFound('connections', warning(/3[0-5] of 37 connections/));
});

test('the encoding fails if it cannot store every text', async () => {
  expect(await findingsOf('encoding')).toEqual([fine(/UTF8/)]);
  await onServer(
    `CREATE DATABASE narrow OWNER app TEMPLATE template0 ENCODING 'LATIN1'
       LOCALE_PROVIDER libc LOCALE 'C'`,
  );
  onTestFinished(() => onServer('DROP DATABASE narrow WITH (FORCE)'));
  const DATABASE_URL = url.replace(/app$/, 'narrow');
  expect(await findingsOf('encoding', { DATABASE_URL })).toEqual([
    failing(/encoding LATIN1/, /UTF8/),
  ]);
});

describe('migrations fail', () => {
  test('when there are none, or some are pending, changed or failed', async () => {
    await onServer('CREATE DATABASE empty OWNER app');
    onTestFinished(() => onServer('DROP DATABASE empty WITH (FORCE)'));
    const DATABASE_URL = url.replace(/app$/, 'empty');
    expect(await findingsOf('migrations', { DATABASE_URL })).toEqual([
      failing(/no tables/, /run migrate/),
    ]);
    expect(await findingsOf('jobs', { DATABASE_URL })).toEqual([failing(/no tables for jobs/)]);
    await migrate(DATABASE_URL);
    expect(await findingsOf('migrations', { DATABASE_URL })).toEqual([fine(/all \d+/)]);
    const client = await connect(DATABASE_URL);
    await client.query(
      `delete from _prisma_migrations where migration_name = 'functions/count_in_both';
       update _prisma_migrations set checksum = 'another'
         where migration_name = '20261120000000_create_schema';
       insert into _prisma_migrations (id, checksum, finished_at, migration_name)
         values ('1', 'a', null, '20261120000000_fails'),
           ('2', 'a', now(), '20990101000000_later')`,
    );
    await client.query('create table unfinished_distribution (a int)');
    await client.end();
    expect(await findingsOf('migrations', { DATABASE_URL })).toEqual([
      failing(/20261120000000_fails has failed/, /prisma migrate resolve/),
      failing(/create_schema was changed/, /Restore/),
      failing(/pending: functions\/count_in_both$/, /run migrate/),
      warning(/newer release has applied .*20990101000000_later/),
      failing(/not all tables are distributed/),
    ]);
    const other = await connect(DATABASE_URL);
    await other.query(`update _prisma_migrations set migration_name = '20240101000000_init'`);
    await other.end();
    expect(await findingsOf('migrations', { DATABASE_URL })).toEqual([
      failing(/of another application: it has 20240101000000_init/, /of its own/),
    ]);
  });
});

test('extensions fail when their files are missing', async () => {
  expect(await findingsOf('extensions')).toEqual([fine(/plpgsql/)]);
  // As after an upgrade of Postgres without the extension's package.
  onTestFinished(async () => {
    await admin.query(`update pg_extension set extname = 'plpgsql', extversion = '1.0'`);
  });
  await admin.query(`update pg_extension set extversion = '0.9'`);
  expect(await findingsOf('extensions')).toEqual([warning(/plpgsql is 0\.9/)]);
  await admin.query(`update pg_extension set extname = 'gone'`);
  expect(await findingsOf('extensions')).toEqual([failing(/files of gone are missing/)]);
});

test('indexes fail when one is invalid', async () => {
  expect(await findingsOf('indexes')).toEqual([fine()]);
  onTestFinished(async () => void (await admin.query('drop table twice')));
  await admin.query('create table twice as select 1 as a from generate_series(1, 2)');
  await expect(admin.query('create unique index concurrently once on twice (a)')).rejects.toThrow(
    /could not create unique index/,
  );
  expect(await findingsOf('indexes')).toEqual([
    failing(/^once of twice is invalid/, /REINDEX INDEX CONCURRENTLY once"/),
  ]);
  onTestFinished(async () => void (await admin.query('drop table parts')));
  await admin.query(
    `alter index once rename to once_ccnew;
     create table parts (a int) partition by range (a);
     create table part partition of parts default;
     create index parted on only parts (a)`,
  );
  expect(await findingsOf('indexes')).toEqual([
    failing(/^once_ccnew of twice/, /DROP INDEX CONCURRENTLY once_ccnew"/),
    failing(/^parted of parts/, /attach it/),
  ]);
});

test('transactions fail when one is open for long', async () => {
  expect(await findingsOf('transactions')).toEqual([fine()]);
  const idle = await connect(superUrl());
  onTestFinished(() => idle.end());
  await idle.query(`set application_name = 'psql'; begin; select 1`);
  await untilFound(
    openTransactions({ warnS: 0, failS: 0 }),
    failing(/process \d+ \(psql\) is open for \d+ s, idle in transaction/, /pg_terminate_backend/),
  );
});

test('prepared transactions fail when nobody ends one', async () => {
  const check = preparedTransactions({ warnS: 0, failS: 0 });
  expect(await findingsOf(check)).toEqual([fine()]);
  const client = await connect(superUrl());
  await client.query(`begin; select pg_current_xact_id(); prepare transaction 'left'`);
  await client.end();
  onTestFinished(async () => void (await admin.query(`rollback prepared 'left'`)));
  await untilFound(check, failing(/^'left' waits/, /ROLLBACK PREPARED 'left'/));
  await admin.query(`begin; select pg_current_xact_id(); prepare transaction 'citus_0_1'`);
  onTestFinished(async () => void (await admin.query(`rollback prepared 'citus_0_1'`)));
  await untilFound(check, failing(/^'citus_0_1' waits/, /Citus ends it/));
});

test('replication fails when writes wait for a standby that is not there', async () => {
  expect(await findingsOf('replication')).toEqual([fine()]);
  await set({ synchronous_standby_names: `'nobody'` });
  await untilFound('replication', failing(/writes wait/, /Start a standby/));
});

test.for([
  ['', [], null],
  ['pg2', [], 'a synchronous standby, and there is none'],
  ['*', ['async'], 'a synchronous standby, and there is none'],
  ['pg2, pg3', ['sync', 'potential'], null],
  ['"2 (b)"', ['sync'], null],
  ['1 (pg2)', ['sync'], null],
  ['2 (pg2, pg3)', ['sync', 'async'], '2 synchronous standbys, and there is 1'],
  ['FIRST 2 (pg2, pg3)', ['sync', 'sync'], null],
  ['first 3 (pg2, pg3, pg4)', ['sync', 'sync', 'async'], '3 synchronous standbys, and there are 2'],
  ['ANY 2(*)', ['quorum'], '2 synchronous standbys, and there is 1'],
  ['ANY 2 (pg2, pg3, pg4)', ['quorum', 'quorum', 'quorum'], null],
  // The role may not see them.
  ['FIRST 2 (pg2, pg3)', [null, null], null],
] as const)('synchronous_standby_names "%s" with %j', ([names, states, expected]) => {
  const standbys = states.map((state) => ({ state, sync_state: state }));
  const wanted = expected === null ? null : failing(new RegExp(`^writes wait for ${expected}$`));
  expect(findingOfSynchronous(names, standbys)).toEqual(wanted);
});

test('a standby is late by bytes or by time, if it can be seen', () => {
  const seen = { name: 'pg2', state: 'streaming', sync_state: 'async', behind_s: 0 };
  const find = (more: Partial<Standby>) => findingOfStandby({ ...seen, behind_bytes: 0, ...more });
  expect(find({ behind_bytes: 2 ** 28 - 1, behind_s: 29 })).toEqual(fine(/pg2 \(async\)/));
  expect(find({ behind_bytes: 2 ** 28 })).toEqual(warning(/268 MB and 0 ms behind/));
  expect(find({ behind_s: 30 })).toEqual(warning(/0 B and 30 s behind/));
  expect(find({ state: null, behind_bytes: null })).toMatchObject({ level: 'unknown' });
});

test('slots fail when one that nobody reads keeps the log', async () => {
  expect(await findingsOf('replication_slots')).toEqual([fine()]);
  await admin.query(`select pg_create_physical_replication_slot('forgotten', true)`);
  onTestFinished(
    async () => void (await admin.query(`select pg_drop_replication_slot('forgotten')`)),
  );
  expect(await findingsOf('replication_slots')).toEqual([
    warning(/the slot forgotten, which keeps/),
  ]);
  await admin.query('select pg_switch_wal()');
  expect(await findingsOf(replicationSlots(1))).toEqual([
    failing(/forgotten, which keeps [\d.]+ [kM]?B/, /pg_drop_replication_slot\('forgotten'\)/),
  ]);
  await set({ max_slot_wal_keep_size: `'1MB'` });
  await until(async () => {
    await admin.query(`select pg_logical_emit_message(false, 'a', 'b'), pg_switch_wal()`);
    await admin.query('checkpoint');
    return (await findingsOf('replication_slots'))[0]?.level === 'fail';
  });
  expect(await findingsOf('replication_slots')).toEqual([
    failing(/forgotten has lost its WAL/, /made anew/),
  ]);
});

test('the wraparound warns of multixacts by their own limit', async () => {
  onTestFinished(async () => void (await admin.query('drop table shared')));
  await admin.query(
    `create table shared as select a from generate_series(1, 7600) a;
     create index on shared (a);
     do $$ begin
       perform from shared for key share;
       for i in 1..7600 loop
         begin update shared set a = a where a = i; exception when division_by_zero then end;
       end loop;
     end $$`,
  );
  expect(await findingsOf('wraparound')).toEqual([
    warning(/oldest multixact of \w+ is 1[5-9]\d{3} ago; autovacuum begins at 10000/),
  ]);
});

test('the wraparound fails when vacuum does not get on', async () => {
  const old = await connect(superUrl());
  onTestFinished(() => old.end());
  await old.query('begin isolation level repeatable read; select pg_current_xact_id()');
  await admin.query(
    `do $$ begin for i in 1..310000 loop perform pg_current_xact_id(); commit; end loop; end $$`,
  );
  expect(await findingsOf('wraparound')).toEqual([
    failing(/is 3\d{5} ago; autovacuum begins at 100000/, /VACUUM \(FREEZE\)/),
  ]);
});

test('vacuum fails when it is off, and warns of dead rows', async () => {
  expect(await findingsOf('vacuum')).toEqual([fine()]);
  onTestFinished(async () => void (await admin.query('drop table dead')));
  await admin.query(
    `create table dead with (autovacuum_enabled = off)
       as select 1 as a from generate_series(1, 20000);
     delete from dead;
     select pg_stat_force_next_flush()`,
  );
  await untilFound('vacuum', warning(/dead has 20000 dead rows/));
  expect(await findingsOf('vacuum')).toContainEqual(failing(/off for dead/, /RESET/));
  await set({ autovacuum: 'off' });
  await untilFound('vacuum', failing(/^autovacuum is off$/));
});

test('jobs fail when one waits for long, and warn of those that nobody runs', async () => {
  expect(await findingsOf('jobs')).toEqual([fine()]);
  onTestFinished(async () => void (await admin.query('delete from graphile_worker._private_jobs')));
  await admin.query(
    `select graphile_worker.add_job('late', run_at := now() - interval '2 hours');
     select graphile_worker.add_job('locked');
     select graphile_worker.add_job('given_up', max_attempts := 2);
     select graphile_worker.add_job('tried_once', max_attempts := 1);
     update graphile_worker._private_jobs j set locked_by = 'gone', locked_at = now()
       from graphile_worker._private_tasks t where t.id = task_id and identifier = 'locked';
     update graphile_worker._private_jobs j set attempts = max_attempts
       from graphile_worker._private_tasks t
       where t.id = task_id and identifier in ('given_up', 'tried_once')`,
  );
  expect(await findingsOf('jobs')).toEqual([
    failing(/^1 jobs late wait, the oldest for 2 h/, /Start workers/),
    warning(/locked by the worker gone/),
    warning(/1 jobs given_up have failed for the last time/),
  ]);
  expect(await findingsOf(jobPools({ warnS: 60, failS: 86_400 }))).toContainEqual(warning(/late/));
});

test('jobs fail when one waits for long that no worker has handed over', async () => {
  onTestFinished(async () => void (await admin.query('delete from pending_job')));
  await admin.query('set session_replication_role = replica');
  await admin.query(
    `insert into pending_job (team_id, id, task, payload) values ('team_1', $1, 'unseen', '{}')`,
    [jobIdOf(Date.now() - 2 * 3_600_000)],
  );
  await admin.query('reset session_replication_role');
  expect(await findingsOf('jobs')).toEqual([failing(/^1 jobs unseen wait, the oldest for 2 h/)]);
});

test('workers fail when none lives and a dead one has claims', async () => {
  expect(await findingsOf('workers')).toEqual([warning(/none lives/)]);
  onTestFinished(async () => void (await admin.query('delete from event_in_hand')));
  await admin.query(
    `begin;
     set local session_replication_role = replica;
     insert into event_in_hand (team_id, event_id, worker) values ('team_a', 'evt_a', 7);
     commit`,
  );
  expect(await findingsOf('workers')).toEqual([
    failing(/none lives, and 1 dead/, /Start a worker/),
  ]);
  const worker = await holdSessionLock(url, WORKER_LOCK_CLASS);
  expect(await findingsOf('workers')).toEqual([warning(/^1 live, and 1 dead/)]);
  await worker.close();
});

test('tables say what becomes of them', async () => {
  expect(await findingsOf('tables')).toEqual([
    fine(/^the largest: /),
    { level: 'unknown', text: expect.stringContaining('nothing is older') },
  ]);
  onTestFinished(async () => void (await admin.query('truncate audit_log')));
  await admin.query(
    `begin;
     set local session_replication_role = replica;
     insert into audit_log (team_id, id, created_at, actor_kind, actor_id, action, request_id)
       select 'team_a', 'aud_' || n, now() - n * interval '1 minute', 'user', 'a', 'b', 'c'
       from generate_series(1, 14400) n;
     commit`,
  );
  await untilFound('tables', fine(/^audit_log: 1440 rows a day, kept 400 days: .* in the end$/));
  expect(await findingsOf('tables')).toContainEqual(fine(/^all: .* a disk of/));
  const rate = { rows: 1000, bytes: 500_000, rowsPerDay: 100 };
  expect(bytesInTheEnd({ table: 'unknown', keptDays: 30 }, rate)).toBe(1_500_000);
});

describe('the backup fails', () => {
  test('when there is none, and when the newest is old', async () => {
    const backups = join(folder, 'backups');
    await mkdir(backups);
    const find = async () =>
      (await findingsOf('backup', { backup: backups })).filter(({ text }) => /backup/.test(text));
    expect(await find()).toEqual([failing(/there is no backup/)]);
    expect(await findingsOf('backup', { backup: '/nowhere' })).toContainEqual(
      failing(/no backup in \/nowhere/),
    );
    await writeFile(join(backups, 'app.dump'), '');
    expect(await find()).toEqual([failing(/there is no backup/)]);
    await writeFile(join(backups, 'app.dump'), 'a');
    expect(await find()).toEqual([fine(/is \d+ m?s old/)]);
    const old = Date.now() / 1000 - 3 * 86_400;
    await utimes(join(backups, 'app.dump'), old, old);
    expect(await find()).toEqual([failing(/is 3 days old/, /make one now/)]);
    // What pg_dump writes has this name until it is whole.
    await writeFile(join(backups, 'app.dump.new'), 'a');
    expect(await find()).toEqual([failing(/is 3 days old/)]);
    // Whatever it is called, beside others.
    for (const name of ['a.dump', 'z.dump']) {
      await writeFile(join(backups, name), 'a');
      expect(await find()).toEqual([fine(/is \d+ m?s old/)]);
      await rm(join(backups, name));
    }
  });

  test('when the archive refuses the log, also if it has never taken any', async () => {
    const refuse = `ALTER SYSTEM SET archive_command = 'false'`;
    await onServer(refuse, 'SELECT pg_reload_conf()');
    const findFailure = () =>
      until(async () => {
        // A segment without anything new is not left.
        await admin.query(`select pg_logical_emit_message(false, 'a', 'b'), pg_switch_wal()`);
        return (await findingsOf('backup')).find(({ level }) => level === 'fail');
      });
    const wanted = failing(/archiving the WAL fails, \d+ times/, /Read the log/);
    expect(await findFailure()).toEqual(wanted);
    await admin.query(`select pg_stat_reset_shared('archiver')`);
    expect(await findFailure()).toEqual(wanted);
  });
});

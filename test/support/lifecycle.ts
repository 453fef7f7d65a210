// A database for processes that are stopped, and mails that they are in the middle of.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Client as PgClient } from 'pg';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { Client } from 'undici';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/db/connections/database.ts';
import { loadTestSeed } from './api.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { holdLock, untilWaiting } from './locks.ts';
import { makeMember, makeSeed, makeTeam } from './seed.ts';

export const SEED = makeSeed([
  makeTeam('a', {
    members: [makeMember('a', 'invited', { status: 'invited', email: 'invited@a.test' })],
  }),
]);
const INVITATION = JSON.stringify({ teamId: 'team_a', memberId: 'mem_a_invited' });
export const PATH = '/api/public/v1';

/** Of the tests of a file. Team a has an invited member. */
export let database: TestDatabase;
/** Of team a. */
export let key: string;

/** Gives the tests of this file their database. */
export function useSeededDatabase(): void {
  beforeAll(async () => {
    database = await createTestDatabase();
    const { teams } = await loadTestSeed(database, SEED);
    key = teams['team_a']?.api_keys['full'] ?? '';
  });
  afterAll(() => database.drop());
}

export async function statusOf(url: string): Promise<number | 'refused'> {
  return fetch(url, { headers: { connection: 'close' } }).then(
    (response) => response.status,
    () => 'refused',
  );
}

export async function query(
  text: string,
  values: unknown[] = [],
  url = database.url,
): Promise<Record<string, unknown>[]> {
  const client = new PgClient({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text, values);
  await client.end();
  return rows;
}

/** Blocks every invitation to the team until `release` is called or the test ends. */
export async function holdTeam(): Promise<{
  untilSomebodyWaits(): Promise<unknown>;
  release(): Promise<void>;
}> {
  const databaseUrl = database.url;
  const release = await holdLock(
    { databaseUrl },
    `select from team where id = 'team_a' for update`,
  );
  const db = openDatabase({ url: databaseUrl, poolMax: 4, onError: () => undefined });
  onTestFinished(() => db.close());
  return { untilSomebodyWaits: () => untilWaiting({ db }, 1), release };
}

type Invited = readonly [status: number, connection: unknown] | 'lost';

/** Returns the status, and what becomes of the connection. */
export async function invite(url: string, email: string): Promise<Invited> {
  const client = new Client(url);
  try {
    const { statusCode, headers, body } = await client.request({
      path: `${PATH}/users`,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    });
    await body.text();
    return [statusCode, headers['connection']];
  } catch {
    return 'lost';
  } finally {
    await client.destroy();
  }
}

/** Starts a mail server with these options and resolves with its URL. It stops with the test. */
export async function startMailServer(options: SMTPServerOptions): Promise<string> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(() => new Promise((done) => server.close(() => done())));
  return `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
}

export const enqueue = (url: string) =>
  query(`select graphile_worker.add_job('send_invitation_mail', $1::json)`, [INVITATION], url);
export const jobs = (url: string) =>
  query('select attempts, locked_at is not null as locked from graphile_worker.jobs', [], url);

/** A hook for a mail server that makes mails wait until `open` is called. */
export function gate(): {
  readonly first: Promise<void>;
  open(): void;
  readonly onMailFrom: NonNullable<SMTPServerOptions['onMailFrom']>;
} {
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    first: arrived.promise,
    open: () => opened.resolve(),
    onMailFrom: (_address, _session, done) => {
      arrived.resolve();
      // oxlint-disable-next-line promise/no-callback-in-promise -- smtp-server's API has callbacks
      void opened.promise.then(() => done());
    },
  };
}

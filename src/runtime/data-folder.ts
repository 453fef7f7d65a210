/**
 * The files that `npm start` keeps in `.data/` beside the database: a lock, the secrets that it has
 * generated, and the API keys of the demo team of each database.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Names the embedded database in the records. */
export const EMBEDDED = 'embedded';

/**
 * The API keys of the demo team of a database. `loading`: the load may have been interrupted. Its
 * keys are lost, so the team must be loaded again.
 */
export type DemoRecord = { state: 'loading' } | ({ state: 'loaded' } & DemoKeys);

export interface DemoKeys {
  readonly apiKey: string;
  /** That of its sandbox. */
  readonly testKey: string;
}

/** The secrets of the first start. They are kept, so that stored values and tokens stay valid. */
export interface KeptSecrets {
  appSecret: string;
  appAuthSecret: string;
}

/** An open data folder. This process has locked it until it ends. */
export interface DataFolder {
  path: string;
  /** Generates the secrets that do not exist yet. */
  readSecrets(): KeptSecrets;
  /**
   * Returns null if the demo team was never loaded into this database. Another one's record says
   * nothing of it: its demo team may be in use.
   */
  readDemo(database: string): DemoRecord | null;
  writeDemo(database: string, record: DemoRecord): void;
}

/**
 * Creates the folder if necessary, and locks it. Returns null if another process has locked it. The
 * lock is that of an SQLite file: the operating system releases it when the process ends, even
 * after `kill -9`. A pid file or a socket file cannot promise that.
 */
export function openDataFolder(path: string): DataFolder | null {
  makeFolder(path);
  if (!lock(join(path, 'start.lock'))) return null;
  return {
    path,
    readSecrets: () => readSecrets(join(path, 'secrets.json')),
    readDemo: (database) => readDemos(join(path, 'demo.json'))[database] ?? null,
    writeDemo: (database, record) => {
      const file = join(path, 'demo.json');
      writeRecord(file, { databases: { ...readDemos(file), [database]: record } });
    },
  };
}

/**
 * Keeps other seeds off the folder until this process ends. Returns false if another seed does that
 * already: the end of a seed stops the Postgres that it has started.
 */
export function lockForSeed(path: string): boolean {
  makeFolder(path);
  return lock(join(path, 'seed.lock'));
}

/** Of root, the embedded Postgres is another user, who passes through the folder to its own. */
const FOLDER_MODE = process.getuid?.() === 0 ? 0o711 : 0o700;

function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, FOLDER_MODE);
}

/** Returns the secrets that the process which has locked the folder has made. null: none yet. */
export function readKeptSecrets(path: string): KeptSecrets | null {
  return readRecord<KeptSecrets>(join(path, 'secrets.json'));
}

/** Keeps the locks. Garbage collection of a database closes its file and releases the lock. */
const held: DatabaseSync[] = [];

function lock(file: string): boolean {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    held.push(database);
    return true;
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return false;
    throw error;
  }
}

function readSecrets(file: string): KeptSecrets {
  const kept = readRecord<Partial<KeptSecrets>>(file);
  if (kept?.appSecret && kept.appAuthSecret)
    return { appSecret: kept.appSecret, appAuthSecret: kept.appAuthSecret };
  const made = { appSecret: makeSecret(), appAuthSecret: makeSecret(), ...kept };
  writeRecord(file, made);
  return made;
}

/** Each record by its database. */
function readDemos(file: string): Readonly<Record<string, DemoRecord>> {
  return readRecord<{ databases: Record<string, DemoRecord> }>(file)?.databases ?? {};
}

function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

function readRecord<T>(file: string): T | null {
  if (!existsSync(file)) return null;
  chmodSync(file, 0o600);
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

/** Writes a second file and renames it, so that the record is complete or unchanged. */
function writeRecord(file: string, record: object): void {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

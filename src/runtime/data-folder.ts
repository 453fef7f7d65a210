// What `npm start` keeps in `.data/` beside the database: the lock, the secrets it made, and the demo tenant's key.
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

/** The demo tenant's key. `loading` marks a load that may have been cut off: the key would be lost, so it is redone. */
export type DemoRecord = { state: 'loading' } | { state: 'loaded'; apiKey: string };

/** Made at the first start and kept: what they encrypted or signed must stay readable. */
export interface KeptSecrets {
  appSecret: string;
  appAuthSecret: string;
}

/** An open data folder; it is ours until this process ends, however it ends. */
export interface DataFolder {
  path: string;
  readSecrets(): KeptSecrets;
  readDemo(): DemoRecord | null;
  writeDemo(record: DemoRecord): void;
}

/**
 * Makes the folder and locks it. Returns null when another process has it. The lock is SQLite's on an empty file: the
 * operating system frees it with the process, a `kill -9` included, which a pid file or a socket file cannot promise.
 */
export function openDataFolder(path: string): DataFolder | null {
  mkdirSync(path, { recursive: true });
  if (!lock(join(path, 'start.lock'))) return null;
  return {
    path,
    readSecrets: () => readSecrets(join(path, 'secrets.json')),
    readDemo: () => readRecord<DemoRecord>(join(path, 'demo.json')),
    writeDemo: (record) => writeRecord(join(path, 'demo.json'), record),
  };
}

/** Held by these for the life of the process: a collected object would close its file, and so give up the lock. */
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

function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

function readRecord<T>(file: string): T | null {
  if (!existsSync(file)) return null;
  chmodSync(file, 0o600);
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

/** Whole or not at all: through a second file and a rename. */
function writeRecord(file: string, record: object): void {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

// `npm start` as a person runs it. Each test has a folder of its own, with package.json and links
// to everything else, so that `.data` is new.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterEach, beforeEach, expect } from 'vitest';
import { findServer, isRunning } from '../../src/embedded-postgres/process.ts';
import { makeFolder } from './folder.ts';
import { findFreePort } from './ports.ts';
import { until } from './until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export let folder: string;
let children: ChildProcess[];

/** Gives each test of this file a folder of its own. What it starts there ends with it. */
export function useStartFolder(): void {
  beforeEach(async () => {
    folder = await makeFolder('start');
    children = [];
    await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
    for (const name of ['src', 'prisma', 'node_modules'])
      await symlink(join(root, name), join(folder, name));
  });
  afterEach(async () => {
    for (const child of children) killGroup(child, 'SIGKILL');
    const server = await findServer(join(folder, '.data', 'postgres'));
    if (server) process.kill(server.pid, 'SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
}

interface Started {
  readonly child: ChildProcess;
  output(): string;
  readonly exitCode: Promise<number | null>;
  /** Resolves when it has printed its greeting or has ended. */
  greeting(): Promise<Greeting>;
}

interface Greeting {
  readonly text: string;
  readonly base: string;
  readonly docs: string;
  readonly key: string;
  readonly testKey: string;
  /** The printed lines that a person is to paste. */
  readonly curls: readonly string[];
}

/** Starts it in a process group of its own, as a terminal does. */
export function start(program: 'npm' | 'node', env: Record<string, string> = {}): Started {
  const [command, ...args] =
    program === 'npm'
      ? ['npm', 'start']
      : [process.execPath, '--import', './src/runtime/node-version.js', 'src/start.ts'];
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  children.push(child);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const output = () => chunks.join('');
  const exitCode = once(child, 'close').then(([code]) => code as number | null);
  const greeting = async (): Promise<Greeting> => {
    await until(() => output().includes('Ctrl-C stops everything') || child.exitCode !== null);
    return readGreeting(output());
  };
  return { child, output, exitCode, greeting };
}

export function readGreeting(text: string): Greeting {
  const value = (label: string) =>
    new RegExp(`^ +${label} +(.+)$`, 'm').exec(text)?.[1] ?? `no ${label} in:\n${text}`;
  const curls = text.split('\n').filter((line) => line.trimStart().startsWith('curl '));
  return {
    text,
    base: value('Base URL'),
    docs: value('Docs'),
    key: value('API key'),
    testKey: value('Test key'),
    curls,
  };
}

/** Runs each line as printed, except that curl prints the status instead of the response. */
export async function paste(lines: readonly string[]): Promise<string[]> {
  const statuses = lines.map((line) => pasteAndRead(`${line} -s -o /dev/null -w '%{http_code}'`));
  return Promise.all(statuses);
}

/** Rejects unless curl exits 0. */
export async function pasteAndRead(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', line]);
  return stdout;
}

export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? 0), signal);
  } catch {
    // All processes of the group have ended.
  }
}

export const cluster = () => join(folder, '.data', 'postgres');
export const postmaster = async () => (await findServer(cluster()))?.pid ?? 0;

/** Expects that neither the folder's Postgres nor any process of the group runs. */
export async function expectNothingLeft({ child }: Started, postgres: number): Promise<void> {
  await until(async () => !(await isRunning(postgres)));
  expect(await findServer(cluster())).toBeNull();
  expect(() => process.kill(-(child.pid ?? 0), 0)).toThrow(/ESRCH/);
}

export async function findPort(): Promise<string> {
  return String(await findFreePort());
}

export async function query(text: string, url = embeddedUrl()): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text);
  await client.end();
  return rows;
}

export function embeddedUrl(): string {
  const { port, password } = JSON.parse(
    readFileSync(join(folder, '.data', 'postgres.json'), 'utf8'),
  ) as { port: number; password: string };
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

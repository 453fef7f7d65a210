// The languages of the documentation's samples, and how this machine runs a program in them.
import { spawn, type ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, run } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';

interface Runtime {
  readonly programs: readonly string[];
  /** The name of the file of a sample. */
  readonly file: string;
  /** Makes what is started, if the language needs that. */
  readonly compile?: (file: string) => readonly [program: string, args: readonly string[]];
  readonly start: (file: string) => readonly [program: string, args: readonly string[]];
}

/** A program that ends at once earns neither the second compiler nor a collector with threads. */
const SHORT_LIVED_JAVA = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** By the id of the language. */
export const RUNTIMES: Readonly<Record<string, Runtime>> = {
  curl: {
    programs: ['curl', 'openssl'],
    file: 'example.sh',
    start: (file) => ['sh', [file]],
  },
  javascript: {
    programs: [],
    file: 'example.mjs',
    start: (file) => [process.execPath, [file]],
  },
  python: { programs: ['python3'], file: 'example.py', start: (file) => ['python3', [file]] },
  php: { programs: ['php'], file: 'example.php', start: (file) => ['php', [file]] },
  java: {
    programs: ['java', 'javac'],
    file: 'Example.java',
    start: (file) => ['java', [...SHORT_LIVED_JAVA, file]],
  },
  // Debian has no .NET. Mono is the same language and library, as far as the samples go, but its
  // compiler does not know an asynchronous `Main`.
  csharp: {
    programs: ['mcs', 'mono'],
    file: 'Example.cs',
    compile: (file) => ['mcs', ['-r:System.Net.Http', '-out:program.exe', ...csharpFiles(file)]],
    start: () => ['mono', ['program.exe']],
  },
  go: {
    programs: ['go'],
    file: 'main.go',
    compile: (file) => ['go', ['build', '-o', 'program', file]],
    start: () => ['./program', []],
  },
  ruby: { programs: ['ruby'], file: 'example.rb', start: (file) => ['ruby', [file]] },
};

const ENTRY = 'class Entry { static void Main() { Example.Main().GetAwaiter().GetResult(); } }';

function csharpFiles(file: string): readonly string[] {
  return file === 'Example.cs' ? ['-main:Entry', file, 'Entry.cs'] : [file];
}

/** The programs of the language that this machine does not have. */
export function missingPrograms(language: string): string[] {
  return (RUNTIMES[language]?.programs ?? []).filter((program) => !isInstalled(program));
}

/** Runs a program to its end and resolves with what it printed. Rejects if it fails. */
export async function runProgram(language: string, code: string): Promise<string> {
  const { folder, start } = await prepare(language, code);
  return run(...start, { cwd: folder, env: ENVIRONMENT });
}

/** Starts a program that goes on running. */
export async function startProgram(
  language: string,
  code: string,
  options: { readonly file: string; readonly env: Record<string, string>; args?: string[] },
): Promise<{ child: ChildProcess; output: () => string }> {
  const { folder, start } = await prepare(language, code, options.file);
  const [program, args] = start;
  const child = spawn(program, options.args ?? args, {
    cwd: folder,
    env: { ...process.env, ...ENVIRONMENT, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return { child, output: () => chunks.join('') };
}

/** Go keeps what it has compiled, and wants a folder for it. */
const ENVIRONMENT = { GOFLAGS: '-mod=mod', GOCACHE: join(tmpdir(), 'go-cache') };

async function prepare(language: string, code: string, name?: string) {
  const runtime = RUNTIMES[language];
  if (!runtime) throw new Error(`no runtime for ${language}`);
  const folder = await makeFolder(`snippet-${language}`);
  const file = name ?? runtime.file;
  await writeFile(join(folder, file), code);
  if (language === 'csharp') await writeFile(join(folder, 'Entry.cs'), ENTRY);
  if (runtime.compile) await run(...runtime.compile(file), { cwd: folder, env: ENVIRONMENT });
  return { folder, start: runtime.start(file) };
}

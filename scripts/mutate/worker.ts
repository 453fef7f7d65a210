// Runs in Vitest's workers, as the runner of their tests: a test file runs once for each mutant that
// is to be tried with it, all in one process. Between two mutants every module of ours is loaded anew;
// packages stay, which is most of what a test file needs to begin.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { describe, inject, test, TestRunner, vi, type RunnerTestCase, type RunnerTestSuite } from 'vitest';

/** One time through a test file: with a mutant, or with none, to learn what the file reaches. */
export interface Pass {
  /** Of a mutant in TypeScript; null for one in SQL, and for none. */
  readonly code: number | null;
  /** Statement name → text to run instead of its own. */
  readonly sql: Readonly<Record<string, string>>;
}

export interface Orders {
  /** Test file (from the root) → what it is to run. */
  readonly passes: Readonly<Record<string, readonly Pass[]>>;
  /** One JSON line is appended for each event. */
  readonly log: string;
  readonly limitS: number;
}

/** `begin` without `end`: the pass hung, or its process died. */
export type Event =
  | { readonly event: 'begin'; readonly file: string; readonly pass: number }
  | {
      readonly event: 'end';
      readonly file: string;
      readonly pass: number;
      /** The first test that failed; null: all passed. */
      readonly failed: string | null;
      readonly timedOut: boolean;
      readonly ms: number;
      readonly reached: readonly number[];
      readonly statements: Readonly<Record<string, string>>;
    };

declare module 'vitest' {
  interface ProvidedContext {
    mutation: Orders;
  }
}

declare global {
  /** Called where a mutant stands: whether it is on. */
  // oxlint-disable-next-line no-var
  var __mutant: ((mutant: number) => boolean) | undefined;
}

interface Running extends Pass {
  readonly place: number;
  readonly reached: Set<number>;
  readonly statements: Map<string, string>;
  startedAtMs: number;
  failed: string | null;
  timedOut: boolean;
}

/** Short, because a mutant that hangs a test is met often; long enough for a busy machine. */
const TEST_TIMEOUT_MS = 15_000;

let current: Running | null = null;

globalThis.__mutant = (mutant) => {
  current?.reached.add(mutant);
  return current?.code === mutant;
};

// Every statement of a store reaches Postgres here, with its name.
const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown };
pg.Client.prototype.query = function run(this: pg.Client, ...[what, ...rest]: unknown[]): unknown {
  const { name, text } = (what ?? {}) as { name?: string; text?: string };
  if (!current || !name || text === undefined) return query.call(this, what, ...rest);
  current.statements.set(name, text);
  return query.call(this, { ...(what as object), text: current.sql[name] ?? text }, ...rest);
} as typeof pg.Client.prototype.query;

export default class MutantRunner extends TestRunner {
  readonly #suites = new Map<string, Running>();
  readonly #orders = inject('mutation');
  readonly #keepAlive = startWatchdog(this.#orders.limitS);

  override async importFile(filepath: string, source: 'collect' | 'setup'): Promise<void> {
    if (source === 'setup') return void (await super.importFile(filepath, source));
    vi.setConfig({ testTimeout: TEST_TIMEOUT_MS, hookTimeout: 2 * TEST_TIMEOUT_MS });
    const passes = this.#orders.passes[relative(this.config.root, filepath)] ?? [];
    passes.forEach((pass, place) => {
      const running: Running = {
        ...pass,
        place,
        reached: new Set(),
        statements: new Map(),
        startedAtMs: 0,
        failed: null,
        timedOut: false,
      };
      const name = `mutation pass ${place}`;
      this.#suites.set(name, running);
      describe(name, async () => {
        this.#begin(running, filepath);
        vi.resetModules();
        try {
          await super.importFile(filepath, source);
        } catch (error) {
          running.failed = 'import';
          test('import', () => Promise.reject(error as Error));
        }
      });
    });
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    const top = this.#suites.get(suite.name);
    if (top) this.#begin(top, suite.file.filepath);
    else if (suite === suite.file) current = null;
    // The first failure decides: what is left of the pass is skipped.
    else if (current?.failed) suite.mode = 'skip';
    await super.onBeforeRunSuite(suite);
  }

  override async onBeforeRunTask(task: RunnerTestCase): Promise<void> {
    this.#keepAlive();
    if (current?.failed) task.mode = 'skip';
    await super.onBeforeRunTask(task);
  }

  override onAfterRunTask(task: RunnerTestCase): void {
    if (current && task.result?.state === 'fail') this.#fail(task.name, task.result.errors);
    super.onAfterRunTask(task);
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    if (suite.result?.errors?.length) this.#fail(`${suite.name} (hook)`, suite.result.errors);
    if (this.#suites.has(suite.name)) this.#end(suite.file.filepath);
    await super.onAfterRunSuite(suite);
  }

  #begin(running: Running, filepath: string): void {
    current = running;
    running.startedAtMs = performance.now();
    this.#keepAlive();
    this.#tell({ event: 'begin', file: relative(this.config.root, filepath), pass: running.place });
  }

  #fail(what: string, errors: readonly { message: string }[] | undefined): void {
    if (!current || current.failed !== null) return;
    current.failed = what;
    current.timedOut = errors?.[0]?.message.includes('timed out in') ?? false;
  }

  #end(filepath: string): void {
    if (!current) return;
    const { place, failed, timedOut, reached, statements, startedAtMs } = current;
    this.#tell({
      event: 'end',
      file: relative(this.config.root, filepath),
      pass: place,
      failed,
      timedOut,
      ms: performance.now() - startedAtMs,
      reached: [...reached],
      statements: Object.fromEntries(statements),
    });
    current = null;
  }

  #tell(event: Event): void {
    appendFileSync(this.#orders.log, `${JSON.stringify(event)}\n`);
  }
}

/** Kills this process when nothing has been heard for a while: a mutant may loop and let nothing else run. */
function startWatchdog(limitS: number): () => void {
  const heard = new Int32Array(new SharedArrayBuffer(4));
  const now = (): number => Math.floor(Date.now() / 1000);
  const code = `
    const { workerData: { heard, limitS } } = require('node:worker_threads');
    const isLate = () => Date.now() / 1000 - Atomics.load(heard, 0) > limitS;
    setInterval(() => isLate() && process.kill(process.pid, 'SIGKILL'), 1000);`;
  Atomics.store(heard, 0, now());
  new Worker(code, { eval: true, workerData: { heard, limitS } }).unref();
  return () => void Atomics.store(heard, 0, now());
}

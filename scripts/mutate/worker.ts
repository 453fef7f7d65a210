// The test runner inside Vitest's workers. A test file runs once for each mutant to try with it, in
// one process. Packages stay loaded. So does our code, unless the mutant is in something that is
// evaluated when its module loads. This is several times as fast as one process per mutant.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import {
  afterAll,
  describe,
  inject,
  test,
  TestRunner,
  vi,
  type RunnerTask,
  type RunnerTestCase,
  type RunnerTestSuite,
} from 'vitest';
import type * as AtEnd from '../../test/support/at-end.ts';

/** One time through a test file: with a mutant, or with none, to learn what the file reaches. */
export interface Pass {
  /** Of a mutant in TypeScript; null for one in SQL, and for none. */
  readonly code: number | null;
  /** Statement name → text to run instead of its own. */
  readonly sql: Readonly<Record<string, string>>;
  /** Names of the tests to run; null: all. */
  readonly tests: readonly string[] | null;
  /** Loads all of our modules anew, not only the tests'. */
  readonly isFresh: boolean;
  /** Runs the tests from the last to the first. */
  readonly isReversed?: boolean;
}

export interface Orders {
  /** Test file (from the root) → what it is to run. */
  readonly passes: Readonly<Record<string, readonly Pass[]>>;
  /** One JSON line is appended for each event. */
  readonly log: string;
  readonly limitS: number;
}

/** Where in a test file something was reached: the place of a test in `tests`, or one of these. */
export const AT_IMPORT = -1;
export const IN_HOOK = -2;

export interface Ended {
  readonly event: 'end';
  readonly file: string;
  readonly pass: number;
  /** The first test that failed; null: all passed. */
  readonly failed: string | null;
  /** What it said, as far as it is short. */
  readonly why: string;
  readonly timedOut: boolean;
  readonly ms: number;
  /** Names and durations. */
  readonly tests: readonly (readonly [string, number])[];
  /** Mutant → places. */
  readonly reached: Readonly<Record<string, readonly number[]>>;
  readonly statements: Readonly<
    Record<string, { readonly text: string; readonly places: readonly number[] }>
  >;
}

/** `begin` without `end`: the pass hung, or its process died. */
export type Event =
  | Ended
  | { readonly event: 'begin'; readonly file: string; readonly pass: number };

declare module 'vitest' {
  interface ProvidedContext {
    mutation: Orders;
  }
}

declare global {
  /** Called where a mutant stands: whether it is on. */
  // oxlint-disable-next-line no-var
  var __mutant: ((mutant: number) => boolean) | undefined;
  /** Makes something once for all passes of a process, without any mutant. */
  // oxlint-disable-next-line no-var
  var __shared: (<T>(name: string, make: () => Promise<T>) => Promise<T>) | undefined;
  /** The statements that the loaded modules declare. */
  // oxlint-disable-next-line no-var
  var __statements: (() => readonly { name: string; text: string }[]) | undefined;
}

interface Running extends Pass {
  readonly number: number;
  readonly ran: [string, number][];
  readonly reached: Map<number, Set<number>>;
  readonly statements: Map<string, { text: string; places: Set<number> }>;
  /** Where the pass is. */
  place: number;
  startedAtMs: number;
  failed: string | null;
  why: string;
  timedOut: boolean;
}

/**
 * Shorter than the tests' own, because a mutant often makes one wait. Without a mutant, a busy
 * machine must not make a file red.
 */
const TEST_TIMEOUT_MS = { mutated: 20_000, unmutated: 60_000 };

/** Evaluated once a process: it holds no state of a test, and compiles every schema. */
const KEPT_MODULE = /\/test\/support\/response-contract\.ts$/;

/** Has what the tests of a pass start stopped when it ends. */
const AT_END = '/test/support/at-end.ts';

const PASS = 'mutation pass ';

let current: Running | null = null;

globalThis.__mutant = (mutant) => {
  if (!current) return false;
  const places = current.reached.get(mutant) ?? new Set();
  current.reached.set(mutant, places.add(current.place));
  return current.code === mutant;
};

const shared = new Map<string, unknown>();

globalThis.__shared = async <T>(name: string, make: () => Promise<T>): Promise<T> => {
  if (!shared.has(name)) {
    const pass = current;
    current = null;
    try {
      shared.set(name, await make());
    } finally {
      current = pass;
    }
  }
  return shared.get(name) as T;
};

/** A declared statement on the wire: alone, in a group, or as a search without a name. */
function declaredAs(name: string | undefined, text: string | undefined) {
  if (texts.size !== globalThis.__statements?.().length) {
    for (const known of globalThis.__statements?.() ?? []) {
      texts.set(known.name, known.text);
      names.set(known.text, known.name);
    }
  }
  const found = name ? name.replace(/#\d+$/, '') : names.get(text ?? '');
  return found !== undefined && texts.has(found) ? found : null;
}
const texts = new Map<string, string>();
const names = new Map<string, string>();

function reach(name: string): void {
  if (!current) return;
  const known = current.statements.get(name) ?? { text: texts.get(name) ?? '', places: new Set() };
  known.places.add(current.place);
  current.statements.set(name, known);
}

// Every statement passes here, whatever sends it. What a connection has prepared is only bound.
interface Wire {
  readonly parse: (this: Wire, message: Parse, ...rest: unknown[]) => void;
  readonly bind: (this: Wire, message: Bind, ...rest: unknown[]) => void;
}
interface Parse {
  readonly name?: string;
  readonly text: string;
}
interface Bind {
  readonly statement?: string;
}
const wire = (pg as unknown as { readonly Connection: { readonly prototype: Wire } }).Connection
  .prototype;
const { parse, bind } = wire;
Object.assign(wire, {
  parse(this: Wire, message: Parse, ...rest: unknown[]): void {
    const name = declaredAs(message.name, message.text);
    if (name !== null) reach(name);
    const text = (name !== null && current?.sql[name]) || message.text;
    parse.call(this, { ...message, text }, ...rest);
  },
  bind(this: Wire, message: Bind, ...rest: unknown[]): void {
    const name = declaredAs(message.statement, undefined);
    if (name !== null) reach(name);
    bind.call(this, message, ...rest);
  },
});

/** The part of Vitest's that is used here. */
interface ModuleRunner {
  import<T>(path: string): Promise<T>;
  readonly evaluatedModules: {
    readonly idToModuleMap: ReadonlyMap<
      string,
      { promise?: unknown; exports?: unknown; evaluated: boolean }
    >;
  };
}

// oxlint-disable-next-line import/no-default-export -- Vitest takes a runner's default export
export default class MutantRunner extends TestRunner {
  readonly #suites = new Map<string, Running>();
  readonly #orders = inject('mutation');
  readonly #keepAlive = startWatchdog(this.#orders.limitS);

  override async importFile(filepath: string, source: 'collect' | 'setup'): Promise<void> {
    if (source === 'setup') return void (await super.importFile(filepath, source));
    const passes = this.#orders.passes[relative(this.config.root, filepath)] ?? [];
    passes.forEach((pass, number) => {
      const name = `${PASS}${number}`;
      const running = start(pass, number);
      this.#suites.set(name, running);
      describe(`${PASS}${number}`, async () => {
        this.#begin(running, filepath);
        const testTimeout = TEST_TIMEOUT_MS[isControl(pass) ? 'unmutated' : 'mutated'];
        vi.setConfig({ testTimeout, hookTimeout: 2 * testTimeout });
        this.#forgetModules(pass.isFresh);
        const { endFile } = await this.#modules.import<typeof AtEnd>(AT_END);
        afterAll(endFile);
        try {
          await super.importFile(filepath, source);
        } catch (error) {
          running.failed = 'import';
          // oxlint-disable-next-line vitest/expect-expect -- it is there to fail
          test('import', () => Promise.reject(error as Error));
        }
      });
    });
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    const top = this.#suites.get(suite.name);
    if (top) {
      this.#begin(top, suite.file.filepath);
      current = { ...top, place: IN_HOOK };
    } else if (suite === suite.file) current = null;
    // The first failure decides: what is left of the pass is skipped.
    else if (current?.failed || !suite.tasks.some(isWanted)) suite.mode = 'skip';
    if (current?.isReversed) suite.tasks.reverse();
    await super.onBeforeRunSuite(suite);
  }

  override async onBeforeRunTask(task: RunnerTestCase): Promise<void> {
    this.#keepAlive();
    if (current?.failed || !isWanted(task)) task.mode = 'skip';
    else if (current) current.place = current.ran.push([nameOf(task), 0]) - 1;
    await super.onBeforeRunTask(task);
  }

  override onAfterRunTask(task: RunnerTestCase): void {
    const ran = current?.ran.at(-1);
    if (ran && task.mode !== 'skip') ran[1] = Math.round(task.result?.duration ?? 0);
    if (task.result?.state === 'fail') fail(task.name, task.result.errors);
    if (current) current.place = IN_HOOK;
    super.onAfterRunTask(task);
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    if (suite.result?.errors?.length) fail(`${suite.name} (hook)`, suite.result.errors);
    if (this.#suites.has(suite.name)) this.#end(suite.file.filepath);
    await super.onAfterRunSuite(suite);
  }

  #begin(running: Running, filepath: string): void {
    current = running;
    running.startedAtMs = performance.now();
    this.#keepAlive();
    this.#tell({
      event: 'begin',
      file: relative(this.config.root, filepath),
      pass: running.number,
    });
  }

  #end(filepath: string): void {
    if (!current) return;
    const { number, ran, failed, why, timedOut, startedAtMs } = current;
    const hasNoMutant = isControl(current);
    const reached = [...current.reached].map(([mutant, places]) => [mutant, [...places]] as const);
    const statements = [...current.statements].map(([name, { text, places }]) => [
      name,
      { text, places: [...places] },
    ]);
    this.#tell({
      event: 'end',
      file: relative(this.config.root, filepath),
      pass: number,
      failed,
      why,
      timedOut,
      ms: Math.round(performance.now() - startedAtMs),
      tests: hasNoMutant ? ran : [],
      reached: hasNoMutant ? Object.fromEntries(reached) : {},
      statements: hasNoMutant ? (Object.fromEntries(statements) as Ended['statements']) : {},
    });
    current = null;
  }

  get #modules(): ModuleRunner {
    return (this as unknown as { readonly moduleRunner: ModuleRunner }).moduleRunner;
  }

  /** The tests' modules keep what they have started, so every pass needs its own. */
  #forgetModules(isFresh: boolean): void {
    if (isFresh) return void vi.resetModules();
    for (const [path, module] of this.#modules.evaluatedModules.idToModuleMap) {
      if (!path.includes('/test/') || KEPT_MODULE.test(path)) continue;
      Object.assign(module, { promise: undefined, exports: undefined, evaluated: false });
    }
  }

  #tell(event: Event): void {
    appendFileSync(this.#orders.log, `${JSON.stringify(event)}\n`);
  }
}

/** Whether it only learns what the file reaches. */
function isControl({ code, sql }: Pass): boolean {
  return code === null && Object.keys(sql).length === 0;
}

function start(pass: Pass, number: number): Running {
  const [reached, statements] = [new Map(), new Map()];
  return {
    ...pass,
    number,
    ran: [],
    reached,
    statements,
    place: AT_IMPORT,
    startedAtMs: 0,
    failed: null,
    why: '',
    timedOut: false,
  };
}

const WHY_MAX_CHARACTERS = 2_000;

function fail(what: string, errors: readonly { message: string }[] | undefined): void {
  if (!current || current.failed !== null) return;
  current.failed = what;
  current.why = errors?.[0]?.message.slice(0, WHY_MAX_CHARACTERS) ?? '';
  current.timedOut = current.why.includes('timed out in');
}

function isWanted(task: RunnerTask): boolean {
  if (task.type === 'suite') return task.tasks.some(isWanted);
  return !current?.tests || current.tests.includes(nameOf(task));
}

/** The test's name with those of its suites, without that of the pass. */
function nameOf(task: RunnerTask): string {
  const { suite } = task;
  return suite && !suite.name.startsWith(PASS) ? `${nameOf(suite)} > ${task.name}` : task.name;
}

/** What a busy machine may take away from a process that does not loop. */
const LOOP_LIMIT_S = 20;

/** Kills this process when it loops, or has begun no test for `limitS`. */
function startWatchdog(limitS: number): () => void {
  const heard = new Int32Array(new SharedArrayBuffer(8));
  const hear = (what: 0 | 1): void =>
    void Atomics.store(heard, what, Math.floor(Date.now() / 1000));
  const code = `
    const { workerData: { heard, limits } } = require('node:worker_threads');
    const isLate = (limitS, what) => Date.now() / 1000 - Atomics.load(heard, what) > limitS;
    setInterval(() => limits.some(isLate) && process.kill(process.pid, 'SIGKILL'), 1000);`;
  hear(0);
  hear(1);
  setInterval(() => hear(1), 500).unref();
  new Worker(code, { eval: true, workerData: { heard, limits: [limitS, LOOP_LIMIT_S] } }).unref();
  return () => hear(0);
}

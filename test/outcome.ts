// What a run came to, for `scripts/test.ts`. Vitest's JSON report leaves out why the hooks of a
// suite failed.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Each with its place and its reasons: of tests, of hooks, of files that do not load. */
  readonly failures: readonly string[];
  /** The files of which not every test could begin before the deadline. */
  readonly unfinished: readonly string[];
}

const TIMER_MAX_MS = 2 ** 31 - 1;

/** Writes the {@link Outcome} to this file. No test begins after `deadline`. */
export class OutcomeReporter implements Reporter {
  readonly #file: string;
  readonly #deadline: Date | null;
  #vitest: Vitest | null = null;
  #isOver = false;

  constructor(file: string, deadline: Date | null) {
    this.#file = file;
    this.#deadline = deadline;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(): void {
    if (this.#deadline === null) return;
    const stop = (): void => {
      this.#isOver = true;
      // A test that runs ends as it would. What has not begun is skipped.
      void this.#vitest?.cancelCurrentRun('keyboard-input');
    };
    // A longer timer would fire at once.
    const left = Math.min(this.#deadline.getTime() - Date.now(), TIMER_MAX_MS);
    setTimeout(stop, Math.max(0, left)).unref();
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number =>
      tests.filter((test) => test.result().state === state).length;
    const outcome: Outcome = {
      passed: count('passed'),
      failed: count('failed'),
      skipped: count('skipped') + count('pending'),
      failures: [
        ...modules.flatMap(failuresOf),
        ...unhandled.map((error) => describeFailure('outside of tests', [error])),
      ],
      unfinished: this.#isOver ? modules.filter(isUnfinished).map(nameOf) : [],
    };
    writeFileSync(this.#file, JSON.stringify(outcome));
  }
}

const nameOf = ({ moduleId }: TestModule): string => relative('.', moduleId);

/** Whether a test of it was not begun that no condition of its own skips. */
function isUnfinished(module: TestModule): boolean {
  const tests = [...module.children.allTests()];
  const isLeft = tests.some(
    (test) => test.options.mode === 'run' && test.result().state === 'pending',
  );
  return tests.length === 0 || isLeft;
}

function failuresOf(module: TestModule): string[] {
  const file = nameOf(module);
  const places = [
    { name: file, errors: module.errors() },
    ...[...module.children.allSuites()].map((suite) => ({
      name: `${file} > ${suite.fullName}`,
      errors: suite.errors(),
    })),
    ...[...module.children.allTests()].map((test) => {
      const { state, errors = [] } = test.result();
      const again = state === 'passed' ? ' (passed when it was tried again)' : '';
      return { name: `${file} > ${test.fullName}${again}`, errors };
    }),
  ];
  return places
    .filter(({ errors }) => errors.length > 0)
    .map(({ name, errors }) => describeFailure(name, errors));
}

function describeFailure(place: string, errors: readonly SerializedError[]): string {
  const lines = errors.flatMap(({ stack, message }) => (stack ?? message).split('\n'));
  const own = lines.filter((line) => !/^ +at .*\/node_modules\//.test(line));
  return [place, ...own].join('\n  ');
}

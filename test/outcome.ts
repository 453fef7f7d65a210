// What a run came to, for `scripts/test.ts`. Vitest's JSON report leaves out why the hooks of a
// suite failed.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Each with its place and its reasons: of tests, of hooks, of files that do not load. */
  readonly failures: readonly string[];
}

/** Writes the {@link Outcome} to this file. */
export class OutcomeReporter implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
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
    };
    writeFileSync(this.#file, JSON.stringify(outcome));
  }
}

function failuresOf(module: TestModule): string[] {
  const file = relative('.', module.moduleId);
  const places = [
    { name: file, errors: module.errors() },
    ...[...module.children.allSuites()].map((suite) => ({
      name: `${file} > ${suite.fullName}`,
      errors: suite.errors(),
    })),
    ...[...module.children.allTests()].map((test) => ({
      name: `${file} > ${test.fullName}`,
      errors: test.result().errors ?? [],
    })),
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

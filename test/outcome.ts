// What a run came to, for `scripts/test.ts`. Vitest's JSON report leaves out why the hooks of a
// suite failed.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/** A test that failed by itself, not by its file or a hook. */
export interface FailedTest {
  /** From the root of the repository. */
  readonly file: string;
  /** With the names of its suites, as `vitest -t` takes it. */
  readonly name: string;
  /** The first line of its first error. */
  readonly error: string;
  /** false: it is tagged `never-repeated`. */
  readonly mayRepeat: boolean;
}

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Each with its place and its reasons: of tests, of hooks, of files that do not load. */
  readonly failures: readonly string[];
  readonly failedTests: readonly FailedTest[];
  /** Whether something failed beside tests: a hook, a file that does not load, an error outside. */
  readonly hasOtherFaults: boolean;
}

/** Writes the {@link Outcome} to this file. */
export class OutcomeReporter implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string): TestCase[] =>
      tests.filter((test) => test.result().state === state);
    const failed = inState('failed');
    const otherFaults = [
      ...modules.flatMap(faultsBesideTests),
      ...unhandled.map((error) => describeFailure('outside of tests', [error])),
    ];
    const outcome: Outcome = {
      passed: inState('passed').length,
      failed: failed.length,
      skipped: inState('skipped').length + inState('pending').length,
      failures: [...failed.map(describeTest), ...otherFaults],
      failedTests: failed.map((test) => ({
        file: fileOf(test.module),
        name: test.fullName,
        error: test.result().errors?.[0]?.message.split('\n')[0] ?? '',
        mayRepeat: !test.tags.includes('never-repeated'),
      })),
      hasOtherFaults: otherFaults.length > 0,
    };
    writeFileSync(this.#file, JSON.stringify(outcome));
  }
}

const fileOf = ({ moduleId }: TestModule): string => relative('.', moduleId);

const describeTest = (test: TestCase): string =>
  describeFailure(`${fileOf(test.module)} > ${test.fullName}`, test.result().errors ?? []);

function faultsBesideTests(module: TestModule): string[] {
  const file = fileOf(module);
  const places = [
    { name: file, errors: module.errors() },
    ...[...module.children.allSuites()].map((suite) => ({
      name: `${file} > ${suite.fullName}`,
      errors: suite.errors(),
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

// A setup file of Vitest: tries the rules of support/lock-rules.ts on every transaction of a file.
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { loadParser } from './checks/tenancy.ts';
import { recordLocks } from './support/lock-recorder.ts';
import { faultsOf } from './support/lock-rules.ts';

/** Tests that go through services. Others call stores alone, without the locks of their callers. */
const THROUGH_SERVICES = /\/test\/(?:contract|features|races|tasks)\//;

const { testPath = '' } = expect.getState();
if (THROUGH_SERVICES.test(testPath)) {
  const recorder = recordLocks(() => expect.getState().currentTestName ?? 'outside of a test');
  const check = (): void => {
    const wrong = recorder.take().flatMap(({ test, sent }) => {
      const faults = faultsOf(sent);
      const statements = sent.map(({ name, text }) => `  ${name ?? text}`).join('\n');
      return faults.length === 0 ? [] : [`${test}:\n${faults.join('\n')}\nin\n${statements}`];
    });
    if (wrong.length > 0) throw new Error(`locks are missing or late\n${wrong.join('\n\n')}`);
  };
  beforeAll(() => loadParser());
  afterEach(check);
  // What came after the last test, and while the service stopped.
  afterAll(check);
}

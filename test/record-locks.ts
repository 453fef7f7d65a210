// A setup file of Vitest: tries the rules of support/lock-rules.ts on every transaction of a file.
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

/** Tests that go through services. Others call stores alone, without the locks of their callers. */
const THROUGH_SERVICES = /\/test\/(?:contract|features|processes|races|tasks)\//;

const { testPath = '' } = expect.getState();
if (THROUGH_SERVICES.test(testPath)) {
  const [{ loadParser }, { openLockRecorder }, { faultsOf }] = await Promise.all([
    import('./checks/tenancy.ts'),
    import('./support/lock-recorder.ts'),
    import('./support/lock-rules.ts'),
  ]);
  const recorder = openLockRecorder();
  recorder.isOn = true;
  const check = (test: string): void => {
    const wrong = recorder.take().flatMap((sent) => {
      const faults = faultsOf(sent);
      const statements = sent.map(({ name, text }) => `  ${name ?? text}`).join('\n');
      return faults.length === 0 ? [] : [`${test}:\n${faults.join('\n')}\nin\n${statements}`];
    });
    if (wrong.length > 0) throw new Error(`locks are missing or late\n${wrong.join('\n\n')}`);
  };
  beforeAll(() => loadParser());
  afterEach(({ task }) => check(task.name));
  // What came after the last test, and while the service stopped.
  afterAll(() => {
    recorder.isOn = false;
    check('outside of a test');
  });
}

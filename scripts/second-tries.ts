// Which failures of the smoke tests are tried a second time.
import type { Outcome } from '../test/outcome.ts';

/** More failed tests than these are no matter of chance. */
const SECOND_TRIES_MAX = 3;

/** Whether all that failed may run again: few tests, and none that is tagged `never-repeated`. */
export function mayRunAgain({
  failedTests,
  hasOtherFaults,
}: Pick<Outcome, 'failedTests' | 'hasOtherFaults'>): boolean {
  return (
    failedTests.length > 0 &&
    failedTests.length <= SECOND_TRIES_MAX &&
    !hasOtherFaults &&
    failedTests.every(({ mayRepeat }) => mayRepeat)
  );
}

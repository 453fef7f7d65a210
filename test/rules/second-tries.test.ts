import { describe, expect, test } from 'vitest';
import { mayRunAgain } from '../../scripts/second-tries.ts';

const failed = (mayRepeat = true) => ({ file: 'f', name: 'n', error: 'e', mayRepeat });

describe('a second try', () => {
  test.each([
    ['is given to three failed tests', [failed(), failed(), failed()], false, true],
    ['is not given to four', [failed(), failed(), failed(), failed()], false, false],
    ['is not given beside a test that is never repeated', [failed(), failed(false)], false, false],
    ['is not given beside a failed hook', [failed()], true, false],
    ['is not given to a run without failed tests', [], false, false],
  ])('%s', (_name, failedTests, hasOtherFaults, expected) => {
    expect(mayRunAgain({ failedTests, hasOtherFaults })).toBe(expected);
  });
});

import { expect, test } from 'vitest';
import { redact } from '../../src/runtime/log.ts';

test.each([
  ['no place for <ada@a.test>: full', 'no place for <[redacted]>: full'],
  ['to=ada@a.test,bob@b.test', 'to=[redacted],[redacted]'],
  ['mailto:ada@a.test', 'mailto:[redacted]'],
  ['svck_live_abc_def and whsec_a+b/c=', '[redacted] and [redacted]'],
  ['svck_test_tabc_def,', '[redacted],'],
  ['a@ b @c', 'a@ b @c'],
])('%j is logged as %j', (text, logged) => {
  expect(redact(text)).toBe(logged);
});

// What is quadratic takes minutes for these.
test.each(['a', '@', 'a@', 'svck_live_', 'svck_test_', 'whsec_'])(
  'a text of %j is redacted in a moment',
  (part) => {
    const startedAt = performance.now();
    redact(part.repeat(300_000));
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  },
);

import { expect, test } from 'vitest';
import { createThreadLogger, redact } from '../../src/runtime/log.ts';

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

// A quadratic time would be minutes: the test's limit ends it.
test.each(['a', '@', 'a@', 'svck_live_', 'svck_test_', 'whsec_'])(
  'a long text of %j is redacted in linear time',
  (part) => {
    expect(redact(part.repeat(300_000)).length).toBeGreaterThan(0);
  },
);

test('the stack of an error that is repeated is written once', () => {
  const lines: { err: { message: string; stack?: string } }[] = [];
  const logger = createThreadLogger('info', (line) => void lines.push(JSON.parse(line)));
  const fail = (): Error => new Error('unavailable');
  for (let times = 0; times < 3; times += 1) logger.warn({ err: fail() }, 'not yet');
  logger.warn({ err: new Error('unavailable') }, 'elsewhere');
  expect(lines.map(({ err }) => err.message)).toEqual(Array(4).fill('unavailable'));
  expect(lines.map(({ err }) => err.stack?.includes('log.test.ts') ?? false)).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

// Which texts are addresses of persons, and the one form in which they are stored.
import { expect, test } from 'vitest';
import { isMailAddress, normalizeAddress } from '../../src/core/email-address.ts';

test.each([
  'kim@example.com',
  'r&d@team.example',
  "o'neill@team.example",
  'kim+tag=1@team.example',
  "!#$%&'*+/=?^_`{|}~-@team.example",
  'kim@müller.example',
  'müller@team.example',
  '用户@例子.公司',
  'kim@xn--mller-kva.example',
  'kim@a-b.co.uk',
  'k@x1.museum',
])('%s is an address', (text) => {
  expect(isMailAddress(text)).toBe(true);
});

test.each([
  '',
  'kim',
  '@team.example',
  'kim@',
  'kim@team',
  'kim@@team.example',
  '.kim@team.example',
  'kim.@team.example',
  'ki..m@team.example',
  'Kim Lee <kim@team.example>',
  'kim@team.example, lee@team.example',
  '"kim lee"@team.example',
  'kim(office)@team.example',
  'kim@-team.example',
  'kim@te_am.example',
  'kim@team..example',
  'kim@team.example.',
  'kim@127.0.0.1',
  'kim@[127.0.0.1]',
  'kim@team.example\r\nBcc: x@y.example',
  `${'k'.repeat(65)}@team.example`,
  'kim@team.example/path',
  'kim@team.example?subject=hi',
  'kim@team.example#x',
  'kim@team.example:25',
  'kim@te%61m.example',
  'kim@team.example／path',
  'mailto:kim@team.example/',
  // 254 bytes at most, as mail servers read it.
  `kim@${'用户例子公司邮件地址.'.repeat(7)}example`,
  `kim@${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(55)}.example`,
])('%j is none', (text) => {
  expect(isMailAddress(text)).toBe(false);
});

test.each([
  ['kim@müller.example', 'kim@müller.example'],
  ['kim@MÜLLER.example', 'kim@müller.example'],
  ['kim@mu\u0308ller.example', 'kim@müller.example'],
  ['kim@xn--mller-kva.example', 'kim@müller.example'],
  ['kim@XN--MLLER-KVA.example', 'kim@müller.example'],
  ['Kim@Example.com', 'Kim@Example.com'],
  ['mu\u0308ller@a.test', 'müller@a.test'],
  ['kim..x@example', 'kim..x@example'],
  ['kim@TEAM.example/path', 'kim@TEAM.example/path'],
  ['kim@te%61m.example', 'kim@te%61m.example'],
  ['nobody', 'nobody'],
])('%s is stored as %s', (text, stored) => {
  expect(normalizeAddress(text)).toBe(stored);
  expect(normalizeAddress(stored)).toBe(stored);
});

// The language of an answer, from every form of `Accept-Language` that clients send.
import { expect, test } from 'vitest';
import { negotiateLanguage } from '../../src/http/api/language.ts';

test.each([
  [undefined, 'de'],
  ['', 'de'],
  ['fr', 'de'],
  ['en', 'en'],
  ['EN', 'en'],
  ['en-GB', 'en'],
  ['en-Latn-US-x-private', 'en'],
  // Of Java's Locale.toString, POSIX and PHP.
  ['en_US', 'en'],
  ['EN_us', 'en'],
  ['en_US.UTF-8', 'en'],
  ['en.UTF-8', 'en'],
  ['en_GB@euro', 'en'],
  ['de_AT', 'de'],
  ['de_CH,en;q=0.5', 'de'],
  ['fr_FR,en_US;q=0.5', 'en'],
  ['C', 'de'],
  ['eng', 'de'],
  ['english', 'de'],
  ['en!', 'de'],
  ['x-en', 'de'],
  // By weight, then in the order in which they are given.
  ['en,de', 'en'],
  ['de,en', 'de'],
  ['de-DE,en', 'de'],
  ['en-US,de', 'en'],
  ['de;q=0.4,en;q=0.5', 'en'],
  ['en;q=0.4,de;q=0.5', 'de'],
  ['en-US,de;q=0.8,en;q=0.5', 'en'],
  ['de-AT,en;q=0.8,de;q=0.5', 'de'],
  [' en ; q = 0.3 , de;q=.2', 'en'],
  ['en;Q=0.3,de;q=0.2', 'en'],
  ['en;level=1;q=0.1,de;q=0.2', 'de'],
  [',,en,,', 'en'],
  [';q=1,en', 'en'],
  // Weights that are none.
  ['de;q=0.9,en;q=high', 'en'],
  ['de;q=0.9,en;q=', 'en'],
  ['de;q=0.9,en;q', 'en'],
  ['de,en;q=1.5', 'de'],
  ['de,en;q=1e9', 'de'],
  ['de;q=0.5,en;q=-1', 'de'],
  ['fr,en;q=-1', 'de'],
  ['de;q=0,7,en;q=0,8', 'en'],
  ['en;q=0,7,de;q=0,8', 'de'],
  // Any language, and none of a language.
  ['*', 'de'],
  ['*,en;q=0.5', 'de'],
  ['*;q=0.5,en', 'en'],
  ['de;q=0,*', 'en'],
  ['*,de;q=0', 'en'],
  ['en;q=0,*', 'de'],
  ['en;q=0', 'de'],
  ['en;q=0.000', 'de'],
  ['en_US;q=0,en;q=0', 'de'],
  ['en-GB;q=0,en', 'en'],
  ['de;q=0', 'de'],
  ['*;q=0', 'de'],
  ['*-US,en;q=0.5', 'en'],
] as const)('Accept-Language: %s is %s', (given, expected) => {
  expect(negotiateLanguage(given)).toBe(expected);
});

test.each([
  ['fr', 'en'],
  ['*', 'en'],
  ['en;q=0,*', 'de'],
  ['de_DE', 'de'],
  [undefined, 'en'],
] as const)('Accept-Language: %s is %s where English is the default', (given, expected) => {
  expect(negotiateLanguage(given, 'en')).toBe(expected);
});

// An upgrade of pg is safe as far as only its documented names are used. The others are few, and in
// one room (`src/db/wire/README.md`).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('db/generated/'))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), 'utf8') }));

const namesOf = (pattern: RegExp): string[] =>
  files.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

test('no file of pg or pg-protocol is imported by its path', () => {
  expect(namesOf(/['"]pg(?:-protocol)?\/|from 'pg-protocol'/)).toEqual([]);
});

test.each([
  ['the connection of a client', /\.connection\b(?=[.)\]])|\bpg\.Connection\(/, []],
  ['the key of a session', /\b(?:processID|secretKey)\b/, ['db/wire/cancel.ts']],
  ['the messages of a query', /\bhandle(?:DataRow|ReadyForQuery)\b/, ['db/wire/query-group.ts']],
])('%s is used in one place at most', (_what, pattern, places) => {
  const ofDatabase = namesOf(pattern).filter((file) => /^(?:db|doctor|seed|start)/.test(file));
  expect(ofDatabase).toEqual(places);
});

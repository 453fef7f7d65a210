import { describe, expect, test } from 'vitest';
import { keptFaults } from '../../src/features/requests/rules.ts';

describe('of the faults of a refused call is kept', () => {
  const declared = new Set(['title', 'due_date', 'member_id', 'note', 'id']);
  const kept = (...paths: readonly string[]) =>
    keptFaults(
      paths.map((path) => ({ path, code: 'unrecognized_keys', message: 'x' })),
      declared,
    )?.map(({ path }) => path);

  test('the place, if the operation declares the name', () => {
    expect(kept('body.title', 'query.due_date', 'body.title.inner')).toEqual([
      'body.title',
      'query.due_date',
      'body.title',
    ]);
  });

  test('a misspelt name', () => {
    const names = ['body.dueDate', 'body.due-date', 'body.due_dat', 'body.titel', 'body.memberid'];
    expect(kept(...names)).toEqual(names);
  });

  test('no other name: it may be anything', () => {
    const names = ['kim', 'kim@example.com', 'notes', 'nose', 'ix', 'due', 'date', ''];
    expect(kept(...names.map((name) => `body.${name}`))).toEqual(names.map(() => 'body'));
    expect(kept(`body.title${' '.repeat(100_000)}`)).toEqual(['body']);
  });

  test('no name with characters that no database stores, or that no terminal shows', () => {
    const odd = ['\u0000', '\uD800', '\u001B', '\u202E', '\u007F'];
    expect(kept(...odd.map((character) => `body.ti${character}tle`))).toEqual(
      odd.map(() => 'body'),
    );
  });

  test('nothing if there are none', () => {
    expect(keptFaults(undefined, declared)).toBeNull();
  });
});

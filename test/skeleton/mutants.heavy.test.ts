// What `npm run mutate:sql` changes.
import { loadModule } from 'libpg-query';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  readDeclarations,
  readEquivalent,
  readStatements,
  sqlMutants,
  staleOf,
} from '../../scripts/mutate/mutants.ts';
import { findSqlMutants } from '../../scripts/mutate/sql-mutants.ts';

describe('mutants of SQL', () => {
  beforeAll(() => loadModule());
  const changes = (text: string) => findSqlMutants(text).map(({ change }) => change);

  test('drop each condition, at any depth, and keep the parameters', () => {
    const text = `select x from a join b on b.id = a.id
      where a.t = $1 and (a.u or exists (select from c where c.v = $2))`;
    expect(changes(text)).toEqual([
      'drop: b.id = a.id',
      'drop: c.v = $n',
      'never: a.u',
      'never: exists (select from c where c.v = $n)',
      'drop: a.t = $n',
      'drop: (a.u or exists (select from c where c.v = $n))',
    ]);
    expect(findSqlMutants(text)[4]?.text).toContain('where (a.t = $1 or true) and');
  });

  test('take between, distinct from, on conflict and comments for what they are', () => {
    expect(
      changes('select 1 from a where b between 1 and 2 and c is distinct from d -- and e\n'),
    ).toEqual(['drop: b between 1 and 2', 'drop: c is distinct from d']);
    expect(
      changes('insert into a values (1) on conflict (b) do update set c = 1 where a.d'),
    ).toEqual(['drop: a.d']);
  });

  test('move a limit by one row', () => {
    const text = 'select from a limit $1 offset 2';
    expect(findSqlMutants(text).map((mutant) => mutant.text)).toEqual([
      'select from a limit ($1) + 1 offset 2',
      'select from a limit $1 offset (2) + 1',
    ]);
  });

  test('choose the other branch of a case, turn orders around, take locks away', () => {
    expect(changes('select case when a then 1 else 2 end from b')).toEqual(['drop: a', 'never: a']);
    const lock = 'select from a order by b desc, c limit 1 for no key update of a skip locked';
    expect(
      findSqlMutants(lock).map(({ text }) => text.slice('select from a '.length).trim()),
    ).toEqual([
      'order by b asc, c limit 1 for no key update of a skip locked',
      'order by b desc, c desc limit 1 for no key update of a skip locked',
      'order by b desc, c limit (1) + 1 for no key update of a skip locked',
      'order by b desc, c limit 1',
      'order by b desc, c limit 1 for no key update of a',
    ]);
  });
});

describe('mutants of all statements', () => {
  beforeAll(() => loadModule());
  const declarations = readDeclarations();

  test('are what equivalent.json names', async () => {
    const all = sqlMutants(declarations, await readStatements(declarations));
    expect(staleOf(all, readEquivalent())).toEqual([]);
  });

  test('include the lock of every statement that has one', async () => {
    const statements = await readStatements(declarations);
    const locking = [...statements].filter(([, text]) => /\bfor (no key )?update\b/i.test(text));
    const without = locking.filter(([, text]) =>
      findSqlMutants(text).every(({ change }) => !change.startsWith('no lock')),
    );
    expect(locking.length).toBeGreaterThan(20);
    expect(without.map(([name]) => name)).toEqual([]);
  });
});

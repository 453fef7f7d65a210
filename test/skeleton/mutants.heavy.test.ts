// What `npm run mutate` changes. It checks by itself that an instrumented copy behaves as the
// original: first of all, every test file runs with the copies and without a mutant.
import { loadModule } from 'libpg-query';
import { beforeAll, describe, expect, test } from 'vitest';
import { findCodeMutants, instrument } from '../../scripts/mutate/code-mutants.ts';
import {
  readCode,
  readDeclarations,
  readStatements,
  sqlMutants,
} from '../../scripts/mutate/mutants.ts';
import { readEquivalent, stale } from '../../scripts/mutate/report.ts';
import { findSqlMutants } from '../../scripts/mutate/sql-mutants.ts';

const codeMutants = (text: string) =>
  findCodeMutants('sample.ts', text).map(
    ({ original, replacement }) => `${original} → ${replacement}`,
  );

describe('mutants of TypeScript', () => {
  test('drop each part of a condition, and force one that has no parts', () => {
    expect(codeMutants('const f = (a, b, c) => a && b && c === 2;')).toEqual([
      'a && b && c === 2 → b && c === 2',
      'a && b && c === 2 → a && c === 2',
      'a && b && c === 2 → a && b',
      '2 → 3',
      '2 → 1',
    ]);
    expect(codeMutants('function f(a, b) { if (a < b) throw a; }')).toEqual([
      'a < b → true',
      'a < b → false',
      'a < b → a <= b',
    ]);
  });

  test('leave out a call that only has an effect, and a throw that nothing guards', () => {
    expect(codeMutants('function f(a) { check(a); throw a; }')).toEqual([
      'check(a) → undefined',
      'throw a; → ',
    ]);
  });

  test('spare types, documentation and the inside of optional chains', () => {
    expect(codeMutants('type A = 1 | 2; const f = (a: 1) => a?.b.filter(c).d;')).toEqual([]);
    expect(
      codeMutants(
        "const s = z.int().meta({ examples: [1] }); const d = { description: '', trigger: 1 };",
      ),
    ).toEqual([]);
  });

  test('are all in one copy, each behind its number, and off without it', () => {
    const text = 'const f = (a: number, b: number): boolean => a > 1 && b > 1;\nreturn f;';
    const mutants = findCodeMutants('sample.ts', text);
    const copy = instrument(text, mutants, (mutant) => mutants.indexOf(mutant)).replaceAll(
      /: (number|boolean)/g,
      '',
    );
    const run = (on: number | null, ...values: [number, number]): boolean => {
      globalThis.__mutant = (mutant) => mutant === on;
      // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the copy is text
      return (new Function(copy)() as (...values: [number, number]) => boolean)(...values);
    };
    const isOff = run(null, 1, 2);
    const withoutFirst = run(
      mutants.findIndex(({ replacement }) => replacement === 'b > 1'),
      1,
      2,
    );
    globalThis.__mutant = undefined;
    expect({ isOff, withoutFirst }).toEqual({ isOff: false, withoutFirst: true });
  });
});

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
    const statements = await readStatements(declarations);
    const all = [...readCode().mutants, ...sqlMutants(declarations, statements)];
    expect(stale(all, {}, readEquivalent())).toEqual([]);
  });

  test('know statements that only read from those that write', async () => {
    const all = sqlMutants(declarations, await readStatements(declarations));
    const kindsOf = (name: string) =>
      new Set(all.filter(({ id }) => id.includes(` › ${name} › `)).map(({ kind }) => kind));
    expect(kindsOf('teams.findForUpdate')).toEqual(new Set(['read']));
    expect(kindsOf('usage.add')).toEqual(new Set(['write']));
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

// A store function that a statement has made (`Declared`) takes what the statement needs.
import ts from 'typescript';
import { beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { statement, type Db, type Tx } from '../../src/db/client.ts';
import { declaredStatements } from '../../src/db/statement.ts';
import { callsIn, firstText } from '../checks/sql/sources.ts';
import { loadStatements, readSources } from '../support/statement-sources.ts';

const MAKERS = new Set(['lists', 'finds', 'matches', 'sends']);
const LOCKS = /\bfor (?:no key )?update\b|\bfor (?:key )?share\b/i;

interface Made {
  readonly name: string;
  readonly text: string;
  /** The type of the database, and how many values follow it. */
  readonly database: string;
  readonly values: number;
}

let made: readonly Made[];
beforeAll(async () => {
  const sources = await readSources();
  await loadStatements(sources);
  const texts = new Map(declaredStatements().map(({ name, text }) => [name, text]));
  made = sources.flatMap((source) => callsIn(source).flatMap((call) => madeBy(call, texts)));
});

function madeBy(call: ts.CallExpression, texts: ReadonlyMap<string, string>): Made[] {
  const { expression: maker, typeArguments } = call;
  if (!ts.isPropertyAccessExpression(maker) || !MAKERS.has(maker.name.text)) return [];
  const declaration = maker.expression;
  if (!ts.isCallExpression(declaration) || declaration.expression.getText() !== 'statement')
    return [];
  const [first] = declaration.arguments;
  const [takes] = typeArguments ?? [];
  const name = (first && firstText(first)) ?? '';
  const text = texts.get(name);
  if (!takes || !ts.isTupleTypeNode(takes) || text === undefined)
    throw new Error(`unreadable: ${call.getText()}`);
  const [database, ...values] = takes.elements;
  const type = database && ts.isNamedTupleMember(database) ? database.type.getText() : '';
  return [{ name, text, database: type, values: values.length }];
}

describe('a store function that a statement has made', () => {
  test('takes as many values as the statement has parameters', () => {
    const failing = made.filter(({ text, values }) => {
      const numbers = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
      return Math.max(0, ...numbers) !== values;
    });
    expect(made.length).toBeGreaterThan(40);
    expect(failing.map(({ name }) => name)).toEqual([]);
  });

  test('takes a transaction if the statement locks rows', () => {
    const failing = made.filter(({ text, database }) => LOCKS.test(text) && database !== 'Tx');
    expect(failing.map(({ name }) => name)).toEqual([]);
  });

  test('does not compile without its parameters, or with a database that cannot send', () => {
    const what = statement('test.made', 'select $1');
    const finds = what.finds<[db: Db, teamId: string]>();
    const sends = what.sends<[tx: Tx, teamId: string]>();
    expectTypeOf(finds).parameters.toEqualTypeOf<[db: Db, teamId: string]>();
    expectTypeOf(sends).parameters.toEqualTypeOf<[tx: Tx, teamId: string]>();
    expectTypeOf(what.finds()).parameters.toBeNever();
    // @ts-expect-error -- only a transaction sends
    expect(what.sends<[db: Db, teamId: string]>()).toBeTypeOf('function');
  });
});

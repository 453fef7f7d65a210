// A setup file of Vitest for `npm run mutate:sql`: sends the mutated text of a statement in place
// of its own, and notes which statements a test file sends.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import pg from 'pg';
import { afterAll, expect, inject } from 'vitest';
import { declaredStatements } from '../../src/db/statement.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Statement name → text to run instead of its own. */
    mutatedStatements: Readonly<Record<string, string>>;
    /** Where each test file appends a line `Sent`. */
    sentStatements: string;
  }
}

/** The statements that a test file has sent. */
export interface Sent {
  readonly file: string;
  readonly names: readonly string[];
}

interface Wire {
  parse: (
    this: Wire,
    message: { readonly name?: string; readonly text: string },
    ...rest: unknown[]
  ) => void;
  bind: (this: Wire, message: { readonly statement?: string }, ...rest: unknown[]) => void;
}

const mutated = inject('mutatedStatements');
const names = new Map<string, string>();
const sent = new Set<string>();

/** A declared statement on the wire: alone, in a group (`#n`), or as a search without a name. */
function declaredAs(name: string | undefined, text: string | undefined): string | undefined {
  const declared = declaredStatements();
  if (names.size !== declared.length) for (const one of declared) names.set(one.text, one.name);
  const found = name ? name.replace(/#\d+$/, '') : names.get(text ?? '');
  if (found !== undefined) sent.add(found);
  return found;
}

// All of our ways to Postgres write through pg's connection.
const wire = (pg as unknown as { readonly Connection: { readonly prototype: Wire } }).Connection
  .prototype;
const { parse, bind } = wire;
wire.parse = function (this: Wire, message, ...rest) {
  const name = declaredAs(message.name, message.text);
  const text = (name !== undefined && mutated[name]) || message.text;
  parse.call(this, { ...message, text }, ...rest);
};
wire.bind = function (this: Wire, message, ...rest) {
  declaredAs(message.statement, undefined);
  bind.call(this, message, ...rest);
};

afterAll(() => {
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const line: Sent = { file, names: [...sent] };
  appendFileSync(inject('sentStatements'), `${JSON.stringify(line)}\n`);
});

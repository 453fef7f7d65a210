// A migration must not block the writers of an existing table while it builds an index.
import { loadModule, parseSync, type Node } from 'libpg-query';
import { beforeAll, expect, test } from 'vitest';
import { splitStatements } from '../../src/db/operator/migrate.ts';
import { concurrentIndexOf } from '../../src/db/operator/concurrent-index.ts';
import { readMigrations } from '../../src/db/operator/migrations.ts';

beforeAll(() => loadModule());

/** The tables that the statement gives an index, and must lock for it. */
function lockedBy(node: Node): string[] {
  if ('IndexStmt' in node) {
    const { relation, concurrent } = node.IndexStmt;
    return concurrent ? [] : [relation?.relname ?? '?'];
  }
  if ('AlterTableStmt' in node) {
    const { relation, cmds = [] } = node.AlterTableStmt;
    return cmds.some(buildsIndex) ? [relation?.relname ?? '?'] : [];
  }
  // What the block executes is a text to the parser.
  if ('DoStmt' in node) return /\bindex\b/i.test(JSON.stringify(node)) ? ['a DO block'] : [];
  return [];
}

/** ADD CONSTRAINT … USING INDEX takes one that was built before. */
function buildsIndex(cmd: Node): boolean {
  const text = JSON.stringify(cmd);
  return /CONSTR_(UNIQUE|PRIMARY|EXCLUSION)/.test(text) && !text.includes('"indexname"');
}

/** What is wrong with a new migration, as its author should read it. */
function faultsOf(sql: string): string[] {
  const statements = splitStatements(sql);
  const nodes = statements.flatMap((text) =>
    (parseSync(text).stmts ?? []).flatMap(({ stmt }) => stmt ?? []),
  );
  const created = new Set(
    nodes.flatMap((node) =>
      'CreateStmt' in node ? [node.CreateStmt.relation?.relname ?? '?'] : [],
    ),
  );
  const locked = nodes.flatMap(lockedBy).filter((table) => !created.has(table));
  const hasConcurrent = nodes.some((node) => 'IndexStmt' in node && node.IndexStmt.concurrent);
  const isAlone = concurrentIndexOf(statements) !== null;
  return [
    ...locked.map((table) => `${table}: build the index with CREATE INDEX CONCURRENTLY`),
    ...(hasConcurrent && !isAlone
      ? ['CREATE INDEX CONCURRENTLY "name" is to be alone in its file']
      : []),
  ];
}

test('no migration builds an index while it locks a table that it has not created', async () => {
  const faults = (await readMigrations()).flatMap(({ name, sql }) =>
    faultsOf(sql).map((fault) => `${name}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

const LOCKS = ['event: build the index with CREATE INDEX CONCURRENTLY'];
const NOT_ALONE = ['CREATE INDEX CONCURRENTLY "name" is to be alone in its file'];

test.each([
  ['CREATE INDEX "i" ON "event" ("id");', LOCKS],
  ['ALTER TABLE "event" ADD CONSTRAINT "k" UNIQUE ("id");', LOCKS],
  ['ALTER TABLE "event" ADD COLUMN "k" text UNIQUE;', LOCKS],
  [
    `DO $$ BEGIN CREATE INDEX "i" ON "event" ("id"); END $$;`,
    [LOCKS[0]?.replace('event', 'a DO block')],
  ],
  ['CREATE INDEX CONCURRENTLY "i" ON "event" ("id"); SELECT 1;', NOT_ALONE],
  ['CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "event" ("id");', NOT_ALONE],
  ['-- Why.\nCREATE INDEX CONCURRENTLY "i" ON "event" ("id");', []],
  ['CREATE TABLE "new" ("id" text PRIMARY KEY); CREATE INDEX "i" ON "new" ("id");', []],
  ['ALTER TABLE "event" ADD CONSTRAINT "k" UNIQUE USING INDEX "i";', []],
  ['ALTER TABLE "event" ADD COLUMN "k" text;', []],
])('%s', (sql, faults) => {
  expect(faultsOf(sql)).toEqual(faults);
});

// A released migration never changes, and a new one must not keep the writers of a large table
// waiting while it builds an index.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { loadModule, parseSync, type Node } from 'libpg-query';
import { beforeAll, expect, test } from 'vitest';
import { splitStatements } from '../../src/db/operator/migrate.ts';
import { concurrentIndexOf } from '../../src/db/operator/concurrent-index.ts';
import { readMigrations } from '../../src/db/operator/migrations.ts';

const LAST_OF_100 = '20261120000700_check_form_of_crm_provider';
/** Those of before are frozen; `scripts/deploy/README.md` says what they lock. */
const LAST_OF_BEFORE = '20261128000301_keep_unconfirmed_secrets';

beforeAll(() => loadModule());

// `migrate` refuses a database in which it applied another text.
test('the migrations of 1.0.0 are those that were released', async () => {
  const released = (await readMigrations()).filter(({ name }) => name <= LAST_OF_100);
  const texts = released.map(({ name, sql }) => `${name}\n${sql}`).join('\n');
  expect(hash('sha256', texts)).toBe(
    '0ee9f8c4710a91c4e75dd4ea29e6e6185b018265c92ac1d5ab2430bbff5cf077',
  );
});

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

test('no new migration builds an index while it locks a table of before', async () => {
  const migrations = await readMigrations();
  expect(migrations.map(({ name }) => name)).toContain(LAST_OF_BEFORE);
  const faults = migrations
    .filter(({ name }) => name > LAST_OF_BEFORE)
    .flatMap(({ name, sql }) => faultsOf(sql).map((fault) => `${name}: ${fault}`));
  expect(faults).toEqual([]);
});

/** Of these tables nobody has many rows. */
const SMALL = new Set([
  'announcement_mail',
  'api_key',
  'invitation_resend',
  'key_directory',
  'team',
  'training_case',
  'webhook_endpoint',
  'webhook_resend',
]);

test('the runbook names each frozen migration that makes others wait for an index', async () => {
  const runbook = await readFile(
    new URL('../../scripts/deploy/README.md', import.meta.url),
    'utf8',
  );
  const table = runbook.split('**Migrations that make others wait**')[1]?.split('\n- **')[0] ?? '';
  const told = [...table.matchAll(/^ {2}\| `(\w+)`/gm)].map(([, name]) => name);
  const waits = (await readMigrations()).filter(
    ({ name, sql }) =>
      name > LAST_OF_100 &&
      name <= LAST_OF_BEFORE &&
      faultsOf(sql).some((fault) => !SMALL.has(fault.split(':')[0] ?? '')),
  );
  expect(waits.length).toBeGreaterThan(8);
  expect(told).toEqual(expect.arrayContaining(waits.map(({ name }) => name.slice(15))));
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

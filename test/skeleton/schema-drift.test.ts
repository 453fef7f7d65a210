// The migrations make the database, and schema.prisma describes it to Prisma. Prisma's own engine
// (WebAssembly, development only) compares the two: it reads the migrated database and returns the
// changes that would make it match the model.
import { readFile } from 'node:fs/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { engine } from '../support/prisma-engine.ts';

const NO_CHANGE = '-- This is an empty migration.\n';

let schema: string;
let database: TestDatabase;

beforeAll(async () => {
  schema = await readFile(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
  database = await createTestDatabase();
  // The model does not describe the ledger of migrations or graphile-worker's schema.
  await run('DROP TABLE IF EXISTS _prisma_migrations');
});

afterAll(() => database.drop());

describe('schema.prisma', () => {
  it('describes exactly the database that the migrations make', async () => {
    expect(await diff(schema)).toBe(NO_CHANGE);
  });

  it.each([
    {
      what: 'a column',
      from: /^ +icon +String\?$/m,
      to: '',
      says: 'ALTER TABLE "catalog_entry" DROP COLUMN "icon"',
    },
    {
      what: 'the rows of a partial index',
      from: /\(fanned_out_at IS NULL\)/,
      to: '(fanned_out_at IS NOT NULL)',
      says: 'DROP INDEX "event_waiting_idx"',
    },
    {
      what: 'the order of an index',
      from: 'createdAt(sort: Desc), id(sort: Desc)',
      to: 'createdAt, id(sort: Desc)',
      says: 'DROP INDEX "member_list_idx"',
    },
    {
      what: "a foreign key's action",
      from: /onDelete: Cascade/,
      to: 'onDelete: NoAction',
      says: 'DROP CONSTRAINT "catalog_release_entry_id_fkey"',
    },
    {
      what: 'a default',
      from: '@default("de")',
      to: '',
      says: 'ALTER COLUMN "language" DROP DEFAULT',
    },
    { what: "a column's type", from: '@db.Inet', to: '', says: 'ALTER COLUMN "allowed_ips"' },
  ])('is found to differ when $what differs in it alone', async ({ from, to, says }) => {
    const changed = schema.replace(from, to);
    expect(changed).not.toBe(schema);
    expect(await diff(changed)).toContain(says);
  });

  it('is found to differ when a column is added to the database alone', async () => {
    const copy = await createTestDatabase();
    try {
      await run(
        'DROP TABLE IF EXISTS _prisma_migrations; ALTER TABLE team ADD COLUMN nickname text',
        copy.url,
      );
      expect(await diff(schema, copy.url)).toContain('ALTER TABLE "team" DROP COLUMN "nickname"');
    } finally {
      await copy.drop();
    }
  });

  it('is found to differ when a column is added to the model alone', async () => {
    const changed = schema.replace('model Team {', 'model Team {\n  nickname String?');
    expect(await diff(changed)).toContain('ALTER TABLE "team" ADD COLUMN     "nickname" TEXT');
  });
});

/** Returns the SQL that would make the database match the model. */
async function diff(model: string, url = database.url): Promise<string> {
  const files = [{ path: 'schema.prisma', content: model }];
  const adapter = bindMigrationAwareSqlAdapterFactory(readingChars(new PrismaPg(url)));
  const schemaEngine = await engine.SchemaEngine.new(
    { datamodels: [['schema.prisma', model]] },
    () => undefined,
    adapter,
  );
  try {
    const { stdout } = await schemaEngine.diff({
      from: { tag: 'schemaDatasource', files, configDir: '/' },
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    });
    return stdout ?? '';
  } finally {
    schemaEngine.free();
  }
}

type Factory = Parameters<typeof bindMigrationAwareSqlAdapterFactory>[0];
type Adapter = Awaited<ReturnType<Factory['connect']>>;
type Query = Parameters<Adapter['queryRaw']>[0];
type SqlResultSet = Awaited<ReturnType<Adapter['queryRaw']>>;
interface PgResult {
  fields: { dataTypeID: number }[];
}

/**
 * The engine reads catalog columns of the type "char", for which PrismaPg throws. This adapter
 * returns them as the type that the engine expects.
 */
function readingChars(factory: Factory): Factory {
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const adapter = await connect();
    // PrismaPg's own method. It queries through `this.performIO`, so that can be replaced.
    const { queryRaw: plain } = adapter as unknown as {
      queryRaw: (this: object, query: Query) => Promise<SqlResultSet>;
    };
    adapter.queryRaw = async (query) => {
      const chars: number[] = [];
      const performIO = async (given: Query): Promise<PgResult> => {
        const inner = adapter as unknown as { performIO(query: Query): Promise<PgResult> };
        const result = await inner.performIO(given);
        result.fields.forEach((field, index) => {
          if (field.dataTypeID !== pg.types.builtins.CHAR) return;
          field.dataTypeID = pg.types.builtins.TEXT;
          chars.push(index);
        });
        return result;
      };
      const result = await plain.call(
        Object.create(adapter, { performIO: { value: performIO } }) as object,
        query,
      );
      for (const index of chars) result.columnTypes[index] = ColumnTypeEnum.Character;
      return result;
    };
    return adapter;
  };
  return factory;
}

async function run(sql: string, url = database.url): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { namesOfStatements, otherWays, parseSource } from '../checks/sql/sources.ts';

const parse = (text: string) => parseSource('a.ts', text);

describe('SQL that is not declared', () => {
  it.each([
    `await client.query(TEXT);`,
    `await db.query('select 1');`,
    `await db.queryFirst('select 1' as never, []);`,
    'await tx.query(`select ${1}`);',
    `await db.query({ name: 'a', text: 'select 1' }, []);`,
    `await db.query(toStatement('select 1'), []);`,
    `await db.pool.query(TEXT);`,
    `import type { Pool } from 'pg';\nexport const a = (db: Pool) => db.query(TEXT);`,
  ])('is found: %s', (text) => {
    expect(otherWays(parse(text))).toHaveLength(1);
  });

  it.each([
    `await db.query(LIST, [teamId]);`,
    `await context.tx.query(LISTS[kind], [teamId]);`,
    `export const a = procedure({}).query(async () => list());`,
  ])('is not found in: %s', (text) => {
    expect(otherWays(parse(text))).toEqual([]);
  });
});

describe('the name of a statement', () => {
  it('is read as far as it is written out', () => {
    const text =
      "statement('a.b', 'select 1'); statement(`c.${d}`, ''); " +
      "statement(['e.f', ...g].join('.'), '');";
    expect(namesOfStatements(parse(text))).toEqual(['a.b', 'c.', 'e.f']);
  });

  it('must begin with text', () => {
    expect(() => namesOfStatements(parse('statement(name, text);'))).toThrow('begins with a value');
  });
});

describe('an advisory lock', () => {
  const root = join(import.meta.dirname, '../..');
  const TAKES = /pg_(?:try_)?advisory_(?:xact_)?lock\(|\bholdSessionLock\(/;

  /** Paths of the files below `folder` that end with `ending` and take a lock. */
  const takers = async (folder: string, ending: string): Promise<[string, string][]> => {
    const names = await readdir(join(root, folder), { recursive: true });
    const paths = names.filter((name) => name.endsWith(ending)).map((name) => `${folder}/${name}`);
    const texts = await Promise.all(
      paths.map(async (path): Promise<[string, string]> => [
        path,
        await readFile(join(root, path), 'utf8'),
      ]),
    );
    return texts.filter(([, text]) => TAKES.test(text));
  };

  it('is in the table that says at which node it is held', async () => {
    const sources = [...(await takers('src', '.ts')), ...(await takers('scripts', '.ts'))]
      .map(([path]) => path)
      .filter((path) => path !== 'src/db/connections/session-lock.ts');
    const functions = (await takers('prisma', '.sql')).flatMap(([, sql]) =>
      sql
        .split(/^CREATE (?:OR REPLACE )?FUNCTION "/m)
        .filter((text) => TAKES.test(text))
        .map((text) => text.split('"')[0] ?? ''),
    );
    const jobs = await readFile(join(root, 'src/db/jobs/README.md'), 'utf8');
    const section = jobs.split('## Advisory locks')[1]?.split('##')[0] ?? '';
    const rows = section.matchAll(/^\| [^|]+ \| `([^`]+)` +\|/gm);
    const listed = [...rows].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual([...new Set([...sources, ...functions])].toSorted());
  });
});

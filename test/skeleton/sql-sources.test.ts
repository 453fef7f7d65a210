import { describe, expect, it } from 'vitest';
import {
  namesOfStatements,
  otherWays,
  parseSource,
  unboundPrismaCalls,
} from '../checks/sql/sources.ts';

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

describe('a call of Prisma without the team', () => {
  it.each([
    'db.prisma.member.findMany();',
    'db.prisma.member.findMany({ where: { id } });',
    'db.prisma.member.findMany({ where: { teamId: undefined } });',
    'db.prisma.member.findMany({ where: { teamId: { not: teamId } } });',
    'db.prisma.member.findMany({ where: { OR: [{ teamId }, { id }] } });',
    'db.prisma.member.updateMany({ where: { id }, data: { teamId } });',
    'db.prisma.member.findMany({ where: condition });',
    'db.prisma.member.findMany({ where: byId(teamId) }); const byId = (id: string) => ({ id });',
    'db.prisma.member.create({ data: { id } });',
    'const { prisma } = db;',
    'const members = db.prisma.member;',
    'await db.prisma.$queryRaw`select 1`;',
  ])('is found: %s', (text) => {
    expect(unboundPrismaCalls(parse(text))).toHaveLength(1);
  });

  it.each([
    'db.prisma.member.findMany({ where: { teamId, id } });',
    'db.prisma.member.create({ data: { teamId, id } });',
    'db.prisma.member.count({ where: byId(teamId, id) }); ' +
      'const byId = (teamId: string, id: string) => ({ teamId, id });',
  ])('is not found in: %s', (text) => {
    expect(unboundPrismaCalls(parse(text))).toEqual([]);
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

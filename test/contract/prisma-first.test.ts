// Prisma's client is the first choice. A statement that it could say tells why it is SQL; what it
// cannot say tells that by itself. A statement also says which workers it leaves something to do.
import { beforeAll, describe, expect, test } from 'vitest';
import { beyondPrisma } from '../checks/sql/beyond-prisma.ts';
import { loadParser } from '../checks/tenancy.ts';
import { loadStatements, readSources } from '../support/statement-sources.ts';
import { serviceStatements } from '../support/statements.ts';

beforeAll(async () => {
  await loadParser();
  await loadStatements(await readSources());
});

describe('a declared statement', () => {
  test('says why it is SQL, if Prisma could say it', () => {
    const silent = serviceStatements().filter(
      ({ text, because }) => because === null && beyondPrisma(text) === null,
    );
    expect(silent.map(({ name }) => name).join(' ')).toBe('');
  });

  test('says nothing, if its text does', () => {
    const needless = serviceStatements().filter(
      ({ text, because }) => because !== null && beyondPrisma(text) !== null,
    );
    expect(needless.map(({ name }) => name).join(' ')).toBe('');
  });

  test('has one of these reasons', () => {
    const counts = new Map<string, number>();
    for (const { text, because } of serviceStatements()) {
      const reason = because ?? beyondPrisma(text) ?? 'none';
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    console.log([...counts].map(([reason, count]) => `${reason}: ${count}`).join(', '));
    expect(counts.has('none')).toBe(false);
  });
});

/** SQL that leaves something to do at once, and for whom. */
const LEAVES = [
  [/\burgent = true\b|into webhook_delivery \([^)]*\burgent\b/, 'deliveries'],
  [/into event \((?![^)]*\bfanned_out_at\b)/, 'events'],
  [/into pending_job\b/, 'jobs'],
] as const;

test('a declared statement says whom it wakes, and only if it leaves something to do', () => {
  const found = serviceStatements().map(({ name, text, wakes }) => {
    const leaves = LEAVES.find(([sql]) => sql.test(text.replaceAll(/\s+/g, ' ')))?.[1] ?? null;
    return { name, wakes, leaves };
  });
  expect(found.filter(({ wakes, leaves }) => wakes !== leaves)).toEqual([]);
  for (const [, kind] of LEAVES) expect(found.map(({ wakes }) => wakes)).toContain(kind);
});

describe('Prisma cannot say', () => {
  test.each([
    ['select id from member where team_id = $1 for update', 'lock'],
    ['select id from member where (created_at, id) < ($1, $2)', 'page after a position'],
    ['select m.id from member m join team t on t.id = m.team_id', 'several tables'],
    ['with a as (delete from event) select id from member', 'several tables'],
    ['update member set seats = seats + 1', 'expression'],
    ['select lower(email) as email from member', 'expression'],
    ['insert into member (id) select unnest($1::text[])', 'expression'],
    ['insert into member (id) values ($1) on conflict do nothing', 'upsert'],
    ['truncate member', 'utility'],
    ['select id from graphile_worker.jobs', 'other tables'],
  ])('%s', (text, reason) => {
    expect(beyondPrisma(text)).toBe(reason);
  });

  test.each([
    'select id, email from member where team_id = $1 and status <> $2 order by id limit 5',
    'select count(*) from member where team_id = $1 and id = any ($2)',
    'select count(*)::int as count from member where team_id = $1',
    'insert into member (team_id, id) values ($1, $2)',
    "update member set status = 'ended' where team_id = $1 returning id",
    'delete from member where team_id = $1 and id in ($2, $3)',
  ])('but it can say %s', (text) => {
    expect(beyondPrisma(text)).toBeNull();
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { checkTenancy, keepsToOneTeam, loadParser, readFunctionBody } from '../checks/tenancy.ts';

const TABLES = new Map([
  ['team', ['id', 'name', 'plan']],
  ['member', ['team_id', 'id', 'user_id', 'email']],
  ['training', ['team_id', 'id', 'user_id', 'status']],
  ['evaluation', ['team_id', 'training_id', 'total']],
  ['catalog_entry', ['id', 'kind']],
]);

beforeAll(loadParser);

/** Returns the references of the statement that are not bound to a team. */
const check = (sql: string): readonly string[] => checkTenancy(sql, TABLES).unbound;

describe('the check of tenancy refuses', () => {
  it.each([
    ['no condition', 'select id from member', ['member']],
    ['another condition', 'select id from member where id = $1', ['member']],
    ['a literal', `select id from member where team_id = 'team_1'`, ['member']],
    ['another comparison', 'select id from member where team_id <> $1', ['member']],
    ['a greater row', 'select id from member where (team_id, id) > ($1, $2)', ['member']],
    ['a list of teams', 'select id from member where team_id = any ($1)', ['member']],
    [
      'a shorter type',
      'select id from member where team_id::varchar(4) = $1::varchar(4)',
      ['member'],
    ],
    ['a column of itself', 'select id from member where team_id = team_id', ['member']],
    [
      'a column of itself by name',
      'select id from member m where m.team_id = m.team_id',
      ['member m'],
    ],
    ['a condition under OR', 'select id from member where team_id = $1 or id = $2', ['member']],
    ['a condition under NOT', 'select id from member where not (team_id = $1)', ['member']],
    ['a condition that may be off', 'select id from member where $2 or team_id = $1', ['member']],
    [
      'a condition in CASE',
      'select id from member where case when $2 then team_id = $1 else true end',
      ['member'],
    ],
    ['a team by another column', 'select name from team where name = $1', ['team']],
    [
      'a join without the team',
      'select 1 from member m join training t on t.user_id = m.user_id where m.team_id = $1',
      ['training t'],
    ],
    ['a list of tables', 'select 1 from member m, training t where m.team_id = $1', ['training t']],
    [
      'a join on the team alone, with nothing bound',
      'select 1 from member m join training t using (team_id, user_id)',
      ['member m', 'training t'],
    ],
    [
      'a join by another column',
      'select 1 from member m join training t on t.team_id = m.id where m.team_id = $1',
      ['training t'],
    ],
    [
      'a sub-select in the select list',
      'select (select count(*) from training t where t.user_id = m.user_id) from member m ' +
        'where m.team_id = $1',
      ['training t'],
    ],
    [
      'a sub-select in ORDER BY',
      'select id from member where team_id = $1 order by (select max(id) from training)',
      ['training'],
    ],
    [
      'a sub-select in LIMIT',
      'select id from member where team_id = $1 limit (select count(*) from team)',
      ['team'],
    ],
    [
      'a correlated exists',
      'select id from member m ' +
        'where team_id = $1 and exists (select from training t where t.user_id = m.user_id)',
      ['training t'],
    ],
    [
      'a condition of a sub-select on the table around it',
      'select id from member m ' +
        'where exists (select from training t where t.team_id = $1 and m.team_id = t.team_id)',
      ['member m'],
    ],
    [
      'a name that means the inner table',
      'select id from member ' +
        'where team_id = $1 and exists (select from training where team_id = team_id)',
      ['training'],
    ],
    [
      'a set that is not of the team',
      'select id from member where team_id in (select team_id from training)',
      ['member', 'training'],
    ],
    [
      'a set that holds no team',
      'select id from member where team_id in (select id from training where team_id = $1)',
      ['member'],
    ],
    [
      'NOT IN',
      'select id from member ' +
        'where team_id not in (select team_id from training where team_id = $1)',
      ['member'],
    ],
    ['a CTE', 'with old as (select id from training) select id from old', ['training']],
    [
      'a condition on the result of a CTE',
      'with old as (select team_id, id from training limit 5) ' +
        'select id from old where team_id = $1',
      ['training'],
    ],
    [
      'a join with a CTE by another column',
      'with mine as (select id, user_id from member where team_id = $1) ' +
        'select 1 from mine join training t on t.team_id = mine.id',
      ['training t'],
    ],
    [
      'one half of a union',
      'with pair as (select team_id from member where team_id = $1 ' +
        'union all select team_id from training) ' +
        'select 1 from evaluation e join pair b on b.team_id = e.team_id',
      ['training', 'evaluation e'],
    ],
    [
      'a recursion that leaves the team',
      `with recursive walk as (select team_id, id from member where team_id = $1
         union all select t.team_id, t.id from walk w join training t on t.id = w.id)
       select 1 from walk`,
      ['training t'],
    ],
    [
      'a recursion whose later rows are of any team',
      `with recursive walk (team_id) as (select team_id from member where team_id = $1
         union all select w.team_id || 'x' from walk w)
       select 1 from walk w join training t on t.team_id = w.team_id`,
      ['training t'],
    ],
    [
      'an outer join that is bound on the wrong side',
      'select 1 from member m left join training t on t.team_id = m.team_id and t.team_id = $1',
      ['member m'],
    ],
    [
      'an outer join whose condition is about the side that it keeps',
      'select 1 from member m left join training t on m.team_id = $1 and t.team_id = $1',
      ['member m'],
    ],
    [
      'a right join that is bound on the wrong side',
      'select 1 from member m right join training t on m.team_id = $1',
      ['training t'],
    ],
    [
      'a full join',
      'select 1 from member m full join training t on t.team_id = $1 and m.team_id = $1',
      ['member m', 'training t'],
    ],
    [
      'a lateral join',
      'select 1 from member m ' +
        'cross join lateral (select id from training where user_id = m.user_id) t ' +
        'where m.team_id = $1',
      ['training'],
    ],
    ['an update', 'update member set email = $2 where id = $1', ['member']],
    [
      'an update that moves a row',
      'update member set team_id = $2 || id where team_id = $1',
      ['member (set)'],
    ],
    [
      'an update from another table',
      'update member m set email = t.id from training t where m.team_id = $1',
      ['training t'],
    ],
    [
      'a sub-select of an update',
      'update member set email = (select max(id) from training) where team_id = $1',
      ['training'],
    ],
    ['a delete', 'delete from member', ['member']],
    [
      'a delete using another table',
      'delete from member m using training t where t.team_id = $1',
      ['member m'],
    ],
    [
      'what a write returns',
      'delete from member where team_id = $1 returning (select max(id) from training)',
      ['training'],
    ],
    ['an insert without the team', 'insert into member (id, email) values ($1, $2)', ['member']],
    [
      'an insert of another value',
      `insert into member (team_id, id) values ('team_1', $1)`,
      ['member'],
    ],
    [
      'one row of an insert',
      `insert into member (team_id, id) values ($1, $2), ('team_1', $3)`,
      ['member'],
    ],
    [
      'an insert of rows of any team',
      'insert into member (team_id, id) select team_id, id from training',
      ['member', 'training'],
    ],
    [
      'an insert of other columns',
      'insert into member (team_id, id) select id, team_id from training where team_id = $1',
      ['member'],
    ],
    [
      "a conflict over somebody else's row",
      'insert into member (team_id, id) values ($1, $2) ' +
        'on conflict (id) do update set email = excluded.email',
      ['member (on conflict)'],
    ],
    [
      'a merge',
      'merge into member m using training t on m.id = t.id when matched then delete',
      ['member m', 'training t'],
    ],
    [
      'a merge that changes what has no match',
      `merge into member m
       using (select * from training where team_id = $1) t on m.team_id = t.team_id
       when not matched by source then delete`,
      ['member m'],
    ],
    [
      'a merge that inserts for any team',
      `merge into member m
       using (select * from training where team_id = $1) t on m.team_id = t.team_id
       when not matched then insert (team_id, id) values (t.id, t.id)`,
      ['member (insert)'],
    ],
  ])('%s: %s', (_what, sql, unbound) => {
    expect(check(sql)).toEqual(unbound);
  });

  it('two parameters for the team', () => {
    const sql = 'select 1 from member m join training t on t.team_id = $2 where m.team_id = $1';
    expect(checkTenancy(sql, TABLES)).toMatchObject({ unbound: [], parameters: ['$1', '$2'] });
    expect(keepsToOneTeam(checkTenancy(sql, TABLES))).toBe(false);
  });

  it.each([
    ['a table that it does not know', 'select 1 from deal', 'there is no table deal'],
    ['a kind of statement that it does not know', 'vacuum member', 'VacuumStmt'],
    ['code that it does not see', `do $$ begin delete from member; end $$`, 'DoStmt'],
    ['a natural join', 'select 1 from member natural join training where team_id = $1', 'NATURAL'],
    [
      'an order that it does not read',
      'select id from team union select id from team order by (select 1 from member)',
      'member',
    ],
    [
      '* of columns that USING merges',
      'select 1 from (select * from member join training using (team_id)) m',
      'USING',
    ],
    [
      'a sample',
      'select 1 from member tablesample system (1) where team_id = $1',
      'RangeTableSample',
    ],
  ])('what it cannot read: %s', (_what, sql, message) => {
    expect(() => check(sql)).toThrow(message);
  });
});

describe('the check of tenancy accepts', () => {
  it.each([
    'select id from member where team_id = $1',
    'select id from member where $1::text = team_id and (id = $2 or id = $3)',
    'select id from member where (team_id, id) = ($1, $2)',
    'select name from team where id = $1',
    'select kind from catalog_entry',
    'select 1 from team t join member m on m.team_id = t.id where t.id = $1',
    'select 1 from team t, member m where m.team_id = t.id and m.team_id = $1',
    'select 1 from member m join training t using (team_id, user_id) where m.team_id = $1',
    'select 1 from member m ' +
      'join training t on (t.team_id, t.user_id) = (m.team_id, m.user_id) where t.team_id = $1',
    'select 1 from member m ' +
      'join (training t join evaluation e on e.team_id = t.team_id) on t.team_id = m.team_id ' +
      'where m.team_id = $1',
    'select 1 from member m left join training t on t.team_id = m.team_id where m.team_id = $1',
    'select 1 from training t right join member m on t.team_id = m.team_id where m.team_id = $1',
    'select 1 from member m left join training t on t.team_id = m.team_id ' +
      'left join evaluation e on e.team_id = t.team_id where m.team_id = $1',
    'select (select count(*) from training t where t.team_id = m.team_id) from member m ' +
      'where m.team_id = $1',
    'select id from member where team_id = (select id from team where id = $1)',
    'select id from member where team_id in (select id from team where id = $1)',
    'select id from member ' +
      'where (team_id, id) in (select team_id, id from training where team_id = $1)',
    'select id from member ' +
      'where team_id = any (array(select team_id from training where team_id = $1))',
    'select id from member ' +
      'where not exists (select from training t where t.team_id = $1) and team_id = $1',
    'select 1 from member m ' +
      'cross join lateral (select id from training where team_id = m.team_id) t ' +
      'where m.team_id = $1',
    'select 1 from (select team_id as whose, id from member where team_id = $1) m ' +
      'join training t on t.team_id = m.whose',
    'select 1 from (select * from member where team_id = $1) m (whose) ' +
      'join training t on t.team_id = m.whose',
    'with mine as (select * from member where team_id = $1) ' +
      'select 1 from mine join training t on t.team_id = mine.team_id',
    'with given (whose) as (values ($1), ($1)) ' +
      'select 1 from given join member m on m.team_id = whose',
    'with gone as (delete from member where team_id = $1 returning team_id) ' +
      'select 1 from gone join training t using (team_id)',
    'with pair as (select team_id from member where team_id = $1 ' +
      'union select id from team where id = $1) ' +
      'select 1 from evaluation e join pair b on b.team_id = e.team_id',
    `with recursive walk as (select team_id, id from member where team_id = $1
         union all select t.team_id, t.id from walk w join training t on t.team_id = w.team_id)
       select 1 from walk`,
    'select id from member where team_id = $1 union all select id from training where team_id = $1',
    'update member set email = $3 where team_id = $1 and id = $2',
    'update member m set email = t.id from training t ' +
      'where m.team_id = $1 and t.team_id = m.team_id',
    'delete from member m using training t where m.team_id = t.team_id and t.team_id = $1',
    'insert into member (id, team_id) values ($2, $1)',
    'insert into member values ($1, $2), ($1, $3)',
    'insert into member (team_id, id) select $1, id from catalog_entry',
    'insert into member (team_id, id) select team_id, id from training where team_id = $1',
    'with t as (select team_id, id from training where team_id = $1) ' +
      'insert into member (team_id, id) select team_id, id from t',
    'insert into member as m (team_id, id) values ($1, $2) ' +
      'on conflict (team_id, id) do update set email = excluded.email where m.email is null',
    'insert into member (team_id, id) values ($1, $2) on conflict do nothing',
    `merge into member m
     using (select * from training where team_id = $1) t on m.team_id = t.team_id and m.id = t.id
     when matched then delete
     when not matched then insert (team_id, id) values (t.team_id, t.id)`,
    'set local synchronous_commit = off',
  ])('%s', (sql) => {
    expect(checkTenancy(sql, TABLES)).toMatchObject({ unbound: [] });
    expect(keepsToOneTeam(checkTenancy(sql, TABLES))).toBe(true);
  });
});

describe('over all teams', () => {
  const groups = (sql: string): readonly (readonly string[])[] => checkTenancy(sql, TABLES).groups;

  it.each([
    'select 1 from member m left join training t on t.team_id = m.team_id',
    'select 1 from unnest($1::text[]) as n (whose) join member m on m.team_id = n.whose ' +
      'join training t on t.team_id = n.whose',
    'with old as (select team_id, id from member limit 5) ' +
      'delete from member where (team_id, id) in (select team_id, id from old)',
    'update member m set email = null from unnest($1::text[]) as n (team_id) ' +
      'where m.team_id = n.team_id',
    'update member set email = null where ctid = any (array(select ctid from member limit 5))',
  ])('tables that have the team in common are one group: %s', (sql) => {
    expect(groups(sql)).toHaveLength(1);
  });

  it.each([
    'select 1 from member m join training t on t.user_id = m.user_id',
    'select 1 from member m join training t on t.team_id = m.team_id or $1',
    'with old as (select team_id, id from member limit 5) ' +
      'delete from member where id in (select id from old)',
    'insert into member (team_id, id) select n.whose, t.id ' +
      'from unnest($1::text[]) as n (whose) join training t on t.id = n.whose',
    'update member m set email = null from unnest($1::text[], $2::text[]) as n (team_id, id) ' +
      'where m.id = n.id',
  ])('and others are not: %s', (sql) => {
    expect(groups(sql)).toHaveLength(2);
  });
});

describe('of a function', () => {
  const define = (body: string): string =>
    `create function f(p_team_id text, out whose text) language plpgsql as $$
     declare other text;
     begin ${body} end $$`;
  const unbound = (body: string): readonly string[] => {
    const { queries, parameters } = readFunctionBody(define(body));
    return queries.flatMap((query) => checkTenancy(query, TABLES, parameters).unbound);
  };

  it.each([
    'select m.id into whose from member m where m.team_id = other;',
    'perform from member m where m.team_id = whose;',
    'for other in select id from member loop null; end loop;',
    'if exists (select from member) then null; end if;',
    'other := (select id from member limit 1);',
  ])('every query is read: %s', (body) => {
    expect(unbound(body)).toHaveLength(1);
  });

  it('a parameter that the caller gives binds', () => {
    expect(
      unbound('perform from member m where m.team_id = p_team_id; other := p_team_id;'),
    ).toEqual([]);
  });

  it.each([
    `execute 'delete from member';`,
    `for other in execute 'select id from member' loop null; end loop;`,
  ])('SQL that is made at run time is refused: %s', (body) => {
    expect(() => unbound(body)).toThrow('at run time');
  });
});

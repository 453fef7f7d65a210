import { describe, expect, it } from 'vitest';
import { toShardText } from '../../src/db/citus/shard-text.ts';

/** The text for a shard in one line, with `⟨alias $n⟩` for each condition. */
const derive = (text: string): string | undefined =>
  toShardText(text)
    ?.text.replaceAll(/(\w+)\.team_id collate "C" = any \((\$\d+)::text\[\]\)/g, '⟨$1 $2⟩')
    .replaceAll(/\s+/g, ' ')
    .trim();

describe('the text for a shard', () => {
  it.each([
    ['select id from event where id = $1', 'select id from event where ⟨event $2⟩ and id = $1'],
    ['select 1 from event e order by e.id', 'select 1 from event e where ⟨e $1⟩ order by e.id'],
    ['delete from event as e', 'delete from event as e where ⟨e $1⟩'],
    [
      'update event e set x = $1 from member m where m.id = e.id',
      'update event e set x = $1 from member m where ⟨e $2⟩ and ⟨m $2⟩ and m.id = e.id',
    ],
    [
      'select 1 from event where a union all select 2 from member',
      'select 1 from event where ⟨event $1⟩ and a union all select 2 from member where ⟨member $1⟩',
    ],
    [
      'select 1 from event e where x is distinct from member and case when a or b then c end',
      `select 1 from event e where ⟨e $1⟩ and x is distinct from member
         and case when a or b then c end`,
    ],
    [
      `select extract(epoch from event) from event e where note = ' where (' and id = $1`,
      `select extract(epoch from event) from event e where ⟨e $2⟩
         and note = ' where (' and id = $1`,
    ],
    [
      `insert into event (id) select id from member m
         on conflict (id) do update set x = 1 where b or c`,
      `insert into event (id) select id from member m where ⟨m $1⟩
         on conflict (id) do update set x = 1 where b or c`,
    ],
    [
      `select 1 from webhook_delivery d
         cross join lateral (select from event where id = d.id limit 1) e where (a or b)`,
      `select 1 from webhook_delivery d
         cross join lateral (select from event where ⟨event $1⟩ and id = d.id limit 1) e
         where ⟨d $1⟩ and (a or b)`,
    ],
  ])('limits each table of teams: %s', (text, expected) => {
    expect(derive(text)).toBe(expected.replaceAll(/\s+/g, ' '));
  });

  it('takes the teams of the rows that the statement is given', () => {
    const text = `update event e set x = n.x
      from unnest($2::text[], $3::text[]) as n (team_id, x) where e.team_id = n.team_id and a = $1`;
    expect(toShardText(text)?.columns).toEqual([2, 3]);
    expect(derive(text)).toContain('where ⟨e $2⟩ and e.team_id = n.team_id');
  });

  it.each([
    'select id from event where team_id = $1 and id = $2',
    'update event e set x = 1 where e.id = $2 and e.team_id = $1',
    'insert into event (id) values ($1)',
    'select id from team where id = $1',
    'set local synchronous_commit = off',
  ])('is the plain one where the team is known, or no table of teams is read: %s', (text) => {
    expect(toShardText(text)).toBeNull();
  });

  it.each([
    'select id from event where a or b',
    'select 1 from given left join event on event.id = given.id',
  ])('is not guessed: %s', (text) => {
    expect(() => toShardText(text)).toThrow(
      /put the alternatives in parentheses|in a lateral sub-select/,
    );
  });
});

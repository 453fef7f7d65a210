// The request log and the audit log: what is asked for, and where an entry leads.
import { describe, expect, test } from 'vitest';
import { REQUEST_STATUSES } from '../../../src/admin-ui/lib/search.ts';
import {
  factsOf,
  isInRequestLog,
  keyIdsIn,
  memberIdsIn,
  placeOfTarget,
} from '../../../src/admin-ui/pages/audit-entries.ts';
import {
  filtersOf,
  idTyped,
  keyIdsFor,
  routesOf,
  statusesFor,
} from '../../../src/admin-ui/pages/request-filters.ts';
import { ACTOR_KINDS } from '../../../src/core/actor.ts';

const ALWAYS = { since: undefined, until: undefined };
const NOTHING = {
  key_id: undefined,
  route: undefined,
  error_code: undefined,
  request_id: undefined,
  ...ALWAYS,
};

describe('the filters of the request log', () => {
  test('are said to the service by its names', () => {
    const search = { key: 'key_1', path: '/users', code: 'gone', id: 'r1' };
    const times = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z' };
    expect(filtersOf({ ...search, past: '1h', since: 'other' }, times)).toEqual({
      key_id: 'key_1',
      route: '/users',
      error_code: 'gone',
      request_id: 'r1',
      status_class: undefined,
      ...times,
    });
  });

  test('have one status or a class of them', () => {
    for (const status of REQUEST_STATUSES)
      expect(filtersOf({ status }, ALWAYS)).toStrictEqual({ ...NOTHING, status_class: status });
    expect(filtersOf({ status: '404' }, ALWAYS)).toStrictEqual({ ...NOTHING, status: 404 });
    expect(filtersOf({}, ALWAYS)).toStrictEqual({ ...NOTHING, status_class: undefined });
  });

  test.each([
    [undefined, REQUEST_STATUSES],
    ['4xx', REQUEST_STATUSES],
    ['x404', REQUEST_STATUSES],
    ['404', [...REQUEST_STATUSES, '404']],
  ])('with the status %s offer %j', (status, offered) => {
    expect(statusesFor(status)).toEqual(offered);
  });

  test('take an id out of what was pasted', () => {
    const id = '01a1ee19-75a2-7c4e-8d3f-0123456789ab';
    expect(idTyped(`request ${id.toUpperCase()}!`)).toBe(id);
    expect(idTyped('other')).toBe('other');
    expect(idTyped('')).toBe('');
    expect(idTyped(undefined)).toBeUndefined();
  });

  test('offer the routes that were called, each once', () => {
    expect(routesOf(['/users', '/cases', '/users'].map((route) => ({ route })))).toEqual([
      '/cases',
      '/users',
    ]);
  });
});

describe('the keys that the request log names', () => {
  const calls = ['key_1', 'key_2'].map((key_id) => ({ key_id }));

  test.each([
    [{}, ['key_1', 'key_2']],
    [{ key: 'key_3' }, ['key_3', 'key_1', 'key_2']],
  ])('for %j are %j', (search, ids) => {
    expect(keyIdsFor(search, calls)).toEqual(ids);
  });
});

describe('an entry of the audit log', () => {
  const by = (kind: string, id: string, target_id: string | null = null) => ({
    actor: { kind, id },
    target_id,
  });

  test('names the members that it is by and about, each once', () => {
    const entries = [
      by('user', 'mem_1', 'key_1'),
      by('api_key', 'key_1', 'mem_2'),
      by('user', 'mem_2', 'mem_1'),
      by('platform', 'billing', 'member_3'),
      by('system', 'system', null),
    ];
    expect(memberIdsIn(entries)).toEqual(['mem_1', 'mem_2']);
  });

  test('names the keys that it is by and about', () => {
    const entries = [
      by('user', 'mem_1', 'key_1'),
      by('api_key', 'key_2', 'mem_2'),
      by('platform', 'key_4', 'keys_5'),
      by('system', 'system', null),
    ];
    expect(keyIdsIn(entries)).toEqual(['key_1', 'key_2']);
  });

  test('are named, however many there are', () => {
    const entries = Array.from({ length: 401 }, (_, n) => by('user', `mem_${n}`));
    expect(memberIdsIn(entries)).toHaveLength(401);
  });

  test('says everything, its own details first', () => {
    const details = { role: 'admin', scopes: ['users:read'], count: 2, text: '"a"' };
    const entry = { ...by('user', 'mem_1', 'key_1'), details, request_id: 'r1' };
    expect(factsOf(entry)).toEqual([
      ['role', 'admin'],
      ['scopes', '["users:read"]'],
      ['count', '2'],
      ['text', '"a"'],
      ['actor_id', 'mem_1'],
      ['target_id', 'key_1'],
      ['request_id', 'r1'],
    ]);
    const without = factsOf({ ...entry, details: {}, target_id: null });
    expect(without.map(([field]) => field)).toEqual(['actor_id', 'request_id']);
  });

  test('is in the request log if a key has done it', () => {
    expect(ACTOR_KINDS.filter((kind) => isInRequestLog({ kind }))).toEqual(['api_key']);
  });

  test.each([
    ['whe_1', 'endpoint'],
    ['whd_1', 'delivery'],
    ['key_1', '/keys'],
    ['mem_1', '/members'],
    ['crm_1', '/crm'],
    ['cas_1', 'entries'],
    ['team:sandbox', 'entries'],
    ['', 'entries'],
  ])('about %j leads to %s', (id, place) => {
    expect(placeOfTarget(id)).toBe(place);
  });
});

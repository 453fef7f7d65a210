// Input over tRPC that Postgres or JavaScript takes badly is refused. None of it is our fault.
import type { AnyProcedure } from '@trpc/server';
import { beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { SCHNITTSTELLEN } from '../../src/core/access.ts';
import { appRouter } from '../../src/routers/routers.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { makeFullTeam, makeSeed, memberId, userId } from '../support/seed.ts';
import { sampleOf } from './samples.ts';

const PROCEDURES = Object.entries(
  appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
).map(([name, { _def }]) => {
  const { inputs = [] } = _def as unknown as { inputs?: z.ZodType[] };
  return { name, type: _def.type, sample: inputs[0] ? sampleOf(inputs[0]) : {} };
});

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a')]) });
  await api.db.pool.query(`update member set rights = $1 where id = $2`, [
    [SCHNITTSTELLEN],
    memberId('a', 'owner'),
  ]);
});

const OWNER = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
const SERVICE = { kind: 'platform', service: 'training' } as const;

async function call(name: string, type: string, json: string): Promise<string> {
  const token = await tokenOf(name.startsWith('platform') ? SERVICE : OWNER);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const url = `${api.url}/trpc/${name}`;
  const response = await (type === 'query'
    ? fetch(`${url}?input=${encodeURIComponent(json)}`, { headers })
    : fetch(url, { method: 'POST', headers, body: json }));
  await response.text();
  return `${response.status} ${name} ${json.slice(0, 200)}`;
}

let turn = 0;
const BAD_TEXTS = ['"\\u0000"', '"\\ud800"', '"x\\u0000y"'];
const ODD_NAMES = ['__proto__', 'constructor', '\u0000', 'toString'];
const ODD_VALUES = ['{"x":1}', '"x"', 'null'];

/**
 * The JSON of `value` with each text replaced in turn, and with one more field in each object. The
 * replacements take turns, because one parser reads the inputs of all procedures.
 */
function variants(value: unknown): string[] {
  const found: string[] = [];
  const next = <T>(choices: readonly T[]): T => choices[(turn += 1) % choices.length] as T;
  const visit = (part: unknown, wrap: (json: string) => string): void => {
    if (typeof part === 'string') found.push(wrap(next(BAD_TEXTS)));
    if (typeof part !== 'object' || part === null) return;
    const entries = Object.entries(part);
    const join = (fields: readonly (readonly [string, string])[]): string =>
      Array.isArray(part)
        ? `[${fields.map(([, json]) => json).join(',')}]`
        : `{${fields.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
    const texts = entries.map(([key, item]) => [key, JSON.stringify(item)] as const);
    for (const key of ODD_NAMES) found.push(wrap(join([...texts, [key, next(ODD_VALUES)]])));
    entries.forEach(([key, item], index) =>
      visit(item, (json) => wrap(join(texts.with(index, [key, json])))),
    );
  };
  visit(value, (json) => json);
  return found;
}

describe('input with NUL, halves of characters and odd field names', () => {
  test.each(PROCEDURES)('is no fault of ours to $name', async ({ name, type, sample }) => {
    const cases = [...variants(sample), '"\\u0000"', '[]', 'null', '{"__proto__":null}', '1'];
    const answers = [];
    for (const json of cases) answers.push(await call(name, type, json));
    expect(answers.filter((answer) => answer.startsWith('5'))).toEqual([]);
  });
});

describe('names that no procedure has', () => {
  test.each([
    '__proto__',
    'v1.__proto__',
    'v1.me.__proto__',
    'constructor',
    'v1.constructor.name',
    'toString',
    '%00',
    '%ff',
    'v1.me.get%00',
    '__proto__,v1.me.get?batch=1',
    'v1.me.get?batch=1&input={"__proto__":{"x":1}}',
    'v1.me.get?batch=1&input={"0":{"__proto__":1},"constructor":1}',
    'v1.me.get?input=%00',
    'v1.me.get?input=%ff',
    'v1.me.get?input="%5Cu0000"',
  ])('are no fault of ours: %s', async (path) => {
    const headers = { authorization: `Bearer ${await tokenOf(OWNER)}` };
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${api.url}/trpc/${path}`, { method, headers });
      expect(`${method} ${response.status} ${await response.text()}`).not.toMatch(/^\w+ 5/);
    }
  });
});

describe('a token of the host application', () => {
  test.each([
    { ...OWNER, userId: 'usr\u0000' },
    { ...OWNER, teamId: 'team\u0000a' },
    { ...OWNER, teamId: '\ud800' },
    { ...SERVICE, service: 'x\u0000' },
  ])('with text that Postgres cannot store is refused: %j', async (identity) => {
    const headers = { authorization: `Bearer ${await tokenOf(identity)}` };
    const { status } = await fetch(`${api.url}/trpc/v1.me.get`, { headers });
    expect(status).toBe(401);
    const session = await fetch(`${api.url}/trpc-session`, { method: 'POST', headers });
    expect(session.status).toBe(401);
  });
});

// How the API announces the end of an endpoint or of the version. The routes here are deprecated in
// this test only, with the same declarations as any other.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Deprecation, Deprecations } from '../../src/core/deprecation.ts';
import { notFound } from '../../src/core/problem.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { endpointsOf } from '../../src/routers/endpoints.ts';
import { endpoint } from '../../src/trpc/endpoint.ts';
import { router } from '../../src/trpc/init.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const OWN: Deprecation = {
  since: '2027-01-01',
  sunset: '2028-01-01',
  link: 'https://api.example.com/docs/old',
};
const OWN_ONLY: Deprecations = { version: null, operations: { 'GET /old/{thing_id}': OWN } };
const VERSIONS: Deprecations = {
  ...OWN_ONLY,
  version: { since: '2026-06-01', sunset: '2029-06-01' },
};

const declare = (name: string) =>
  endpoint({
    method: 'GET',
    path: `/${name}/{thing_id}`,
    scope: 'users:read',
    tag: 'Things',
    summary: 'Read a thing',
    description: 'A thing.',
    input: z.object({ thing_id: z.string().max(5) }),
    output: z.object({ id: z.string() }),
    outputName: name === 'old' ? 'OldThing' : 'NewThing',
    example: { output: { id: 'x' } },
  }).query(({ input }) => {
    if (input.thing_id !== 'x') throw notFound();
    return { id: 'x' };
  });

const things = router({ things: { old: declare('old'), current: declare('current') } });
const endpoints = endpointsOf(things);

let api: TestApi;
let ending: TestApi;
beforeAll(async () => {
  const seed = makeSeed([makeTeam('a')]);
  api = await startTestApi({ seed, app: { endpoints, deprecations: OWN_ONLY } });
  ending = await startTestApi({ seed, app: { endpoints, deprecations: VERSIONS } });
});

const told = ({ headers }: ApiResponse) => [
  headers['deprecation'],
  headers['sunset'],
  headers['link'],
];
const NOTHING = [undefined, undefined, undefined];

/** Returns one response of each kind: success and every sort of error. */
async function answersOf(of: TestApi, name: string): Promise<ApiResponse[]> {
  return [
    await of.call(of.key('team_a'), 'GET', `/${name}/x`),
    await of.call(of.key('team_a'), 'HEAD', `/${name}/x`),
    await of.call(null, 'GET', `/${name}/x`),
    await of.call(of.key('team_a', 'none'), 'GET', `/${name}/x`),
    await of.call(of.key('team_a'), 'GET', `/${name}/y`),
    await of.call(of.key('team_a'), 'GET', `/${name}/toolong`),
  ];
}
const STATUSES = [200, 200, 401, 403, 404, 422];

describe('a deprecated operation', () => {
  test('says so in every response, errors included, and no other operation does', async () => {
    const old = await answersOf(api, 'old');
    expect(old.map(({ status }) => status)).toEqual(STATUSES);
    const link = '<https://api.example.com/docs/old>; rel="deprecation"; type="text/html"';
    for (const answer of old)
      expect(told(answer)).toEqual(['@1798761600', 'Sat, 01 Jan 2028 00:00:00 GMT', link]);
    const others = [...(await answersOf(api, 'current')), await api.call(null, 'GET', '/nowhere')];
    for (const answer of others) expect(told(answer)).toEqual(NOTHING);
  });

  test('that cannot say so answers with a problem, as every fault of ours does', async () => {
    const operations = { 'GET /old/{thing_id}': { ...OWN, link: 'https://a.test/old–new' } };
    const broken = await startTestApi({
      seed: makeSeed([makeTeam('a')]),
      app: { endpoints, deprecations: { version: null, operations } },
    });
    const answer = await fetch(`${broken.base}/old/x`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      500,
      'application/problem+json',
    ]);
    expect(await answer.json()).toMatchObject({ code: 'internal' });
    expect(broken.loggedErrors.join()).toContain('ERR_INVALID_CHAR');
  });

  test('is deprecated in the document, which describes the headers', () => {
    const document = openApiDocument('https://team.example', {
      router: things,
      deprecations: OWN_ONLY,
    });
    const { get: old } = document.paths?.['/old/{thing_id}'] ?? {};
    const { get: current } = document.paths?.['/current/{thing_id}'] ?? {};
    expect(old).toMatchObject({
      deprecated: true,
      description: expect.stringContaining('2028-01-01'),
    });
    for (const response of Object.values(old?.responses ?? {}))
      expect(Object.keys((response as { headers: object }).headers)).toEqual(
        expect.arrayContaining(['Deprecation', 'Sunset', 'Link']),
      );
    expect(document.components?.headers).toHaveProperty('Sunset');
    expect(JSON.stringify(current)).not.toMatch(/deprecat|sunset/i);
  });
});

describe('a deprecated version', () => {
  // An operation with dates of its own sends the earlier ones.
  test('says so in every response', async () => {
    for (const answer of [
      ...(await answersOf(ending, 'current')),
      await ending.call(null, 'GET', '/nowhere'),
      await ending.call(null, 'POST', '/old/x'),
      await ending.call(null, 'GET', '/openapi.v1.json'),
    ])
      expect(told(answer)).toEqual([
        '@1780272000',
        'Fri, 01 Jun 2029 00:00:00 GMT',
        `<${ending.url}/docs/versioning>; rel="deprecation"; type="text/html"`,
      ]);
    for (const answer of await answersOf(ending, 'old'))
      expect(told(answer).slice(0, 2)).toEqual(['@1780272000', 'Sat, 01 Jan 2028 00:00:00 GMT']);
  });

  test('has every operation deprecated in the document', () => {
    const { paths = {} } = openApiDocument('https://team.example', {
      router: things,
      deprecations: VERSIONS,
    });
    expect(Object.values(paths).map(({ get }) => get?.deprecated)).toEqual([true, true]);
  });
});

test('the document describes no deprecation while there is none', () => {
  const { paths, components } = openApiDocument('https://team.example');
  expect(/deprecat|sunset/i.test(JSON.stringify([paths, components]))).toBe(false);
});

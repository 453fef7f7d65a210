// Parameters that an operation does not know: the response tells of them, and nothing else changes.
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
});

const HEADER = 'svc-ignored-parameters';
const ask = (method: string, path: string, options: object = {}) =>
  api.call(api.key('team_a'), method, path, options);
const toldOf = async (query: string, path = '/users') =>
  (await ask('GET', `${path}?${query}`)).headers[HEADER];

describe('Svc-Ignored-Parameters', () => {
  test('names unknown parameters, each once, and they are no error', async () => {
    const plain = await ask('GET', '/users?limit=1');
    const misspelt = await ask('GET', '/users?limit=1&sicne=x&limti=2&sicne=y');
    expect(misspelt).toMatchObject({ status: 200, headers: { [HEADER]: 'sicne, limti' } });
    expect(misspelt.body).toEqual(plain.body);
    expect(plain.headers).not.toHaveProperty(HEADER);
    expect((await ask('GET', '/users')).headers).not.toHaveProperty(HEADER);
    expect(await toldOf('&&=&limit=1')).toBeUndefined();
  });

  test('comes with reads, writes and refusals, and names a parameter of the path', async () => {
    expect(await toldOf('member_id=x', '/users/mem_a_member')).toBe('member_id');
    const answers = [
      await ask('GET', '/users?limit=0&limti=1'),
      await ask('GET', '/users/mem_unknown?limti=1'),
      await ask('DELETE', '/users/mem_unknown?limti=1'),
      await ask('POST', '/users?limti=1', { body: {} }),
      await ask('PATCH', '/users/mem_unknown?limti=1', { body: { role: 'member' } }),
      await ask('HEAD', '/users?limti=1'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 404, 404, 422, 404, 200]);
    for (const { headers } of answers) expect(headers[HEADER]).toBe('limti');
    expect((await ask('POST', '/users?email=x', { body: {} })).headers[HEADER]).toBe('email');
    // The names that every object has are no parameters.
    expect(await toldOf('toString=1&__proto__=2')).toBe('toString, __proto__');
  });

  test('is not told to those whom nobody knows, and not for an unknown path', async () => {
    const stranger = await api.call(null, 'GET', '/users?limti=1');
    expect(stranger.headers).not.toHaveProperty(HEADER);
    expect((await ask('GET', '/user?limti=1')).headers).not.toHaveProperty(HEADER);
  });

  test('holds neither line breaks nor other headers, whatever was sent', async () => {
    const { headers } = await ask(
      'GET',
      '/users?a%0d%0aSet-Cookie%3A%20x=1&b%2Cc=1&%C3%A4=1&d+e=1',
    );
    expect(headers[HEADER]).toBe('a%0D%0ASet-Cookie%3A%20x, b%2Cc, %C3%A4, d%20e');
    expect(headers).not.toHaveProperty('set-cookie');
  });

  test('is bounded: ten names of 100 bytes, of which no character is cut in two', async () => {
    const many = Array.from({ length: 500 }, (_, index) => `p${index}=1`).join('&');
    expect((await toldOf(many))?.split(', ')).toEqual(
      Array.from({ length: 10 }, (_, index) => `p${index}`),
    );
    const long = await toldOf(`${encodeURIComponent('😀'.repeat(200))}=1&${'x'.repeat(5_000)}`);
    expect(long).toBe(`${encodeURIComponent('😀'.repeat(8))}, ${'x'.repeat(100)}`);
    const worst = Array.from({ length: 20 }, (_, at) => `${at}${'x'.repeat(500)}`).join('&');
    expect((await toldOf(worst))?.length).toBe(10 * 100 + 9 * 2);
  });
});

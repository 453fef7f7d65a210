// Reads are compressed for callers who accept it, where it pays and tells nobody of a secret.
import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { privateFieldsOf } from '../../src/core/private-fields.ts';
import { createCompressor, isCompressible } from '../../src/http/api/compress.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

const LARGE = '/users?limit=200';
const DECODE = { br: brotliDecompressSync, gzip: gunzipSync } as const;

let api: TestApi;
beforeAll(async () => {
  const members = Array.from({ length: 250 }, (_, index) =>
    makeMember('a', `m${index}`, { email: `${'x'.repeat(60)}${index}@a.test` }),
  );
  const webhook_endpoints = Array.from({ length: 50 }, (_, index) => ({
    id: `whe_${index}`,
    url: `https://example.com/${'path/'.repeat(20)}${index}`,
    events: ['training.completed' as const],
  }));
  const privacy = { member_detail_enabled: true };
  api = await startTestApi({
    seed: makeSeed([makeTeam('a', { members, webhook_endpoints, privacy })]),
  });
});

async function ask(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const given = await request(api.base + path, {
    method: method as 'GET',
    headers: { authorization: `Bearer ${api.key('team_a')}`, ...headers },
  });
  const bytes = Buffer.from(await given.body.arrayBuffer());
  return { status: given.statusCode, headers: given.headers, bytes };
}

describe('a read', () => {
  test.each([
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'gzip'],
    ['br, gzip, deflate', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
  ] as const)('with Accept-Encoding: %s comes as %s', async (accepted, encoding) => {
    const plain = await ask(LARGE);
    const small = await ask(LARGE, { 'accept-encoding': accepted });
    expect(small.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(small.bytes.length),
      'content-type': 'application/json',
      'cache-control': 'no-store',
      vary: 'Accept-Encoding',
    });
    expect(small.bytes.length).toBeLessThan(plain.bytes.length / 5);
    expect(DECODE[encoding](small.bytes).equals(plain.bytes)).toBe(true);
  });

  test.each([undefined, 'identity', 'br;q=0, gzip;q=0', 'deflate', 'zstd', '', 'x'.repeat(5_000)])(
    'with Accept-Encoding: %s comes as it is',
    async (accepted) => {
      const plain = await ask(LARGE, accepted === undefined ? {} : { 'accept-encoding': accepted });
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(plain.headers['vary']).toBe('Accept-Encoding');
      expect(JSON.parse(plain.bytes.toString())).toHaveProperty('data');
    },
  );

  test('looks at the first entries of a long header alone', async () => {
    const many = 'x,'.repeat(2_000);
    const headers = { 'accept-encoding': `${many}gzip`, 'accept-language': `${many}en` };
    const late = await ask(LARGE, headers);
    expect(late.headers).not.toHaveProperty('content-encoding');
    expect(late.headers['content-language']).toBe('de');
    const early = { 'accept-encoding': `gzip,${many}`, 'accept-language': `en,${many}` };
    expect((await ask(LARGE, early)).headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-language': 'en',
    });
  });

  test('has a tag of its own for each encoding, and each of them is known again', async () => {
    const tags = await Promise.all(
      ['identity', 'gzip', 'br'].map(async (accepted) => {
        const { headers } = await ask(LARGE, { 'accept-encoding': accepted });
        return String(headers['etag']);
      }),
    );
    expect(new Set(tags).size).toBe(3);
    for (const tag of tags) {
      const given = { 'if-none-match': tag, 'accept-encoding': 'gzip' };
      const again = await ask(LARGE, given);
      expect(again).toMatchObject({ status: 304, headers: { etag: tags[1] } });
      expect(again.bytes.length).toBe(0);
      expect(again.headers).not.toHaveProperty('content-encoding');
      expect(again.headers['vary']).toBe('Accept-Encoding');
    }
  });

  test('of text beyond Latin-1 has the same bytes and tag', async () => {
    const path = '/cases';
    const title = '„Zu teuer“ – 3 € zu viel';
    await api.db.pool.query(
      `insert into training_case (team_id, id, user_id, title, created_at)
       select 'team_a', 'cas_' || n, 'usr_a_m1', $1, now()
       from generate_series(1, 50) n`,
      [title],
    );
    const plain = await ask(path);
    expect(plain.headers['content-length']).toBe(String(plain.bytes.length));
    expect(JSON.parse(plain.bytes.toString()).data[0].title).toBe(title);
    for (const encoding of ['br', 'gzip'] as const) {
      const small = await ask(path, { 'accept-encoding': encoding });
      expect(DECODE[encoding](small.bytes).equals(plain.bytes)).toBe(true);
      expect(small.headers['etag']).toBe(
        String(plain.headers['etag']).replace(/"$/, `.${encoding}"`),
      );
    }
    expect((await ask(path, {}, 'HEAD')).headers['content-length']).toBe(
      plain.headers['content-length'],
    );
  });

  test('of less than 4 KB, a refusal, and the headers of HEAD', async () => {
    const accepts = { 'accept-encoding': 'br' };
    expect((await ask('/me', accepts)).headers).not.toHaveProperty('content-encoding');
    expect((await ask('/users?limit=0', accepts)).headers).not.toHaveProperty('content-encoding');
    const head = await ask(LARGE, accepts, 'HEAD');
    const { headers } = await ask(LARGE, accepts);
    expect(head.bytes.length).toBe(0);
    for (const name of ['content-encoding', 'content-length', 'etag', 'vary'])
      expect(head.headers[name]).toBe(headers[name]);
  });

  test('is the same for many at once', async () => {
    const plain = await ask(LARGE);
    const all = await Promise.all(
      Array.from({ length: 60 }, () => ask(LARGE, { 'accept-encoding': 'gzip' })),
    );
    for (const { bytes, headers } of all)
      expect((headers['content-encoding'] ? gunzipSync(bytes) : bytes).equals(plain.bytes)).toBe(
        true,
      );
  });
});

describe('a secret', () => {
  test('is in no response that may be compressed', async () => {
    const withSecrets = ENDPOINTS.filter(({ output }) =>
      privateFieldsOf(output).some(({ kind }) => kind === 'secret'),
    );
    expect(withSecrets.length).toBeGreaterThan(2);
    expect(withSecrets.filter(isCompressible)).toEqual([]);
    const list = await ask('/webhook-endpoints', { 'accept-encoding': 'br' });
    expect(list.bytes.length).toBeGreaterThan(4096);
    expect(list.headers).not.toHaveProperty('content-encoding');
    expect(list.headers).not.toHaveProperty('vary');
  });

  test('nor is a write, which repeats what was sent', () => {
    expect(ENDPOINTS.filter((one) => isCompressible(one) && one.method !== 'GET')).toEqual([]);
    expect(ENDPOINTS.filter(isCompressible).length).toBeGreaterThan(12);
  });
});

describe('the compressor', () => {
  const large = Buffer.from('{"a":1}'.repeat(20_000));

  test('sends a body as it is while eight are in threads, and not any longer', async () => {
    const compress = createCompressor();
    const running = Array.from({ length: 8 }, () => compress(large, 'gzip'));
    expect(compress(large, 'gzip')).toBeNull();
    for (const one of await Promise.all(running.map(async (one) => one)))
      expect(gunzipSync(one ?? '').equals(large)).toBe(true);
    expect(await compress(large, 'br')).not.toBeNull();
  });

  test('sends as it is what does not become smaller', async () => {
    const compress = createCompressor();
    expect(await compress(randomBytes(8_000), 'gzip')).toBeNull();
    expect(await compress(randomBytes(80_000), 'br')).toBeNull();
  });
});

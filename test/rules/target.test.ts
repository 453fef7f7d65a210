import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../src/core/dns-lookup.ts';
import { isPublicAddress, parseTarget, resolveTarget } from '../../src/delivery/target.ts';
import { steppedClock } from '../support/clocks.ts';

const STRICT = { allowPrivateTargets: false };
const PRIVATE_TOO = { allowPrivateTargets: true };

const at =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const unasked: Lookup = () => Promise.reject(new Error('a literal address needs no lookup'));

describe('a receiver on this machine', () => {
  test.each([
    'http://localhost:4000/hook',
    'https://localhost/',
    'http://127.0.0.1:4000/',
    'http://[::1]:4000/',
    'http://hooks.localhost/',
  ])('is refused with what brings events to it: %s', (url) => {
    const refused = parseTarget(url, STRICT);
    expect(refused).toEqual({
      ok: false,
      detail: expect.stringContaining('The command `listen` of the client library brings events'),
      reason: url.startsWith('https') ? 'url_not_public' : 'url_not_https',
      error: 'target_not_public',
    });
    expect(parseTarget(url, PRIVATE_TOO).ok).toBe(true);
  });

  test.each(['http://example.com/', 'https://10.0.0.1/', 'https://localhost.example.com/#a', 'x'])(
    'is not what is refused at %s, so the command is not named',
    (url) => {
      const refused = parseTarget(url, STRICT);
      expect(refused.ok).toBe(false);
      expect(JSON.stringify(refused)).not.toContain('listen');
    },
  );
});

describe('an address', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '93.184.216.34',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '223.255.255.255',
    '192.167.255.255',
    '168.63.129.15',
    '2606:4700:4700::1111',
    '2a00:1450:4001:82a::200e',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
  ])('of the internet is public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ['this network', ['0.0.0.0', '0.1.2.3', '::']],
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    [
      'private',
      [
        '10.0.0.1',
        '10.255.255.255',
        '172.16.0.1',
        '172.31.255.255',
        '192.168.0.1',
        'fc00::1',
        'fd12:3456::1',
        'fd00:ec2::254',
      ],
    ],
    [
      'link-local, a cloud’s metadata among them',
      ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
    ],
    ['site-local', ['fec0::1']],
    ['carrier-grade NAT', ['100.64.0.1', '100.127.255.255', '100.100.100.200']],
    ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
    [
      'reserved or broadcast',
      [
        '240.0.0.1',
        '255.255.255.255',
        '192.0.0.1',
        '192.88.99.1',
        '198.18.0.1',
        '198.19.255.255',
        '4000::1',
        '5f00::1',
        '100::1',
        '2001:2::1',
      ],
    ],
    ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    [
      'mapped',
      [
        '::ffff:127.0.0.1',
        '::ffff:10.0.0.1',
        '::ffff:7f00:1',
        '::ffff:169.254.169.254',
        '::ffff:168.63.129.16',
        '::ffff:0:8.8.8.8',
      ],
    ],
    ['IPv4-compatible', ['::127.0.0.1', '::10.0.0.1', '::8.8.8.8', '::808:808']],
    [
      'NAT64',
      ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::169.254.169.254', '64:ff9b:1::8.8.8.8'],
    ],
    ['6to4', ['2002:7f00:1::1', '2002:a00:1::', '2002:a9fe:a9fe::1', '2002:c0a8:1::1']],
    ['Teredo', ['2001:0:4136:e378:8000:63bf:3fff:fdd2']],
    ['a cloud’s host agent', ['168.63.129.16']],
    ['no address at all', ['', 'example.com', '1.2.3', '::g', '8.8.8.8%1']],
  ])('that is not is refused: %s', (_kind, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
});

describe('the text of a URL', () => {
  test.each([
    'https://example.com',
    'https://example.com/hooks?token=1',
    'https://EXAMPLE.com:8443/',
    'HTTPS://example.com/',
    'https://example.com./hook',
    'https://8.8.8.8/hook',
    'https://[2606:4700:4700::1111]:8443/',
    'https://xn--mller-kva.example/',
    'https://müller.example/@me',
    'https://example.com/?mail=a@b.example',
  ])('may be %s', (url) => {
    expect(parseTarget(url, STRICT)).toMatchObject({ ok: true });
  });

  test.each([
    '',
    'example.com',
    '//example.com',
    'http://example.com',
    'ftp://example.com',
    'javascript:alert(1)',
    'https:example.com',
    'https:/example.com',
    'https:\\\\example.com',
    'https://',
    'https:///',
    'https:///example.com/',
    'https://///example.com/',
    'HTTPS:///example.com/',
    'https:///me:pw@example.com/',
    'https://me%40:pw@example.com/',
    'https://example.com/#',
    'https://example.com/#part',
    'https://me@example.com',
    'https://me:pw@example.com',
    'https://@example.com',
    'https://:@example.com/',
    ' https://example.com',
    'https://example.com ',
    'https://exa\tmple.com',
    'https://example.com/a b',
    'https://example.com\n',
    'https://example.com\\@evil.example',
    'https://example.com/\u0000',
    'https://example.com/\u0085',
    'https://exa mple.com',
    'https://example.com:99999',
    'https://[::1',
    'https://[fe80::1%25eth0]/',
    'https://[fe80::1%eth0]/',
    'https://a%00b/',
    'https://1.2.3.4.5/',
  ])('may not be %j', (url) => {
    expect(parseTarget(url, STRICT)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/./),
    });
  });

  test('holds at most 2048 characters, counted as people count', () => {
    const start = 'https://example.com/';
    expect(parseTarget(start + 'a'.repeat(2048 - start.length), STRICT).ok).toBe(true);
    expect(parseTarget(start + '😀'.repeat(2048 - start.length), STRICT).ok).toBe(true);
    expect(parseTarget(start + 'a'.repeat(2049 - start.length), STRICT).ok).toBe(false);
  });

  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1./',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://１２７.０.０.１/',
    'https://0/',
    'https://10.1/',
    'https://169.254.169.254/latest',
    'https://0xa9fea9fe/',
    'https://2852039166/',
    'https://168.63.129.16/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fe80::1]/',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://api.localhost/',
    'https://api.localhost./',
    'https://ⓛocalhost/',
  ])('may not name this machine or a private address in any notation: %s', async (url) => {
    expect(parseTarget(url, STRICT).ok).toBe(false);
    expect((await resolveTarget(url, { ...STRICT, lookup: at('8.8.8.8') })).ok).toBe(false);
  });

  test('may be http and private where private targets are allowed, and nothing else is', () => {
    for (const url of [
      'http://localhost:9999/hook',
      'http://127.0.0.1/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://example.com/',
    ]) {
      expect(parseTarget(url, PRIVATE_TOO).ok).toBe(true);
    }
    for (const url of [
      'ftp://127.0.0.1/',
      'http://me@127.0.0.1/',
      'http://127.0.0.1/#a',
      'http://',
      'http:// x',
    ])
      expect(parseTarget(url, PRIVATE_TOO).ok).toBe(false);
  });
});

describe('a name', () => {
  const resolve = (lookup: Lookup, url = 'https://hooks.example/in') =>
    resolveTarget(url, { ...STRICT, lookup });

  test('resolves to the addresses that were checked, all of them', async () => {
    expect(await resolve(at('8.8.8.8', '2606:4700:4700::1111'))).toEqual({
      ok: true,
      url: new URL('https://hooks.example/in'),
      addresses: [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700:4700::1111', family: 6 },
      ],
    });
  });

  test('is looked up without port, path or brackets; a literal address is not', async () => {
    const asked: string[] = [];
    const note: Lookup = async (hostname) => {
      asked.push(hostname);
      return [{ address: '8.8.8.8', family: 4 }];
    };
    await resolve(note, 'https://Hooks.Example:8443/in?x=1');
    expect(asked).toEqual(['hooks.example']);
    expect(await resolve(unasked, 'https://[2606:4700:4700::1111]/')).toMatchObject({
      ok: true,
      addresses: [{ address: '2606:4700:4700::1111', family: 6 }],
    });
    expect(await resolve(unasked, 'https://134744072/')).toMatchObject({
      ok: true,
      addresses: [{ address: '8.8.8.8', family: 4 }],
    });
  });

  test.each([
    ['one of its addresses is private', at('8.8.8.8', '10.0.0.1')],
    ['one is a mapped private address', at('8.8.8.8', '::ffff:10.0.0.1')],
    ['it has no address', at()],
    ['the lookup answers nonsense', at('not an address')],
  ] as [string, Lookup][])('is refused when %s', async (_why, lookup) => {
    expect(await resolve(lookup)).toMatchObject({ ok: false, error: 'target_not_public' });
  });

  test('is refused when it has more addresses than any receiver needs', async () => {
    const some = (count: number) =>
      at(...Array.from({ length: count }, (_, n) => `8.8.${n >> 8}.${n & 255}`));
    expect(await resolve(some(64))).toMatchObject({ ok: true });
    const refused = { ok: false, reason: 'url_many_addresses', error: 'target_not_public' };
    expect(await resolve(some(65))).toMatchObject(refused);
    expect(await resolve(some(6_300))).toMatchObject(refused);
  });

  const failWith = (code: string) => Object.assign(new Error('refused'), { code });
  test.each([
    ...['ESERVFAIL', 'EREFUSED', 'ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EAI_AGAIN'].map(
      (code) => [code, () => Promise.reject(failWith(code))],
    ),
    [
      'a fault of our own, at once',
      () => {
        throw new TypeError('bad name');
      },
    ],
  ] as [string, Lookup][])(
    'is refused as not resolved if its lookup fails with %s',
    async (_why, lookup) => {
      expect(await resolve(lookup)).toMatchObject({ ok: false, error: 'name_not_resolved' });
    },
  );

  // The refusals must be equal, so that nobody can find out the names in our network.
  test('is refused alike if it is unknown and if its address is private', async () => {
    const atPrivate = await resolve(at('10.0.0.1'));
    expect(await resolve(at())).toEqual(atPrivate);
    expect(await resolve(at(...Array.from({ length: 65 }, () => '10.0.0.1')))).toEqual(atPrivate);
    for (const code of ['ENOTFOUND', 'ENODATA'])
      expect(await resolve(() => Promise.reject(failWith(code)))).toEqual(atPrivate);
  });

  test('is refused when the lookup does not answer within a few seconds', async () => {
    const clock = steppedClock(new Date());
    const lookup = () => new Promise<never>(() => undefined);
    const refused = resolveTarget('https://hooks.example/', { ...STRICT, lookup, clock });
    clock.advance(5_000);
    expect(await refused).toMatchObject({ ok: false, error: 'name_not_resolved' });
  });

  test('may resolve to any address where private targets are allowed', async () => {
    expect(
      await resolveTarget('http://localhost:1/', { ...PRIVATE_TOO, lookup: at('127.0.0.1') }),
    ).toMatchObject({
      ok: true,
      addresses: [{ address: '127.0.0.1' }],
    });
  });
});

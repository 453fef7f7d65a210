import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  canSeal,
  contentOf,
  fragmentOf,
  hashOf,
  openerOf,
  readFragment,
  seal,
  unseal,
} from '../../src/admin-ui/lib/sealing.ts';
import {
  expiryOf,
  idOf,
  requireSame,
  SEALED_MAX,
  SEALED_MIN,
  stateOf,
  subjectOf,
  TOKEN,
} from '../../src/features/handovers/rules.ts';

const NOW = new Date('2026-11-26T10:00:00.000Z');
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();
const CONTENT = { secret: `svck_live_${'a'.repeat(16)}_${'b'.repeat(43)}`, name: 'Import' };

/** What Web Crypto says of a wrong key or text. */
const DECRYPTS_NOT = 'The operation failed for an operation-specific reason';

describe('a link', () => {
  test.each([
    { what: 'is open until it expires', expires_at: at(1), state: 'open' },
    { what: 'has ended when it expires', expires_at: at(0), state: 'ended' },
    { what: 'has ended once withdrawn', expires_at: at(1), is_sealed: false, state: 'ended' },
    { what: 'is opened, and stays it', expires_at: at(0), opened_at: at(-9), state: 'opened' },
  ])('$what', ({ expires_at, opened_at = null, is_sealed = true, state }) => {
    expect(stateOf({ expires_at, opened_at, is_sealed }, NOW)).toBe(state);
  });

  test('can be opened for an hour', () => {
    expect(expiryOf(NOW).toISOString()).toBe('2026-11-26T11:00:00.000Z');
  });

  test('is made again only by the call that made it', () => {
    const [sealed, other] = [Buffer.from('one'), Buffer.from('two')];
    const subject = { kind: 'key', id: 'key_1' } as const;
    const wanted = { subject, sealed };
    const endpoint = { kind: 'endpoint', id: 'key_1' } as const;
    expect(() => requireSame({ subject, sealed }, wanted)).not.toThrow();
    expect(() => requireSame({ subject, sealed: null }, wanted)).not.toThrow();
    expect(() => requireSame({ subject, sealed: other }, wanted)).toThrow('conflict');
    expect(() => requireSame({ subject: { ...subject, id: 'key_2' }, sealed }, wanted)).toThrow(
      'conflict',
    );
    expect(() => requireSame({ subject: endpoint, sealed }, wanted)).toThrow('conflict');
  });

  test.each([
    ['a key', { key_id: 'key_1', endpoint_id: null }, { kind: 'key', id: 'key_1' }],
    ['an endpoint', { key_id: null, endpoint_id: 'whe_1' }, { kind: 'endpoint', id: 'whe_1' }],
  ])('hands over %s', (_what, row, subject) => {
    expect(subjectOf(row)).toEqual(subject);
  });

  test('that hands nothing over is a fault of the database', () => {
    expect(() => subjectOf({ key_id: null, endpoint_id: null })).toThrow('nothing');
  });
});

describe('sealing', () => {
  test('opens with the link, and gives what was sealed', async () => {
    expect(canSeal()).toBe(true);
    const { secret, sealed } = await seal(CONTENT);
    expect(await unseal(secret, sealed)).toEqual(CONTENT);
  });

  test('sends an id and a text that tell nothing of the secret', async () => {
    const { secret, id, sealed } = await seal(CONTENT);
    const opener = await openerOf(secret);
    expect(new Set([secret, id, opener]).size).toBe(3);
    for (const text of [secret, id, opener]) expect(text).toMatch(TOKEN);
    // The service finds the link by what opens it.
    expect(idOf(opener)).toBe(id);
    const all = Buffer.from(sealed, 'base64url').toString('latin1') + id + opener;
    for (const text of [secret, CONTENT.secret, CONTENT.name]) expect(all).not.toContain(text);
    // What the service gets is no key: neither the opener nor the hash decrypts it.
    await expect(unseal(opener, sealed)).rejects.toThrow(DECRYPTS_NOT);
    await expect(unseal(id, sealed)).rejects.toThrow(DECRYPTS_NOT);
  });

  test('never makes the same link twice', async () => {
    const [one, two] = await Promise.all([seal(CONTENT), seal(CONTENT)]);
    expect(one.secret).not.toBe(two.secret);
    expect(one.sealed).not.toBe(two.sealed);
    await expect(unseal(one.secret, two.sealed)).rejects.toThrow(DECRYPTS_NOT);
  });

  test('keeps what is handed over, and a URL as far as there is room', async () => {
    const url = 'https://example.com/hooks?from=team';
    const short = await seal(contentOf({ url, secret: 'whsec_1' }));
    const content = { secret: 'whsec_1', name: url, kind: 'endpoint' };
    expect(await unseal(short.secret, short.sealed)).toEqual(content);
    const long = contentOf({ url: `${url}${'x'.repeat(200)}`, secret: 'whsec_1' });
    expect(long.name).toMatch(/^https:\/\/example\.com\/hooks\?from=teamx+…$/);
    expect(long.name).toHaveLength(140);
  });

  test('hashes a secret as the service does', async () => {
    const hash = createHash('sha256').update('whsec_1').digest('base64url');
    expect(await hashOf('whsec_1')).toBe(hash);
  });

  test('notices a changed byte', async () => {
    const { secret, sealed } = await seal(CONTENT);
    const bytes = Buffer.from(sealed, 'base64url');
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    await expect(unseal(secret, bytes.toString('base64url'))).rejects.toThrow(DECRYPTS_NOT);
  });

  test('fits the limits of the service, whatever the name', async () => {
    const longest = await seal({ ...CONTENT, name: '\u{1f511}'.repeat(100) });
    expect(Buffer.from(longest.sealed, 'base64url').length).toBeLessThan(SEALED_MAX);
    const url = `https://x.test/${'\ud800'.repeat(2_000)}`;
    const endpoint = contentOf({ url, secret: `whsec_${'a'.repeat(44)}` });
    const ofEndpoint = await seal(endpoint);
    expect(Buffer.from(ofEndpoint.sealed, 'base64url').length).toBeLessThan(SEALED_MAX);
    const shortest = await seal({ secret: '', name: '' });
    expect(Buffer.from(shortest.sealed, 'base64url').length).toBeGreaterThan(SEALED_MIN);
  });
});

describe('the opener', () => {
  test.each([
    ['empty', ''],
    ['short', 'a'.repeat(42)],
    ['long', 'a'.repeat(44)],
    ['no base64url', `${'a'.repeat(42)}+`],
  ])('that is %s belongs to no link', (_what, opener) => {
    expect(idOf(opener)).toBe(null);
  });

  test('is kept as a hash', () => {
    const opener = randomBytes(32).toString('base64url');
    expect(idOf(opener)).toBe(createHash('sha256').update(opener).digest('base64url'));
  });
});

describe('the part of a link after #', () => {
  const secret = 's'.repeat(43);

  test.each(['team_1', 'a.b.c', 'with space/and#more', 'ümläut'])('keeps the team %s', (teamId) => {
    const fragment = fragmentOf(teamId, secret);
    expect(readFragment(`#${fragment}`)).toEqual({ teamId, secret });
    expect(new URL(`https://x.test/handover#${fragment}`).hash).toBe(`#${fragment}`);
  });

  test.each([
    ['nothing', ''],
    ['no team', `#.${secret}`],
    ['no secret', '#team_1'],
    ['a part of the secret', `#team_1.${secret.slice(1)}`],
    ['broken encoding', `#%zz.${secret}`],
  ])('with %s is not complete', (_what, text) => {
    expect(readFragment(text)).toBe(null);
  });
});

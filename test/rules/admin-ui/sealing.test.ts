// The forms of what is sealed, which links that were made before depend on. What sealing promises
// is in `test/rules/handovers.test.ts`.
import { describe, expect, test, vi } from 'vitest';
import {
  canSeal,
  contentOf,
  openerOf,
  readFragment,
  seal,
  unseal,
} from '../../../src/admin-ui/lib/sealing.ts';

const SECRET = 's'.repeat(43);

describe('what is sealed', () => {
  test('has twelve random bytes before it, and sixteen that prove it', async () => {
    const content = { secret: 'svck_live_a', name: 'Import' };
    const { sealed } = await seal(content);
    const bytes = JSON.stringify(content).length;
    expect(Buffer.from(sealed, 'base64url')).toHaveLength(12 + bytes + 16);
  });

  test('is opened by the links of before', async () => {
    const sealed = await sealedBefore({ secret: 'whsec_a', name: 'x', kind: 'endpoint', more: 1 });
    expect(await unseal(SECRET, sealed)).toEqual({
      secret: 'whsec_a',
      name: 'x',
      kind: 'endpoint',
    });
    const odd = await sealedBefore({ secret: 1, kind: 'other' });
    expect(await unseal(SECRET, odd)).toStrictEqual({ secret: '1', name: 'undefined' });
  });

  test('has the same opener for the same link', async () => {
    expect(await openerOf(SECRET)).toBe('0gbJDd7MIxudybFK93Gz1SMfpsI3KENv_7As-zRYbrY');
  });

  test('is encrypted by a key that no script can read', async () => {
    const derive = vi.spyOn(crypto.subtle, 'deriveKey');
    await seal({ secret: 'a', name: 'b' });
    const made = await derive.mock.results[0]?.value;
    derive.mockRestore();
    expect(made).toMatchObject({ extractable: false, usages: ['encrypt', 'decrypt'] });
  });

  test('needs a browser that can encrypt', () => {
    vi.stubGlobal('crypto', {});
    expect(canSeal()).toBe(false);
    vi.stubGlobal('crypto', undefined);
    expect(canSeal()).toBe(false);
    vi.unstubAllGlobals();
    expect(canSeal()).toBe(true);
  });

  test.each([
    [139, 139, false],
    [140, 140, false],
    [141, 140, true],
  ])('names a URL of %i characters with %i', (length, named, isCut) => {
    const url = 'https://x.test/'.padEnd(length, 'x');
    const { name } = contentOf({ url, secret: 'whsec_a' });
    expect(name).toHaveLength(named);
    expect(name.endsWith('…')).toBe(isCut);
    expect(name.startsWith(url.slice(0, 139))).toBe(true);
  });
});

describe('the part of a link after #', () => {
  test.each([`team_1.${SECRET}`, `#team_1.${SECRET}`])('is read from %s', (text) => {
    expect(readFragment(text)).toEqual({ teamId: 'team_1', secret: SECRET });
  });

  test.each([
    `x#team_1.${SECRET}`,
    `##team_1.${SECRET}`,
    `#team_1.${SECRET}x`,
    `#team_1.${SECRET} `,
    `#team_1.${SECRET.slice(1)}+`,
  ])('is not read from %s', (text) => {
    expect(readFragment(text)).toBeNull();
  });
});

/** Seals as links have been sealed from the beginning. */
async function sealedBefore(content: object): Promise<string> {
  const source = Buffer.from(SECRET, 'base64url');
  const encode = (text: string) => new TextEncoder().encode(text);
  const key = await crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: encode('handover key') },
    await crypto.subtle.importKey('raw', source, 'HKDF', false, ['deriveKey']),
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt'],
  );
  const iv = new Uint8Array(12).fill(7);
  const text = encode(JSON.stringify(content));
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, text);
  return Buffer.concat([iv, new Uint8Array(sealed)]).toString('base64url');
}

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashSecret, makeApiKey, parseApiKey } from '../../src/core/api-key.ts';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { decrypt, encrypt, reencrypt } from '../../src/core/encryption.ts';
import { credentialsContext } from '../../src/features/crm/connections/rules.ts';
import { webhookSecretContext } from '../../src/features/webhook-endpoints/rules.ts';

const OLD = 'o'.repeat(32);
const NEW = 'n'.repeat(32);
/** The message of Node's crypto, or ours for another first byte. */
const REFUSED = /unable to authenticate data|unknown encryption version/;
const only = (current: string) => ({ current, previous: null });

describe('an encrypted value', () => {
  it('is decrypted with its secret and context only', () => {
    const sealed = encrypt('sëcret', OLD, 'table.column:team_01/id_01');
    expect(decrypt(sealed, only(OLD), 'table.column:team_01/id_01')).toBe('sëcret');
    expect(() => decrypt(sealed, only(NEW), 'table.column:team_01/id_01')).toThrow(REFUSED);
    expect(() => decrypt(sealed, only(OLD), 'table.column:team_02/id_01')).toThrow(REFUSED);
  });

  // A change of the key derivation or of the layout would make every stored value unreadable.
  it('that an earlier version of the service stored can still be decrypted', () => {
    const stored = Buffer.from('Aa7ZYPiz4+sCz4eWPeDp3EhMqbYb4z7N/iYcR8AX3XLaNDDf', 'base64');
    expect(decrypt(stored, only(OLD), 'table.column:team_01/id_01')).toBe('sëcret');
  });

  it('is different every time', () => {
    expect(encrypt('x', OLD, 'c').equals(encrypt('x', OLD, 'c'))).toBe(false);
  });

  it('is refused if a single bit has changed', () => {
    const sealed = encrypt('x', OLD, 'c');
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      expect(() => decrypt(changed, only(OLD), 'c')).toThrow(REFUSED);
    }
  });

  it('of the previous secret is still decrypted, and encrypted again with the current one', () => {
    const secrets = { current: NEW, previous: OLD };
    const sealed = encrypt('x', OLD, 'c');
    expect(decrypt(sealed, secrets, 'c')).toBe('x');
    const rotated = reencrypt(sealed, secrets, 'c');
    expect(rotated && decrypt(rotated, only(NEW), 'c')).toBe('x');
  });

  it('of the current secret is not encrypted again', () => {
    expect(reencrypt(encrypt('x', NEW, 'c'), { current: NEW, previous: OLD }, 'c')).toBeNull();
  });

  it('of an unknown secret cannot be encrypted again', () => {
    const sealed = encrypt('x', randomUUID(), 'c');
    expect(() => reencrypt(sealed, { current: NEW, previous: OLD }, 'c')).toThrow(REFUSED);
  });
});

describe('a stored secret is bound to its table, column, team and row, for good:', () => {
  const { webhookSecret, earlierWebhookSecrets, keptResponse, fingerprint, crmCredentials } =
    ENCRYPTED_COLUMNS;

  it.each([
    [webhookSecret.context('team_1', 'whe_1'), 'webhook_endpoint.secret:team_1/whe_1'],
    [webhookSecretContext('team_1', 'whe_1'), 'webhook_endpoint.secret:team_1/whe_1'],
    [
      earlierWebhookSecrets.context('team_1', 'whe_1'),
      'webhook_endpoint.earlier_secrets:team_1/whe_1',
    ],
    [keptResponse.context('team_1', 'key_1'), 'idempotency_record.body team_1 key_1'],
    [fingerprint.context('team_1', 'key_1'), 'idempotency_record.fingerprint team_1 key_1'],
    [
      crmCredentials.context('team_1', 'crm_1'),
      'crm_connection.credentials_encrypted:team_1:crm_1',
    ],
    [credentialsContext('team_1', 'crm_1'), 'crm_connection.credentials_encrypted:team_1:crm_1'],
  ])('%s', (context, expected) => {
    expect(context).toBe(expected);
  });

  it('and no two columns, teams or rows have the same', () => {
    const contexts = Object.values(ENCRYPTED_COLUMNS).flatMap(({ context }) => [
      context('team_1', '1'),
      context('team_1', '2'),
      context('team_2', '1'),
    ]);
    expect(new Set(contexts).size).toBe(contexts.length);
  });
});

describe('an API key', () => {
  it('has a prefix to find it by, and a secret of which only the hash is stored', () => {
    const { key, prefix, secretHash } = makeApiKey('live');
    const parts = parseApiKey(key);
    expect(parts?.prefix).toBe(prefix);
    expect(hashSecret(parts?.secret ?? '')).toEqual(secretHash);
  });

  it('of a sandbox has another word and another prefix', () => {
    const { key, prefix } = makeApiKey('test');
    expect(key).toMatch(/^svck_test_t[0-9a-f]{16}_[0-9a-f]{64}$/);
    expect(parseApiKey(key)?.prefix).toBe(prefix);
    expect(parseApiKey(key.replace('svck_test', 'svck_live'))).toBeNull();
    const { key: live } = makeApiKey('live');
    expect(parseApiKey(live.replace('svck_live', 'svck_test'))).toBeNull();
  });

  it('has a secret of 256 random bits', () => {
    expect(makeApiKey('live').key).toMatch(/^svck_live_[0-9a-f]{16}_[0-9a-f]{64}$/);
    expect(makeApiKey('live').key).not.toBe(makeApiKey('live').key);
  });

  it.each([
    '',
    'svck_live_',
    'Bearer svck_live_0123456789abcdef_0123456789abcdef0123',
    'svck_test_0123456789abcdef_0123456789abcdef0123',
    'svck_live_t123456789abcdef_0123456789abcdef0123',
    'svck_test_t123456_0123456789abcdef0123',
    'svck_both_t123456789abcdef_0123456789abcdef0123',
    'svck_live_short_0123456789abcdef0123',
    'svck_live_0123456789abcdef_tooshort',
    'svck_live_0123456789abcdef_0123456789abcdef0123 ',
    'svck_live_0123456789abcdéf_0123456789abcdef0123',
  ])('does not have the form %j', (text) => {
    expect(parseApiKey(text)).toBeNull();
  });
});

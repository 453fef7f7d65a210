// What holds for connections of every provider, registered or not.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { connectInputOf } from '../../src/features/crm/connections/schema.ts';
import { isProviderError } from '../../src/features/crm/providers/errors.ts';
import { defineProvider, serializeCredentials } from '../../src/features/crm/providers/provider.ts';
import { PROVIDERS } from '../../src/features/crm/providers/registry.ts';
import { useCrmSync } from '../support/crm-sync.ts';
import { startWith } from '../support/crm/deals.ts';

const CREDENTIALS = {
  client_id: 'app',
  client_secret: 'the-client-secret',
  refresh_token: 'the-refresh-token',
};

/** A provider with other credentials than a token. It returns them as its owners. */
const other = defineProvider({
  credentials: z.strictObject({
    client_id: z.string(),
    client_secret: z.string(),
    refresh_token: z.string(),
  }),
  open: async ({ client_id, client_secret, refresh_token }) => ({
    lists: [],
    check: async () => undefined,
    listOwners: async () => new Map(Object.entries({ client_id, client_secret, refresh_token })),
    readPage: async () => ({
      deals: [],
      deletedDealIds: [],
      notes: [],
      next: null,
      modifiedUntil: null,
    }),
    close: () => undefined,
  }),
});
const OPTIONS = { baseUrl: null, timeoutMs: 60_000, answerMaxBytes: 1_000_000, readsNotes: false };

describe('credentials that are not a token', () => {
  test('are those that the provider declares, in the input and when it is opened', async () => {
    const input = connectInputOf({ ...PROVIDERS, other }).parse({
      provider: 'other',
      credentials: CREDENTIALS,
    });
    const client = await other.open(serializeCredentials(input.credentials), OPTIONS);
    expect(Object.fromEntries(await client.listOwners())).toEqual(CREDENTIALS);
  });

  test.each([
    {
      what: 'a token for them',
      provider: 'other',
      credentials: 'the-token',
      path: ['credentials'],
    },
    {
      what: 'them for a token',
      provider: 'hubspot',
      credentials: CREDENTIALS,
      path: ['credentials'],
    },
    {
      what: 'an unknown field',
      provider: 'other',
      credentials: { ...CREDENTIALS, nonsense: 'x' },
      path: ['credentials'],
    },
    {
      what: 'an unknown provider',
      provider: 'nobody',
      credentials: 'the-token',
      path: ['provider'],
    },
  ])('are not accepted as other ones: $what', ({ path, provider, credentials }) => {
    const { error } = connectInputOf({ ...PROVIDERS, other }).safeParse({ provider, credentials });
    expect(error?.issues.map((issue) => issue.path)).toEqual([path]);
  });

  test.each([
    { what: 'text', stored: 'the-secret-that-no-error-may-quote' },
    { what: 'JSON of another shape', stored: '{"secret":"the-secret-that-no-error-may-quote"}' },
  ])('that the provider no longer accepts are unreadable: $what', async ({ stored }) => {
    const error = await other.open(stored, OPTIONS).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: 'credentials_unreadable', cause: undefined });
    expect(isProviderError(error)).toBe(true);
  });
});

describe('a stored connection', () => {
  const { connect, events, rows, sync } = useCrmSync();

  test('of an unregistered provider is never read from another CRM', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    await rows(`update crm_connection set provider = 'salesforce'`);
    await expect(sync(id)).rejects.toThrow('salesforce');
    expect(crm.requests).toEqual([]);
    expect(await events()).toEqual([
      { team_id: 'team_a', connection_id: id, provider: 'salesforce', reason: 'internal' },
    ]);
  });

  test('with another base URL is not read where that is not allowed', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    await expect(
      sync(id, { settings: { timeoutMs: 60_000, allowBaseUrl: false } }),
    ).rejects.toThrow('validation_error');
    expect(crm.requests).toEqual([]);
    expect(await events()).toMatchObject([{ reason: 'internal' }]);
  });

  test.each(['', 'Salesforce', 'sales force', '1crm', 'x'.repeat(51)])(
    'cannot be of a provider "%s"',
    async (name) => {
      await connect(await startWith('hubspot'));
      await expect(rows('update crm_connection set provider = $1', [name])).rejects.toThrow(
        'crm_connection_provider_check',
      );
    },
  );
});

import { z } from 'zod';
import { isMappedNetwork, isNetwork } from '../../core/network.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personal, secretField } from '../../core/private-fields.ts';
import { TEST_SCOPES } from '../../core/scopes.ts';
import { dateTime, dateTimeInput, id, listOf } from '../../core/shapes.ts';

const NAME_MAX = 100;
const GRACE_MAX_S = 30 * 24 * 3600;
const ALLOWED_IPS_MAX = 100;
const NETWORK_MAX_CHARACTERS = 100;
/** Duplicates collapse, so there may be more than there are scopes. */
const SCOPES_MAX = 100;
const NAMES_MAX = 200;

export const apiKey = z.object({
  id: z.string().meta({ description: 'The value for `key_id`, not the key itself.' }),
  name: z.string(),
  prefix: z.string().meta({
    description:
      'The public part of the key, `svck_live_<prefix>_…`, to recognize it by. That of a ' +
      'test key begins with `t`.',
  }),
  scopes: z.array(z.string()),
  creator: z.object({
    member_id: z.string(),
    email: personal(z.string().nullable().meta({ description: 'Null if the person was deleted.' })),
  }),
  created_at: dateTime,
  last_used_at: dateTime
    .nullable()
    .meta({ description: 'The minute of the last use; null if none is known.' }),
  expires_at: dateTime.nullable().meta({ description: 'null: never.' }),
  revoked_at: dateTime.nullable().meta({
    description:
      'When it was revoked. A time in the future is the end of the grace period of a rotation.',
  }),
  stored_at: dateTime.nullable().meta({
    description: 'When somebody confirmed that the key is stored; null: nobody did.',
  }),
  allowed_ips: z
    .array(z.string())
    .nullable()
    .meta({ description: 'Addresses and networks that may use it; null: any.' }),
  state: z
    .enum(['active', 'expired', 'revoked'])
    .meta({ description: 'It is `active` also during the grace period of a rotation.' }),
});

export const apiKeyPage = pageOf(apiKey);

/** How a key is called, for what names it by its id. */
export const keyNames = z.object({
  data: z
    .array(apiKey.pick({ id: true, name: true }))
    .meta({ description: 'Those of the team, in any state and in any order.' }),
});

export const createdApiKey = apiKey.extend({
  key: secretField(
    z.string().meta({
      description:
        'The whole key. Only this response shows it, and for a day its repetition with the same ' +
        '`Idempotency-Key` by the same member: the service stores a hash.',
    }),
  ),
});

export const templates = z.object({
  templates: z.array(
    z.object({
      id: z.string(),
      name: z.string().meta({ description: 'In the language of `Accept-Language`.' }),
      purpose: z.string().meta({ description: 'What a program with such a key can do, in words.' }),
      scopes: z.array(z.string()),
    }),
  ),
  scopes: z
    .array(z.object({ scope: z.string(), description: z.string() }))
    .meta({ description: 'Every scope, for a custom selection.' }),
});

const network = z
  .string()
  .trim()
  .max(NETWORK_MAX_CHARACTERS, { abort: true })
  .refine(isNetwork, {
    error: 'Expected an IPv4 or IPv6 address, or a network such as 10.0.0.0/8.',
    abort: true,
    params: { code: 'invalid_network' },
  })
  .refine((text) => !isMappedNetwork(text), {
    error: 'Write an IPv4 address as one, without ::ffff:.',
    params: { code: 'mapped_network' },
  });

const expiresAt = dateTimeInput.nullable().optional();
const keyId = { key_id: id.meta({ description: 'Id of a key.' }) };

export const listInput = z.object({
  ...pageQuery,
  // A filter for ended keys would have to read all of them.
  state: z.literal('active').optional().meta({
    description: 'Only keys that work, those in a grace period among them. Left out: all keys.',
  }),
});
export const namesInput = z.strictObject({ key_ids: z.array(id).min(1).max(NAMES_MAX) });
export const getInput = z.object(keyId);
export const templatesInput = z.object({});
export const createInput = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1)
    .max(NAME_MAX)
    .meta({ description: 'Unique among all keys that the team has or had.' }),
  scopes: listOf(z.enum(TEST_SCOPES), { min: 1, max: SCOPES_MAX }).meta({
    description: 'Fixed for the life of the key.',
  }),
  allowed_ips: listOf(network, { min: 1, max: ALLOWED_IPS_MAX })
    .nullable()
    .optional()
    .meta({ description: 'Addresses or CIDR networks; left out or null: any.' }),
  expires_at: expiresAt.meta({ description: 'In the future; left out or null: never.' }),
});
export const confirmStoredInput = z.strictObject(keyId);
export const revokeInput = z.strictObject(keyId);
export const rotateInput = z.strictObject({
  ...keyId,
  grace_s: z.int().min(0).max(GRACE_MAX_S).meta({
    description:
      'The grace period: for so many seconds the old key still works. 0: it ends at once.',
  }),
  expires_at: expiresAt.meta({
    description: 'Of the new key. Left out: the same as the old key; null: never.',
  }),
});

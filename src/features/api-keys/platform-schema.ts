import { z } from 'zod';
import { teamInput } from '../../core/platform-shapes.ts';
import { secretField } from '../../core/private-fields.ts';
import { dateTime, id } from '../../core/shapes.ts';
import { TEMPLATE_IDS } from './rules.ts';
import { apiKey, createInput } from './schema.ts';

const { name, scopes, allowed_ips, expires_at } = createInput.shape;

/** Either `template` or `scopes` says what the key may do. */
export const createFirstInput = z
  .strictObject({
    ...teamInput,
    name,
    template: z.enum(TEMPLATE_IDS).optional().meta({ description: 'A set of scopes.' }),
    scopes: scopes.optional(),
    allowed_ips,
    expires_at,
  })
  .refine((input) => (input.template === undefined) !== (input.scopes === undefined), {
    error: 'Say by template or by scopes what the key may do.',
  });

export const platformRevokeInput = z.strictObject({
  ...teamInput,
  key_id: id.meta({ description: 'Id of a key, not the key itself.' }),
});

/** A key that nobody can use any more. */
export const revokedKey = apiKey
  .pick({ name: true, prefix: true, state: true, revoked_at: true })
  .extend({ key_id: z.string() });

/** A first key. Only this response shows `key`: the service stores a hash. */
export const firstKey = z.object({
  key_id: z.string(),
  owner_member_id: z.string().meta({ description: 'Whose key it is.' }),
  name: z.string(),
  prefix: z.string(),
  scopes: z.array(z.string()),
  expires_at: dateTime.nullable(),
  key: secretField(z.string().meta({ description: 'The whole key.' })),
});

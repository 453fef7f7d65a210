import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { teamInput } from '../../core/platform-shapes.ts';
import { dateTime, id } from '../../core/shapes.ts';
import { SEALED_MAX, SEALED_MIN, TOKEN, TOKEN_CHARACTERS } from './rules.ts';

const link = {
  id: z.string().meta({ description: 'A hash. Nothing can be opened with it.' }),
  created_by: z.string().meta({ description: 'The id of the member who made the link.' }),
  created_at: dateTime,
  expires_at: dateTime.meta({ description: 'Also when it was withdrawn, if it was.' }),
  opened_at: dateTime.nullable().meta({ description: 'null: nobody has opened it.' }),
  state: z
    .enum(['open', 'opened', 'ended'])
    .meta({ description: '`ended`: it has expired or was withdrawn.' }),
};

/** A link to a key. */
export const handover = z.object({ ...link, key_id: z.string() });
export const handoverPage = pageOf(handover.extend({ key_name: z.string() }));

/** A link to the signing secret of a webhook endpoint. */
export const endpointHandover = z.object({ ...link, endpoint_id: z.string() });
export const endpointHandoverPage = pageOf(endpointHandover);

const handoverId = {
  handover_id: z
    .string()
    .length(TOKEN_CHARACTERS)
    .regex(TOKEN, { error: 'Expected 32 bytes as base64url.' })
    .meta({ description: 'The SHA-256 hash, as base64url, of the text that opens the link.' }),
};

/** Of base64url: four characters for three bytes. */
const charactersOf = (bytes: number): number => Math.ceil((bytes * 4) / 3);

const sealed = z
  .string()
  .min(charactersOf(SEALED_MIN))
  .max(charactersOf(SEALED_MAX))
  .regex(/^[0-9A-Za-z_-]*$/, { error: 'Expected base64url without padding.' })
  .meta({ description: 'What is handed over, encrypted in the browser, as base64url.' });

const endpointId = { endpoint_id: id.meta({ description: 'Id of a webhook endpoint.' }) };

export const createInput = z.strictObject({
  ...handoverId,
  key_id: id.meta({ description: 'Id of the key that is handed over.' }),
  sealed,
});
export const createForEndpointInput = z.strictObject({
  ...handoverId,
  ...endpointId,
  secret_hash: z
    .string()
    .length(TOKEN_CHARACTERS)
    .regex(TOKEN, { error: 'Expected 32 bytes as base64url.' })
    .meta({
      description:
        'The SHA-256 hash of the secret, as base64url. It must be the present one of the endpoint.',
    }),
  sealed,
});
export const platformCreateInput = z.strictObject({ ...teamInput, ...createInput.shape });
export const listInput = z.object(pageQuery);
export const listOfEndpointInput = z.object({ ...pageQuery, ...endpointId });
export const getInput = z.object(handoverId);
export const withdrawInput = z.strictObject(handoverId);

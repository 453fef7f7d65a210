import { z } from 'zod';
import { ACTOR_KINDS } from '../../core/actor.ts';
import { withholdAuditDetails } from '../../core/audit-actions.ts';
import { pageQuery, searchPageOf } from '../../core/page.ts';
import { personalParts } from '../../core/private-fields.ts';
import { dateTime, dateTimeInput, id, nameInput } from '../../core/shapes.ts';

export const auditEntry = z.object({
  id: z.string(),
  created_at: dateTime,
  actor: z.object({
    kind: z.string().meta({ description: '`api_key`, `user`, `platform` or `system`.' }),
    id: z.string().meta({ description: 'The id of the key, the member or the service.' }),
  }),
  action: z.string().meta({ description: 'For instance `member.invited`.' }),
  target_id: z.string().nullable(),
  request_id: z.string(),
  details: personalParts(
    z.record(z.string(), z.unknown()).meta({
      description:
        'Ids and names of fields. Personal ones are present if `member_detail_enabled` is on, ' +
        'and was on when the entry was written.',
    }),
    (details, { action }) => withholdAuditDetails(String(action), details),
  ),
});

export const auditPage = searchPageOf(auditEntry);

export const listInput = z.strictObject({
  ...pageQuery,
  actor_kind: z.enum(ACTOR_KINDS).optional(),
  actor_id: id.optional(),
  action: nameInput.optional(),
  target_id: id.optional(),
  since: dateTimeInput.optional().meta({ description: 'Written at or after.' }),
  until: dateTimeInput.optional().meta({ description: 'Written before.' }),
});

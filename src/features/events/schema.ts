import { z } from 'zod';
import { EVENT_TYPES, withholdEventData } from '../../core/events.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personalParts } from '../../core/private-fields.ts';
import { dateTime, dateTimeInput, knownText, nameInput } from '../../core/shapes.ts';

/** An event as a webhook delivers it. */
export const event = z
  .object({
    id: z.string().meta({ description: 'The `Svc-Event-Id` and `webhook-id` of its deliveries.' }),
    type: knownText(EVENT_TYPES).meta({ description: 'What happened.' }),
    created_at: dateTime.meta({ description: 'When it happened.' }),
    api_version: z.string().meta({ description: 'Version of the event format, year and month.' }),
    tenant_id: z.string().meta({ description: 'The team.' }),
    data: personalParts(
      z.record(z.string(), z.unknown()).meta({
        description:
          'Depends on the type; see the event catalogue. Personal fields are present if ' +
          '`member_detail_enabled` is on, and was on when the event happened.',
      }),
      (data, { type }) => withholdEventData(String(type), data),
    ),
  })
  .meta({ description: 'Something that happened in the team.' });

export const eventPage = pageOf(event);

const types = EVENT_TYPES.map((type) => `\`${type}\``).join(', ');

export const listInput = z.object({
  ...pageQuery,
  type: knownText(EVENT_TYPES, nameInput)
    .optional()
    .meta({
      description: `Only events of this type, one of: ${types}.`,
      examples: ['assignment.created'],
    }),
  since: dateTimeInput.optional().meta({
    description:
      'Only events that happened at or after this moment; a date-time with an offset. Encode ' +
      'the `+` of an offset as `%2B`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
});

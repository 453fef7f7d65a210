import { z } from 'zod';
import { EVENT_TYPES, withholdEventData } from '../../core/events.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personalParts } from '../../core/private-fields.ts';
import { dateTime, dateTimeInput, id, knownText, nameInput } from '../../core/shapes.ts';
import { ORDERS } from './rules.ts';

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

export const eventPage = pageOf(event)
  .extend({
    next_after: z
      .string()
      .nullable()
      .optional()
      .meta({
        description:
          'Only with `order=asc`: what to remember, and to pass as `after` next time. Null ' +
          'before the first event of the team.',
      }),
  })
  .meta({ description: 'A page of events.' });

const types = EVENT_TYPES.map((type) => `\`${type}\``).join(', ');

export const listInput = z.object({
  ...pageQuery,
  type: knownText(EVENT_TYPES, nameInput)
    .optional()
    .meta({
      description: `Only events of this type, one of: ${types}.`,
      examples: ['assignment.created'],
    }),
  order: knownText(ORDERS, nameInput)
    .optional()
    .meta({
      description:
        '`desc`, the default: the newest first, by `created_at`. `asc`: in the order in which ' +
        'events became visible, which skips none, however late it was committed. An event is in ' +
        'it within a second or two.',
      examples: ['desc'],
    }),
  after: id.optional().meta({
    description:
      'Only with `order=asc`: the events behind this one. Pass the `next_after` of the last ' +
      'response, the id of an event, or `now` to begin with now. Without: from the oldest event ' +
      'that is kept. If what follows may be deleted, the error has the field `after`: start over ' +
      'without it.',
  }),
  since: dateTimeInput.optional().meta({
    description:
      'Only events that happened at or after this moment; a date-time with an offset. Encode ' +
      'the `+` of an offset as `%2B`. Not with `order=asc`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
});

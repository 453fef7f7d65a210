import { z } from 'zod';
import { LIVE_STATUSES, ROLES } from '../../core/actor.ts';
import { LANGUAGES } from '../../core/language.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personal } from '../../core/private-fields.ts';
import { dateTime, id, knownAddress, knownText, nameInput, newAddress } from '../../core/shapes.ts';
import { ASSIGNABLE_ROLES, SORTS } from './rules.ts';

/** A member as the API shows it. */
export const member = z
  .object({
    id: z.string().meta({ description: 'Id of the membership; the value for `{member_id}`.' }),
    user_id: z
      .string()
      .nullable()
      .meta({ description: 'The person; null until an invitation is accepted.' }),
    email: personal(z.string().nullable().meta({ description: "The person's address." })),
    role: knownText(ROLES).meta({
      description: 'What the person may do in the app.',
    }),
    status: knownText(LIVE_STATUSES).meta({
      description: '`invited` until the invitation is accepted.',
    }),
    joined_at: dateTime.nullable().meta({ description: 'When the membership became active.' }),
  })
  .meta({ description: "A person's membership in the team." });

export const memberExample = {
  id: 'mem_01jc4f3x',
  user_id: 'usr_01jc4f40',
  email: 'kim@example.com',
  role: 'member',
  status: 'active',
  joined_at: '2026-03-02T09:15:00.000Z',
};

export const memberPage = pageOf(member);

/** How many members can be named at once. */
const NAMES_MAX = 200;

/** A member as the admin page finds them. */
export const foundMember = member.extend({
  rights: z.array(z.string()).meta({ description: 'What an admin may do besides.' }),
});
export const foundMemberPage = pageOf(foundMember);

/** How a member is called, for what names them by their id. */
export const memberNames = z.object({
  data: z
    .array(member.pick({ id: true, user_id: true, email: true }))
    .meta({ description: 'Those of the team that are members or invited, in any order.' }),
});

export const seats = z.object({
  seats: z.int().meta({ description: 'How many the plan has.' }),
  used: z.int().meta({ description: 'How many members and invitations take.' }),
});
export const leaver = z.object({
  open_assignments: personal(
    z.int().meta({ description: 'How many a removal revokes, 1000 at most.' }),
  ),
  has_more: personal(z.boolean().meta({ description: 'Whether there are more.' })),
});

const memberId = {
  member_id: id.meta({ description: 'Id of a member.', examples: ['mem_01jc4f3x'] }),
};

/**
 * Any text. The operation checks the role, because the specification wants `field` in that error.
 */
const role = knownText(ASSIGNABLE_ROLES, nameInput).meta({
  description: '`admin` or `member`.',
  examples: ['member'],
});

export const listInput = z.object({
  ...pageQuery,
  status: knownText(LIVE_STATUSES, nameInput.min(1))
    .optional()
    .meta({ description: 'Only members with this status.', examples: ['active'] }),
  role: knownText(ROLES, nameInput.min(1))
    .optional()
    .meta({ description: 'Only members with this role.', examples: ['admin'] }),
  email: knownAddress.optional().meta({
    description:
      'Only the member with this address, in any case. Encode a `+` as `%2B`. ' +
      '403 `privacy_restricted` while `member_detail_enabled` is off.',
    examples: ['lukas.hoffmann@hansa-vertrieb.example'],
  }),
});
export const searchInput = z.strictObject({
  ...pageQuery,
  text: z
    .string()
    .trim()
    .min(1)
    .max(254)
    .optional()
    .meta({
      description:
        'A part of the address or of an id, in any case. A whole address finds only whoever has ' +
        'it. While `member_detail_enabled` is off, only ids are searched, and a whole id finds ' +
        'only whoever has it.',
    }),
  role: z.enum(ROLES).optional(),
  status: z.enum(LIVE_STATUSES).optional(),
  sort: z
    .enum(SORTS)
    .default('newest')
    .meta({
      description:
        '`newest`: whoever was added last comes first. `address`: A to Z; 403 ' +
        '`privacy_restricted` while `member_detail_enabled` is off. `role`: the owner, admins, ' +
        'members. `joined`: whoever joined last comes first; `joined_first`: the other way round.',
    }),
});
export const seatsInput = z.object({});
export const namesInput = z.strictObject({
  member_ids: z.array(id).min(1).max(NAMES_MAX),
});
export const getInput = z.object(memberId);
export const createInput = z.strictObject({
  email: newAddress.meta({
    description: 'Where the invitation goes.',
    examples: ['kim@example.com'],
  }),
  role: role.default('member'),
  lang: z
    .enum(LANGUAGES)
    .nullable()
    .optional()
    .meta({ description: "Language of the invitation; if left out, the team's." }),
});
export const updateInput = z.strictObject({ ...memberId, role });
export const removeInput = z.strictObject(memberId);

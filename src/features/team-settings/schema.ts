import { z } from 'zod';
import { SCHNITTSTELLEN } from '../../core/access.ts';
import { CATALOG_KINDS } from '../../core/catalog-kinds.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personal } from '../../core/private-fields.ts';
import { id, listOf } from '../../core/shapes.ts';

/** More than any catalog has, but few enough for one statement. */
const IDS_MAX = 5000;

const memberId = id.meta({ description: 'Id of an active or invited member.' });
const right = z
  .enum([SCHNITTSTELLEN])
  .meta({ description: 'The right to create, rotate and revoke API keys.' });
const rights = z
  .array(z.string())
  .meta({ description: 'Team rights beyond the role; `schnittstellen` or none.' });

export const nothing = z.object({});

export const admin = z.object({
  member_id: z.string(),
  email: personal(z.string()),
  status: z.string().meta({ description: '`active` or `invited`.' }),
  rights,
});
export const adminsInput = z.object(pageQuery);
export const adminPage = pageOf(admin);

export const rightInput = z.strictObject({ member_id: memberId, right });
export const heldRights = z.object({ member_id: z.string(), rights });

const memberDetail = z
  .boolean()
  .meta({ description: 'Whether data of single members may be shown: trainings, scores, emails.' });
const leaderboard = z.boolean().meta({ description: 'Whether the analytics may rank members.' });

export const privacy = z.object({
  member_detail_enabled: memberDetail,
  leaderboard_enabled: leaderboard,
});
export const setPrivacyInput = z.strictObject({
  member_detail_enabled: memberDetail.optional(),
  leaderboard_enabled: leaderboard.optional(),
});

const ids = listOf(id, { max: IDS_MAX });

export const policy = z.object({
  blocked: z.array(z.string()).meta({ description: 'Ids of blocked catalog entries.' }),
});
const blocked = ids.meta({
  description: 'The whole list of blocked catalog entries, global or own.',
});
const was = {
  description:
    'As it was read. If it is another one now, the call fails with `precondition_failed`.',
};
const policyChange = { blocked, was: ids.optional().meta(was) };
export const setPolicyInput = z.strictObject(policyChange);
export const memberPolicyInput = z.strictObject({ member_id: memberId });
export const setMemberPolicyInput = z.strictObject({ member_id: memberId, ...policyChange });

const everything = z.literal('all');
export const release = z.object({
  released: z
    .union([everything, z.array(z.string())])
    .meta({ description: '`all`, or the ids of global entries.' }),
});
const released = z.union([everything, ids]);
export const setReleaseInput = z.strictObject({
  released: released.meta({
    description: '`all` for every global entry, future ones included; or the whole list of ids.',
  }),
  was: released.optional().meta(was),
});

const kind = z.enum(CATALOG_KINDS);

export const catalogInput = z.object({
  ...pageQuery,
  kind: kind.optional().meta({ description: 'Only entries of this kind.' }),
});
export const catalogPage = pageOf(
  z.object({
    id: z.string(),
    kind,
    name: z
      .string()
      .nullable()
      .meta({ description: 'In the language of `Accept-Language`; else in another one.' }),
    icon: z.string().nullable(),
    own: z
      .boolean()
      .meta({ description: "True for the team's own entry, false for a global one." }),
    released: z.boolean().meta({ description: 'Always true for own entries.' }),
    blocked: z.boolean().meta({
      description:
        "Whether the team's policy blocks it. The policies of members do not count here.",
    }),
  }),
);

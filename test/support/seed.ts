import { isSandbox, modeOf, SANDBOX_OWNER } from '../../src/core/sandbox.ts';
import { scopesOf } from '../../src/core/scopes.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';

/** A team in a seed file. */
export type TeamSeed = NonNullable<SeedFileInput['teams']>[number];
type MemberSeed = NonNullable<TeamSeed['members']>[number];
type TrainingSeed = NonNullable<TeamSeed['trainings']>[number];
type DeliverySeed = NonNullable<TeamSeed['webhook_deliveries']>[number];

/**
 * Global catalog entries, with the ids that the examples of the endpoints use. Unless a test says
 * otherwise, all of them are released to every team, and nothing is forbidden or blocked.
 */
export const CATALOG = [
  {
    kind: 'situation',
    id: 'sit_cold',
    name: { de: 'Kaltakquise', en: 'Cold call' },
    icon: 'phone',
  },
  { kind: 'situation', id: 'sit_renewal', name: { de: 'Verlängerung', en: 'Renewal' } },
  { kind: 'personality', id: 'per_calm', name: { de: 'Ruhig', en: 'Calm' } },
  { kind: 'personality', id: 'per_tough', name: { de: 'Hart', en: 'Tough' } },
  { kind: 'industry', id: 'ind_saas', name: { de: 'SaaS', en: 'SaaS' } },
  { kind: 'industry', id: 'ind_public', name: { de: 'Öffentliche Hand', en: 'Public sector' } },
  { kind: 'role', id: 'rol_buyer', name: { de: 'Einkauf', en: 'Buyer' } },
  { kind: 'methodology', id: 'met_spin', name: { de: 'SPIN', en: 'SPIN' } },
] as const satisfies NonNullable<SeedFileInput['catalog']>;

/** Makes a seed file with these teams and {@link CATALOG}, which `fields` may replace. */
export function makeSeed(teams: TeamSeed[], fields: Partial<SeedFileInput> = {}): SeedFileInput {
  return { catalog: [...CATALOG], ...fields, teams };
}

/**
 * Makes a team `team_<name>` with an owner, an admin and a member, all active (`mem_<name>_owner`
 * …). Its keys are `full` (every scope, created by the owner), `by_admin` and `by_member` (every
 * scope), `none` (no scope) and one for each scope. The members and keys in `fields` are added to
 * these; the other fields replace them.
 */
export function makeTeam(name: string, fields: Partial<TeamSeed> = {}): TeamSeed {
  return {
    id: `team_${name}`,
    name: `Team ${name}`,
    plan: 'team',
    seats: 1000,
    ...fields,
    members: [
      makeMember(name, 'owner', { role: 'owner' }),
      makeMember(name, 'admin', { role: 'admin' }),
      makeMember(name, 'member'),
      ...(fields.members ?? []),
    ],
    api_keys: [
      { name: 'full', scopes: 'all' },
      { name: 'by_admin', scopes: 'all', created_by: creator(name, 'admin') },
      { name: 'by_member', scopes: 'all', created_by: creator(name, 'member') },
      { name: 'none', scopes: [] },
      ...scopesOf(modeOf(name)).map((scope) => ({ name: scope, scopes: [scope] })),
      ...(fields.api_keys ?? []),
    ],
  };
}

/** Makes an active member `mem_<team>_<name>`, user `usr_<team>_<name>`, `<name>@<team>.test`. */
export function makeMember(
  team: string,
  name: string,
  fields: Partial<MemberSeed> = {},
): MemberSeed {
  const invited = fields.status === 'invited';
  return {
    id: memberId(team, name),
    user_id: invited ? null : userId(team, name),
    email: `${name}@${team}.test`,
    role: 'member',
    status: 'active',
    joined_at: invited ? null : '2026-01-01T08:00:00Z',
    created_at: '2026-01-01T08:00:00Z',
    ...fields,
  };
}

/** The id of the member `name` of `team_<team>`. */
export const memberId = (team: string, name: string): string =>
  isSandbox(team) && name === 'owner' ? SANDBOX_OWNER.memberId : `mem_${team}_${name}`;
/** The user id of the member `name` of `team_<team>`. */
export const userId = (team: string, name: string): string =>
  isSandbox(team) && name === 'owner' ? SANDBOX_OWNER.userId : `usr_${team}_${name}`;
/** The keys of a sandbox are its owner's. */
const creator = (team: string, name: string): string =>
  memberId(team, isSandbox(team) ? 'owner' : name);

/** Makes a delivery that gave up hours ago: its receiver answered 503 to each attempt. */
export function makeFailed(
  id: string,
  endpointId: string,
  fields: Partial<DeliverySeed> = {},
): DeliverySeed {
  return {
    id,
    endpoint_id: endpointId,
    event_type: 'member.joined',
    status: 'gave_up',
    attempt: 8,
    created_at: new Date(Date.now() - 3 * 3_600_000).toISOString(),
    response_code: 503,
    response_excerpt: 'Maintenance',
    response_ms: 12,
    ...fields,
  };
}

/** Makes a scored training of the team's member. */
export function makeTraining(
  team: string,
  id: string,
  fields: Partial<TrainingSeed> = {},
): TrainingSeed {
  return {
    id,
    user_id: userId(team, 'member'),
    status: 'scored',
    created_at: '2026-10-01T09:00:00Z',
    finished_at: '2026-10-01T09:07:00Z',
    duration_s: 420,
    situation_id: 'sit_cold',
    evaluation: makeEvaluation(71),
    ...fields,
  };
}

/** Makes an evaluation with this total, which is also the score of every dimension. */
export function makeEvaluation(total: number): NonNullable<TrainingSeed['evaluation']> {
  return {
    saved_at: '2026-10-01T09:08:00Z',
    score: {
      total,
      spread: 4.5,
      dimensions: {
        closing: total,
        conversation_control: total,
        needs_analysis: total,
        objection_handling: total,
        value_argument: total,
      },
    },
    tips: [{ issue: 'i', moment: 'm', principle: 'p', rewrite: 'r', impact: 'x' }],
    goal: 'partial',
    methodology: 'met_spin',
    strongest: 'Opening',
    biggest_lever: 'Closing',
  };
}

/**
 * Makes a team as {@link makeTeam} does, with one of everything. The ids end in the team's name:
 * `trn_<name>`, `asg_<name>`, `cas_<name>`, `deal_<name>`, `whe_<name>` …
 */
export function makeFullTeam(name: string, fields: Partial<TeamSeed> = {}): TeamSeed {
  const member = userId(name, 'member');
  return makeTeam(name, {
    trainings: [
      makeTraining(name, `trn_${name}`),
      makeTraining(name, `trn_${name}_running`, {
        status: 'running',
        finished_at: null,
        evaluation: null,
      }),
    ],
    assignments: [
      {
        id: `asg_${name}`,
        member_id: memberId(name, 'member'),
        title: 'Practise objections',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
        due_date: '2026-12-01',
        created_at: '2026-10-01T08:00:00Z',
        external_ref: { id: `ext_${name}` },
      },
    ],
    cases: [
      {
        id: `cas_${name}`,
        user_id: member,
        title: 'A case',
        fields: { budget: 1 },
        external_ref: { lms: 7 },
      },
      { id: `cas_${name}_private`, user_id: member, title: 'Private', private: true },
    ],
    crm_connections: [{ id: `crm_${name}`, provider: 'hubspot' }],
    crm_deals: [
      {
        id: `deal_${name}`,
        external_id: '42',
        outcome: 'open',
        title: 'A deal',
        amount: '12500.00',
        currency: 'EUR',
        close_date: '2026-12-31',
        probability: 60,
        owner_user_id: member,
      },
    ],
    crm_objections: [
      {
        id: `obj_${name}`,
        deal_id: `deal_${name}`,
        category: 'price',
        text: 'Too expensive',
        lang: 'en',
      },
    ],
    webhook_endpoints: [
      { id: `whe_${name}`, url: 'https://example.com/hook', events: ['training.completed'] },
    ],
    ...fields,
  });
}

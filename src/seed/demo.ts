// The demo team of `npm start`: a small sales team to try every endpoint with. The rows that a
// person reads first are written by hand. Most of the trainings are generated, always up to `now`.
import { DEMO_CATALOG, DEMO_RULES } from './demo-catalog.ts';
import {
  demoAssignments,
  demoCases,
  demoDeals,
  demoObjections,
  demoTrainings,
  type Ago,
  type Team,
} from './demo-history.ts';
import { DEMO_KEYS } from './demo-calls.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID, EXAMPLE_IDS } from './demo-team.ts';
import { DEMO_ENDPOINTS, demoDeliveries } from './demo-webhooks.ts';
import { SANDBOX_LIMITS, SANDBOX_OWNER } from '../core/sandbox.ts';
import type { SeedFileInput } from './schema.ts';

const DAY_MS = 86_400_000;

/**
 * Returns a seed file for {@link loadSeed}: the demo team with an API key `demo` that has
 * every scope, and its sandbox with a test key of that name. The sandbox is empty until a reset
 * brings it a scenario.
 */
export function demoSeedFile(now: Date = new Date()): SeedFileInput {
  const ago = (days: number, minutes = 0): string =>
    new Date(now.getTime() - days * DAY_MS + minutes * 60_000).toISOString();
  const team: Team = {
    id: DEMO_TEAM_ID,
    name: 'Hansa Vertrieb GmbH',
    plan: 'enterprise',
    seats: 25,
    language: 'de',
    blocked: ['ind_gambling'],
    members: demoMembers(ago),
    api_keys: DEMO_KEYS,
    assignments: demoAssignments(now, ago),
    trainings: demoTrainings(ago),
    cases: demoCases(ago),
    crm_connections: [{ id: 'crm_demo', provider: 'hubspot', status: 'active' }],
    crm_deals: demoDeals(now, ago),
    crm_objections: demoObjections(ago),
    webhook_endpoints: DEMO_ENDPOINTS,
    webhook_deliveries: [
      {
        id: EXAMPLE_IDS.webhookDelivery,
        event_type: 'evaluation.completed',
        status: 'gave_up',
        attempt: 8,
        created_at: ago(3),
        response_code: 503,
        response_excerpt: 'Maintenance until Monday',
        response_ms: 118,
      },
      {
        event_type: 'assignment.created',
        created_at: ago(6),
        response_code: 204,
        response_excerpt: '',
        response_ms: 42,
      },
      ...demoDeliveries(ago),
    ],
    generate: { trainings: 240, crm_deals: 12, from: ago(84), to: ago(0), random_seed: 2026 },
  };
  return {
    catalog: [...DEMO_CATALOG],
    catalog_rules: DEMO_RULES,
    teams: [team, demoSandbox(team, ago)],
  };
}

function demoSandbox({ name, plan, language }: Team, ago: Ago): Team {
  const { memberId, userId, email } = SANDBOX_OWNER;
  return {
    id: DEMO_SANDBOX_ID,
    name,
    plan,
    language,
    seats: SANDBOX_LIMITS.seats,
    rate_limit_per_min: SANDBOX_LIMITS.requestsPerMinute,
    members: [{ id: memberId, user_id: userId, email, role: 'owner', created_at: ago(1) }],
    api_keys: [{ name: 'demo', scopes: 'all' }],
  };
}

const PEOPLE = [
  ['sabine.krueger', 'owner'],
  ['thomas.weber', 'admin'],
  ['emily.clarke', 'admin'],
  ['lukas.hoffmann', 'member'],
  ['aylin.yilmaz', 'member'],
  ['oliver.bennett', 'member'],
  ['julia.neumann', 'member'],
  ['mehmet.kaya', 'member'],
  ['charlotte.hughes', 'member'],
  ['jan.petersen', 'member'],
] as const;

/** The position of the person in the examples of the documentation. */
const EXAMPLE_PERSON = 3;

function demoMembers(ago: Ago): Team['members'] {
  const active = PEOPLE.map(([name, role], index) => ({
    id: index === EXAMPLE_PERSON ? EXAMPLE_IDS.member : `mem_${index + 1}`,
    user_id: index === EXAMPLE_PERSON ? EXAMPLE_IDS.user : `usr_${index + 1}`,
    email: `${name}@hansa-vertrieb.example`,
    role,
    created_at: ago(200 - index * 9),
    joined_at: ago(199 - index * 9),
  }));
  return [
    ...active,
    {
      id: 'mem_11',
      email: 'nina.schaefer@hansa-vertrieb.example',
      status: 'invited',
      created_at: ago(2),
    },
    {
      id: 'mem_12',
      user_id: 'usr_12',
      email: 'peter.vogel@hansa-vertrieb.example',
      status: 'ended',
      created_at: ago(190),
      joined_at: ago(190),
    },
  ];
}

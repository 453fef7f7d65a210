// The demo team of `npm start`: a small sales team to try every endpoint with. Written by hand is
// what the documentation's examples name. The other rows are generated, always up to `now`.
import { SANDBOX_LIMITS, SANDBOX_OWNER } from '../core/sandbox.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID, EXAMPLE_IDS } from './demo-team.ts';
import type { SeedFileInput } from './schema.ts';

type Team = NonNullable<SeedFileInput['teams']>[number];
/** Returns an ISO time: `days` before now, plus `minutes`. */
type Ago = (days: number, minutes?: number) => string;

const DAY_MS = 86_400_000;
const NAME = 'Hansa Vertrieb GmbH';
const WAREHOUSE = 'whe_demo_warehouse';

/**
 * Returns a seed file for {@link loadSeed}: the demo team with an API key `demo` that has
 * every scope, and its sandbox with a test key of that name. The sandbox is empty until a reset
 * brings it a scenario.
 */
export function demoSeedFile(now: Date = new Date()): SeedFileInput {
  const ago: Ago = (days, minutes = 0) =>
    new Date(now.getTime() - days * DAY_MS + minutes * 60_000).toISOString();
  const dayIn = (days: number): string => ago(-days).slice(0, 10);
  const team: Team = {
    id: DEMO_TEAM_ID,
    name: NAME,
    plan: 'enterprise',
    seats: 25,
    language: 'de',
    blocked: ['ind_gambling'],
    members: demoMembers(ago),
    api_keys: [
      { name: 'demo', scopes: 'all' },
      {
        name: 'Learning platform',
        scopes: ['users:read', 'assignments:read', 'assignments:write', 'catalog:read'],
      },
    ],
    assignments: [
      {
        id: EXAMPLE_IDS.assignment,
        member_id: EXAMPLE_IDS.member,
        title: 'Practise objections',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
        note: 'Before the review, please.',
        due_date: dayIn(7),
        focus_dimension: 'objection_handling',
        created_at: ago(3),
        external_ref: { id: 'lms-4711', course: 'objections' },
      },
    ],
    trainings: [demoTraining(ago)],
    cases: [
      {
        id: EXAMPLE_IDS.case,
        user_id: EXAMPLE_IDS.user,
        title: 'Einkauf verlangt 15 % Rabatt',
        fields: { company: 'Nordwerk GmbH', seats: 120, pains: ['Budget', 'Laufzeit'] },
        external_ref: { crm: 'N-4711' },
        created_at: ago(18),
      },
    ],
    crm_connections: [{ id: 'crm_demo', provider: 'hubspot', status: 'active' }],
    crm_deals: [
      {
        id: EXAMPLE_IDS.deal,
        external_id: '9001',
        outcome: 'open',
        title: 'Nordwerk: Jahreslizenz',
        amount: '12500.00',
        currency: 'EUR',
        close_date: dayIn(40),
        probability: 60,
        stage_id: 'negotiation',
        industry_id: 'ind_manufacturing',
        owner_user_id: EXAMPLE_IDS.user,
        last_activity_at: ago(2),
        synced_at: ago(1),
      },
    ],
    crm_objections: [
      {
        id: EXAMPLE_IDS.objection,
        category: 'price',
        text: 'Das ist uns zu teuer.',
        created_at: ago(2),
      },
    ],
    webhook_endpoints: ENDPOINTS,
    webhook_deliveries: demoDeliveries(ago),
    generate: {
      trainings: 240,
      assignments: 6,
      cases: 4,
      crm_deals: 12,
      from: ago(84),
      to: ago(0),
      random_seed: 2026,
    },
  };
  const { memberId, userId, email } = SANDBOX_OWNER;
  const sandbox: Team = {
    id: DEMO_SANDBOX_ID,
    name: NAME,
    plan: 'enterprise',
    language: 'de',
    seats: SANDBOX_LIMITS.seats,
    rate_limit_per_min: SANDBOX_LIMITS.requestsPerMinute,
    members: [{ id: memberId, user_id: userId, email, role: 'owner', created_at: ago(1) }],
    api_keys: [{ name: 'demo', scopes: 'all' }],
  };
  return {
    catalog: CATALOG.map(([kind, id, de, en, icon, own]) => ({
      kind,
      id,
      name: { de, en },
      icon,
      ...(own && { team: DEMO_TEAM_ID }),
    })),
    catalog_rules: [
      { situation: 'sit_cold', industry: 'ind_public' },
      { situation: 'sit_price_talk', personality: 'per_hurried', industry: 'ind_manufacturing' },
    ],
    teams: [team, sandbox],
  };
}

const CATALOG = [
  ['situation', 'sit_cold', 'Kaltakquise', 'Cold call', 'phone'],
  ['situation', 'sit_needs_analysis', 'Bedarfsanalyse', 'Needs analysis', 'search'],
  ['situation', 'sit_price_talk', 'Preisgespräch', 'Price negotiation', 'coins'],
  ['situation', 'sit_trade_fair', 'Messegespräch (Hansa)', 'Trade fair talk (Hansa)', 'tent', true],
  ['personality', 'per_calm', 'Ruhig', 'Calm', 'leaf'],
  ['personality', 'per_sceptical', 'Skeptisch', 'Sceptical', 'question'],
  ['personality', 'per_hurried', 'Unter Zeitdruck', 'In a hurry', 'clock'],
  ['industry', 'ind_saas', 'Software', 'Software', 'code'],
  ['industry', 'ind_manufacturing', 'Maschinenbau', 'Mechanical engineering', 'gear'],
  ['industry', 'ind_public', 'Öffentlicher Dienst', 'Public sector', 'building'],
  ['industry', 'ind_gambling', 'Glücksspiel', 'Gambling', 'dice'],
  ['role', 'rol_buyer', 'Einkauf', 'Procurement', 'clipboard'],
  ['role', 'rol_ceo', 'Geschäftsführung', 'Managing director', 'crown'],
  ['methodology', 'met_spin', 'SPIN', 'SPIN', 'spiral'],
  ['methodology', 'met_meddic', 'MEDDIC', 'MEDDIC', 'list'],
] as const;

const PEOPLE = [
  'sabine.krueger thomas.weber emily.clarke lukas.hoffmann aylin.yilmaz oliver.bennett',
  'julia.neumann mehmet.kaya charlotte.hughes jan.petersen nina.schaefer peter.vogel',
].flatMap((names) => names.split(' '));
const EXAMPLE_PERSON = 'lukas.hoffmann';
const STATUSES = { 'nina.schaefer': 'invited', 'peter.vogel': 'ended' } as const;

function demoMembers(ago: Ago): Team['members'] {
  return PEOPLE.map((name, index): NonNullable<Team['members']>[number] => {
    const isExample = name === EXAMPLE_PERSON;
    const status = STATUSES[name as keyof typeof STATUSES] ?? 'active';
    const isInvited = status === 'invited';
    return {
      id: isExample ? EXAMPLE_IDS.member : `mem_${index + 1}`,
      user_id: isExample ? EXAMPLE_IDS.user : isInvited ? null : `usr_${index + 1}`,
      email: `${name}@hansa-vertrieb.example`,
      role: index === 0 ? 'owner' : index < 3 ? 'admin' : 'member',
      status,
      created_at: ago(isInvited ? 2 : 200 - index * 9),
      joined_at: isInvited ? null : ago(199 - index * 9),
    };
  });
}

function demoTraining(ago: Ago): NonNullable<Team['trainings']>[number] {
  return {
    id: EXAMPLE_IDS.training,
    user_id: EXAMPLE_IDS.user,
    status: 'scored',
    assignment_id: EXAMPLE_IDS.assignment,
    created_at: ago(2),
    finished_at: ago(2, 14),
    duration_s: 840,
    external_ref: { lms: 1005 },
    situation_id: 'sit_cold',
    role_id: 'rol_buyer',
    evaluation: {
      saved_at: ago(2, 15),
      score: {
        total: 71,
        spread: 4.5,
        dimensions: {
          closing: 70,
          conversation_control: 72,
          needs_analysis: 65,
          objection_handling: 80,
          value_argument: 68,
        },
      },
      tips: [
        {
          issue: 'Preis zu früh genannt',
          moment: 'Minute 3',
          principle: 'Erst Nutzen, dann Preis',
          rewrite: 'Was kostet Sie der heutige Zustand?',
          impact: 'Weniger Rabattdruck',
        },
      ],
      goal: 'partial',
      methodology: 'met_spin',
      strongest: 'objection_handling',
      biggest_lever: 'needs_analysis',
    },
  };
}

// No such names can exist, so the demo never calls a stranger. Only the host application raises
// their events, so the one that works fails at a test only.
const ENDPOINTS: NonNullable<Team['webhook_endpoints']> = [
  {
    id: EXAMPLE_IDS.webhookEndpoint,
    url: 'https://learning.hansa-vertrieb.example/hooks',
    events: ['training.completed', 'evaluation.completed'],
    description: 'Learning platform',
  },
  {
    id: WAREHOUSE,
    url: 'https://warehouse.hansa-vertrieb.example/training-events',
    events: ['training.completed', 'evaluation.completed'],
    status: 'disabled_failures',
    description: 'Data warehouse',
  },
];

type Delivery = NonNullable<Team['webhook_deliveries']>[number];

/** Weeks that went well but for one delivery, and a receiver that answers no more. */
function demoDeliveries(ago: Ago): Delivery[] {
  const common = (days: number) =>
    ({ event_type: 'evaluation.completed', created_at: ago(days, -9) }) as const;
  const working = Array.from({ length: 56 }, (_, n): Delivery => {
    const attempt = n % 19 === 5 ? 3 : 1;
    // It subscribed to more once.
    const more = n % 4 === 3 && ({ event_type: 'assignment.created' } as const);
    const answer = { attempt, response_code: 204, response_ms: 28 + ((n * 37) % 60) };
    return { ...common(n / 2), ...more, ...answer };
  });
  const failing = Array.from({ length: 24 }, (_, n): Delivery => {
    const one = { ...common(4 + n), endpoint_id: WAREHOUSE };
    return n < 6
      ? { ...one, status: 'gave_up', attempt: 8, error: 'connection_refused' }
      : { ...one, response_code: 200, response_ms: 140 + n };
  });
  const lost: Delivery = {
    ...common(3),
    id: EXAMPLE_IDS.webhookDelivery,
    status: 'gave_up',
    attempt: 8,
    response_code: 503,
    response_excerpt: 'Maintenance until Monday',
    response_ms: 118,
  };
  return [lost, ...working, ...failing];
}

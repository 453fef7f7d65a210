// The hand-written history of the demo team: assignments, trainings, cases, deals and objections.
import { EXAMPLE_IDS } from './demo-team.ts';
import type { SeedFileInput } from './schema.ts';

/** The demo team as the seed file holds it. */
export type Team = NonNullable<SeedFileInput['teams']>[number];

/** Returns an ISO time: `days` before now, plus `minutes`. */
export type Ago = (days: number, minutes?: number) => string;

const DAY_MS = 86_400_000;

/** The date that is `days` after now. */
function dayFrom(now: Date, days: number): string {
  return new Date(now.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

export function demoAssignments(now: Date, ago: Ago): Team['assignments'] {
  const due = (days: number): string => dayFrom(now, days);
  const combination = {
    situation_id: 'sit_price_talk',
    personality_id: 'per_sceptical',
    industry_id: 'ind_saas',
  };
  const asg = (number: number, title: string, rest: object) => ({
    id: `asg_${number}`,
    member_id: `mem_${number + 3}`,
    title,
    ...combination,
    ...rest,
  });
  return [
    {
      id: EXAMPLE_IDS.assignment,
      member_id: EXAMPLE_IDS.member,
      title: 'Practise objections',
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
      note: 'Before the review, please.',
      due_date: due(7),
      focus_dimension: 'objection_handling',
      created_at: ago(3),
      external_ref: { id: 'lms-4711', course: 'objections' },
    },
    asg(2, 'Kaltakquise: die ersten 30 Sekunden', {
      situation_id: 'sit_cold',
      personality_id: 'per_hurried',
      due_date: due(10),
      focus_dimension: 'conversation_control',
      created_at: ago(4),
    }),
    asg(3, 'Close in the first meeting', {
      situation_id: 'sit_closing',
      personality_id: 'per_dominant',
      industry_id: 'ind_logistics',
      status: 'done',
      completed_training_id: 'trn_1',
      focus_dimension: 'closing',
      created_at: ago(12),
    }),
    asg(4, 'Bedarf sauber klären', {
      situation_id: 'sit_needs_analysis',
      personality_id: 'per_silent',
      industry_id: 'ind_manufacturing',
      status: 'done',
      completed_training_id: 'trn_2',
      created_at: ago(15),
    }),
    asg(5, 'Reklamation auffangen', {
      situation_id: 'sit_complaint',
      status: 'revoked',
      created_at: ago(20),
    }),
    asg(6, 'Follow up on an offer', {
      situation_id: 'sit_follow_up',
      personality_id: 'per_friendly',
      industry_id: 'ind_finance',
      due_date: due(14),
      created_at: ago(1),
    }),
  ];
}

export function demoTrainings(ago: Ago): Team['trainings'] {
  const left = {
    id: 'trn_3',
    user_id: 'usr_12',
    status: 'completed',
    created_at: ago(120),
    finished_at: ago(120, 9),
    duration_s: 540,
  };
  const running = { id: 'trn_4', user_id: 'usr_9', status: 'started', created_at: ago(0, -6) };
  return [
    left,
    scoredTraining(ago, { number: 2, days: 10, total: 64 }),
    scoredTraining(ago, { number: 1, days: 6, total: 71 }),
    {
      ...scoredTraining(ago, { number: 5, days: 2, total: 71 }),
      id: EXAMPLE_IDS.training,
      user_id: EXAMPLE_IDS.user,
      assignment_id: EXAMPLE_IDS.assignment,
    },
    running,
  ];
}

const TIPS = [
  {
    issue: 'Preis zu früh genannt',
    moment: 'Minute 3',
    principle: 'Erst Nutzen, dann Preis',
    rewrite: 'Was kostet Sie der heutige Zustand?',
    impact: 'Weniger Rabattdruck',
  },
  {
    issue: 'Kein nächster Schritt',
    moment: 'Schluss',
    principle: 'Jedes Gespräch endet mit einer Verabredung',
    rewrite: 'Passt Ihnen Dienstag um zehn?',
    impact: 'Kürzerer Weg zum Abschluss',
  },
];

/** Training `number`, which was made for assignment `number + 2`. */
function scoredTraining(
  ago: Ago,
  { number, days, total }: { number: number; days: number; total: number },
): NonNullable<Team['trainings']>[number] {
  return {
    id: `trn_${number}`,
    user_id: `usr_${number + 5}`,
    status: 'scored',
    assignment_id: `asg_${number + 2}`,
    created_at: ago(days),
    finished_at: ago(days, 14),
    duration_s: 840,
    external_ref: { lms: 1000 + number },
    situation_id: number === 1 ? 'sit_closing' : 'sit_needs_analysis',
    role_id: 'rol_buyer',
    evaluation: {
      saved_at: ago(days, 15),
      score: {
        total,
        spread: 4.5,
        dimensions: {
          closing: total - 1,
          conversation_control: total + 1,
          needs_analysis: total - 6,
          objection_handling: total + 9,
          value_argument: total - 3,
        },
      },
      tips: TIPS,
      goal: 'partial',
      methodology: 'met_spin',
      strongest: 'objection_handling',
      biggest_lever: 'needs_analysis',
    },
  };
}

export function demoCases(ago: Ago): Team['cases'] {
  return [
    {
      id: EXAMPLE_IDS.case,
      user_id: EXAMPLE_IDS.user,
      title: 'Einkauf verlangt 15 % Rabatt',
      fields: { company: 'Nordwerk GmbH', seats: 120, pains: ['Budget', 'Laufzeit'] },
      external_ref: { crm: 'N-4711' },
      created_at: ago(18),
    },
    {
      id: 'cas_2',
      user_id: 'usr_6',
      title: 'Switch from a competitor',
      fields: { company: 'Harbour Logistics', competitor: 'Acme' },
      created_at: ago(9),
    },
    { id: 'cas_3', user_id: 'usr_8', title: 'Verlängerung steht an', created_at: ago(5) },
    {
      id: 'cas_4',
      user_id: EXAMPLE_IDS.user,
      title: 'Übung für mich allein',
      private: true,
      created_at: ago(2),
    },
  ];
}

export function demoDeals(now: Date, ago: Ago): Team['crm_deals'] {
  const close = (days: number): string => dayFrom(now, days);
  const common = { connection_id: 'crm_demo', currency: 'EUR', pipeline_id: 'default' };
  return [
    {
      ...common,
      id: EXAMPLE_IDS.deal,
      external_id: '9001',
      outcome: 'open',
      title: 'Nordwerk: Jahreslizenz',
      amount: '12500.00',
      close_date: close(40),
      probability: 60,
      stage_id: 'negotiation',
      industry_id: 'ind_manufacturing',
      owner_user_id: EXAMPLE_IDS.user,
      last_activity_at: ago(2),
      synced_at: ago(1),
    },
    {
      ...common,
      id: 'deal_2',
      external_id: '9002',
      outcome: 'won',
      title: 'Alpenlicht: Erweiterung',
      amount: '8400.00',
      close_date: close(-6),
      probability: 100,
      stage_id: 'closed',
      owner_user_id: 'usr_5',
      last_activity_at: ago(6),
      synced_at: ago(5),
    },
    {
      ...common,
      id: 'deal_3',
      external_id: '9003',
      outcome: 'lost',
      title: 'Harbour Logistics: pilot',
      amount: '3900.50',
      close_date: close(-12),
      probability: 0,
      stage_id: 'closed',
      lost_reason: 'Wettbewerber günstiger',
      owner_user_id: 'usr_6',
      last_activity_at: ago(12),
      synced_at: ago(11),
    },
  ];
}

export function demoObjections(ago: Ago): Team['crm_objections'] {
  return [
    {
      id: EXAMPLE_IDS.objection,
      deal_id: EXAMPLE_IDS.deal,
      category: 'price',
      text: 'Das ist uns zu teuer.',
      lang: 'de',
      created_at: ago(2),
    },
    {
      id: 'obj_2',
      deal_id: EXAMPLE_IDS.deal,
      category: 'timing',
      text: 'Vor dem nächsten Quartal entscheiden wir nichts.',
      lang: 'de',
      created_at: ago(1),
    },
    {
      id: 'obj_3',
      deal_id: 'deal_3',
      category: 'competitor',
      text: 'Your competitor offers the same for less.',
      lang: 'en',
      created_at: ago(12),
    },
  ];
}

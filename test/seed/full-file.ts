// A seed file with every field that there is, and functions that read what it became.
import pg from 'pg';
import { textTypes } from '../../src/db/wire/types.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';

/** The `APP_SECRET` of the tests of seeds. */
export const APP_SECRET = 'a secret for tests, 32 characters';

/** A team in a seed file. */
export type Team = NonNullable<SeedFileInput['teams']>[number];

/** Makes the smallest valid team. */
export function tinyTeam(id: string, rest: Partial<Team> = {}): Team {
  return {
    id,
    members: [{ id: 'mem_o', user_id: 'usr_o', email: `o@${id}.test`, role: 'owner' }],
    ...rest,
  };
}

/** Fields of the file's team, which have columns of the same name. */
export const SETTINGS = {
  name: 'Acme',
  plan: 'enterprise',
  status: 'active',
  seats: 30,
  rate_limit_per_min: 900,
  language: 'en',
} satisfies Partial<Team>;

/** The scored training `trn_1` of the file. */
export const TRAINING = {
  id: 'trn_1',
  user_id: 'usr_2',
  status: 'scored',
  source: 'app',
  assignment_id: 'asg_1',
  created_at: '2026-03-04T05:06:07.089Z',
  finished_at: '2026-03-04T05:13:07Z',
  duration_s: 420,
  external_ref: { lms: 7, a: [1, { z: null }] },
  situation_id: 'sit_cold',
  personality_id: null,
  industry_id: 'gone',
  role_id: 'rol_x',
} satisfies NonNullable<Team['trainings']>[number];

/** The evaluation of {@link TRAINING}. */
export const EVALUATION = {
  saved_at: '2026-03-04T05:14:00Z',
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
  tips: [{ issue: 'i', moment: 'm', principle: 'p', rewrite: 'r', impact: 'x' }],
  goal: 'partial',
  methodology: 'met_spin',
  strongest: 's',
  biggest_lever: 'b',
} satisfies NonNullable<Team['trainings']>[number]['evaluation'];

/** Fields of the case `cas_1` of the file. */
export const CASE = {
  user_id: 'usr_2',
  title: 'Case',
  persona_id: 'p',
  fields: [{ b: 1, a: 2 }],
  external_ref: { x: 1 },
  private: true,
} satisfies NonNullable<Team['cases']>[number];

/** Makes a seed file with one team that has every field (example.test.ts). */
export function fullFile(): SeedFileInput & { teams: Team[] } {
  return {
    catalog: [
      {
        kind: 'situation',
        id: 'sit_cold',
        name: { de: 'Kaltakquise', en: 'Cold call' },
        icon: 'phone',
        team: null,
      },
      { kind: 'industry', id: 'ind_gambling', name: { de: 'Glücksspiel' } },
      { kind: 'methodology', id: 'met_spin' },
      { kind: 'situation', id: 'sit_own', name: { en: 'Ours' }, team: 'team_a' },
    ],
    catalog_rules: [{ situation: 'sit_cold', personality: null, industry: 'ind_public' }],
    teams: [fullTeam()],
  };
}

function fullTeam(): Team {
  return {
    id: 'team_a',
    ...SETTINGS,
    privacy: { member_detail_enabled: false, leaderboard_enabled: false },
    released: ['sit_cold', 'met_spin'],
    blocked: ['ind_gambling', 'never_existed'],
    members: [
      {
        id: 'mem_1',
        user_id: 'usr_1',
        email: 'O@acme.test',
        role: 'owner',
        status: 'active',
        joined_at: '2026-01-01T01:00:00+01:00',
        created_at: '2025-12-31T00:00:00Z',
      },
      {
        id: 'mem_2',
        user_id: 'usr_2',
        email: 'two@acme.test',
        role: 'admin',
        rights: ['schnittstellen'],
        blocked: ['sit_cold', 'sit_cold'],
      },
      { id: 'mem_3', email: 'three@acme.test', status: 'invited' },
      { id: 'mem_4', email: 'o@acme.test', status: 'ended' },
      { email: 'five@acme.test' },
    ],
    api_keys: [
      { name: 'full', scopes: 'all' },
      {
        name: 'narrow',
        scopes: ['users:read'],
        created_by: 'mem_2',
        allowed_ips: ['127.0.0.0/8', '::1'],
        expires_at: '2030-01-01T00:00:00Z',
        revoked_at: '2026-02-01T00:00:00Z',
      },
    ],
    trainings: [
      structuredClone({ ...TRAINING, evaluation: EVALUATION }),
      { user_id: 'usr_1', status: 'in_progress' },
      { user_id: 'usr_1', status: 'scored', created_at: '2026-03-05T00:00:00Z', evaluation: {} },
    ],
    assignments: [
      {
        id: 'asg_1',
        member_id: 'mem_2',
        title: 'Übung 🎯',
        status: 'done',
        situation_id: 'sit_cold',
        personality_id: 'per_x',
        industry_id: 'ind_x',
        note: null,
        due_date: '2026-12-01',
        focus_dimension: 'closing',
        completed_training_id: 'trn_1',
        created_at: '2026-03-01T00:00:00Z',
        external_ref: { id: 'lms-1' },
      },
      { id: 'asg_2', member_id: 'mem_3' },
    ],
    cases: [{ id: 'cas_1', ...CASE, created_at: '2026-03-01T00:00:00Z' }, { user_id: 'usr_1' }],
    crm_connections: [{ id: 'crm_1', provider: 'pipedrive', status: 'paused' }],
    crm_deals: [
      {
        id: 'deal_1',
        connection_id: 'crm_1',
        external_id: '42',
        outcome: 'open',
        title: 'Deal',
        amount: '12500.00',
        currency: 'EUR',
        close_date: '2026-12-31',
        probability: 60,
        pipeline_id: 'pipe',
        stage_id: 'st',
        industry_id: null,
        lost_reason: null,
        owner_user_id: 'usr_2',
        last_activity_at: '2026-03-01T00:00:00Z',
        synced_at: '2026-03-02T00:00:00Z',
      },
      { id: 'deal_2', last_activity_at: '2026-03-03T00:00:00Z' },
    ],
    crm_objections: [
      {
        id: 'obj_1',
        deal_id: 'deal_1',
        category: 'price',
        text: 'zu teuer',
        lang: 'de',
        created_at: '2026-03-02T00:00:00Z',
      },
    ],
    webhook_endpoints: [
      {
        id: 'whe_1',
        url: 'http://127.0.0.1:9/hook',
        events: ['training.completed', 'training.completed'],
        status: 'disabled',
        description: ' d ',
      },
      { url: 'https://example.com/hook' },
    ],
    webhook_deliveries: [
      {
        id: 'whd_seeded',
        endpoint_id: 'whe_1',
        event_type: 'training.completed',
        status: 'gave_up',
        attempt: 8,
        created_at: '2026-03-04T10:00:00Z',
        response_code: 500,
        response_excerpt: 'out of memory',
        response_ms: 120,
        error: null,
      },
    ],
    generate: {
      members: 20,
      trainings: 50,
      assignments: 20,
      cases: 5,
      crm_deals: 5,
      from: '2026-01-01',
      to: '2026-06-01',
      random_seed: 7,
    },
  };
}

/** Opens a connection that returns timestamps as ISO text. */
export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, types: textTypes });
  await client.connect();
  return client;
}

/** Returns the number of rows of each of our tables. */
export async function countRows(client: pg.Client): Promise<Record<string, number>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT relname AS name
     FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
       AND relname <> '_prisma_migrations'
     ORDER BY 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM "${name}"`);
    counts[name] = rows[0]?.n ?? 0;
  }
  return counts;
}

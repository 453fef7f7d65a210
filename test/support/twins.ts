/**
 * Twin tenants: two teams with the same ids everywhere and different contents.
 *
 * Ids are unique only within a team, so a statement that forgets the team in one of its joins or
 * sub-selects finds the twin's rows. For each fact that a statement may ask for (is this person an
 * active member, is this entry blocked, is this connection active) there is an id for which the
 * answer is yes in one team and no in the other, in both directions.
 */
import { DIMENSIONS } from '../../src/core/dimensions.ts';
import { encrypt } from '../../src/core/encryption.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { credentialsContext } from '../../src/features/crm/connections/rules.ts';
import { webhookSecretContext } from '../../src/features/webhook-endpoints/rules.ts';
import { slotOf, timeOfRequest } from '../../src/features/requests/rules.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { TEST_APP_SECRET } from './api.ts';
import { CATALOG, makeEvaluation, makeSeed, type TeamSeed } from './seed.ts';

/** One of the two teams. */
export type Side = 'a' | 'b';
/** Tables in which live teams, as the twins are, have no rows. */
export const OF_SANDBOXES: readonly string[] = ['sandbox'];

export const SIDES: readonly Side[] = ['a', 'b'];
export const teamIdOf = (side: Side): string => `team_${side}`;
export const twinOf = (side: Side): Side => (side === 'a' ? 'b' : 'a');

/** The time of the tests' clock, which stands still. */
export const TWINS_NOW = new Date('2026-11-18T12:00:00.000Z');

/** A secret that nobody has confirmed to have stored. */
export const UNSTORED_SECRET = {
  endpointId: 'whe_5',
  secretOf: (side: Side): string => `whsec_${side.repeat(44)}`,
};

/** What the CRM of the connections takes. */
export const CRM_TOKEN = 'token';

type Standing = readonly [
  role: 'owner' | 'admin' | 'member',
  status: 'active' | 'invited' | 'ended',
  user: string,
];

/** Each member as one team knows them, and as the other does. */
const MEMBERS: Readonly<Record<string, Readonly<Record<Side, Standing>>>> = {
  mem_owner: { a: ['owner', 'active', 'usr_owner'], b: ['owner', 'active', 'usr_owner'] },
  mem_1: { a: ['admin', 'active', 'usr_1'], b: ['member', 'active', 'usr_1'] },
  mem_2: { a: ['member', 'active', 'usr_2'], b: ['admin', 'active', 'usr_2'] },
  mem_3: { a: ['member', 'active', 'usr_3'], b: ['member', 'ended', 'usr_3'] },
  mem_4: { a: ['member', 'ended', 'usr_4'], b: ['member', 'active', 'usr_4'] },
  mem_5: { a: ['member', 'invited', ''], b: ['member', 'active', 'usr_5'] },
  mem_6: { a: ['member', 'active', 'usr_6'], b: ['member', 'invited', ''] },
  mem_7: { a: ['member', 'active', 'usr_7'], b: ['member', 'active', 'usr_8'] },
  mem_8: { a: ['member', 'active', 'usr_8'], b: ['member', 'active', 'usr_7'] },
  mem_9: { a: ['admin', 'active', 'usr_9'], b: ['admin', 'invited', ''] },
  mem_10: { a: ['admin', 'invited', ''], b: ['member', 'active', 'usr_10'] },
};

const ids = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}_${index + 1}`);

/** The ids that exist in both teams, by the name of the input field. New kinds need a line here. */
export const TWIN_IDS = {
  member_id: Object.keys(MEMBERS),
  user_id: ['usr_owner', ...ids('usr', 10)],
  training_id: ids('trn', 12),
  assignment_id: ids('asg', 9),
  case_id: ids('cas', 6),
  endpoint_id: ids('whe', 5),
  delivery_id: ids('whd', 15),
  resend_id: ids('whr', 2),
  connection_id: ids('crm', 5),
  key_id: ['key_full', 'key_second', 'key_ended'],
  // Of 18 November 2026, the day of the twins.
  request_id: [1, 2, 3].map((n) => `01a1ee19-550${n}-7000-8000-000000000000`),
};

/** Catalog entries, global ones and the teams' own: `own_1` is in both teams, the others in one. */
export const ENTRY_IDS: Readonly<
  Record<'situation_id' | 'personality_id' | 'industry_id', readonly string[]>
> = {
  situation_id: ['sit_cold', 'sit_renewal', 'own_1', 'own_a'],
  personality_id: ['per_calm', 'per_tough', 'own_b'],
  industry_id: ['ind_saas', 'ind_public', 'own_1'],
};

const RELEASED: Readonly<Record<Side, string[]>> = {
  a: ['sit_cold', 'per_calm', 'per_tough', 'ind_saas'],
  b: ['sit_cold', 'sit_renewal', 'per_calm', 'ind_saas', 'ind_public'],
};
const BLOCKED: Readonly<Record<Side, string[]>> = {
  a: ['per_tough', 'rol_buyer'],
  b: ['ind_saas', 'own_1', 'rol_buyer'],
};
const MEMBER_BLOCKED: Readonly<Record<Side, Readonly<Record<string, string[]>>>> = {
  a: { mem_2: ['ind_saas'], mem_7: ['own_1'] },
  b: { mem_7: ['per_calm', 'ind_public', 'own_1'], mem_8: ['sit_cold'] },
};
/** `sit_cold` is hidden by an entry of team A's own, `per_calm` by one of team B's. */
const OWN_ENTRIES: Readonly<
  Record<Side, readonly (readonly [string, 'situation' | 'personality' | 'industry'])[]>
> = {
  a: [
    ['own_1', 'situation'],
    ['own_a', 'situation'],
    ['sit_cold', 'situation'],
  ],
  b: [
    ['own_1', 'industry'],
    ['own_b', 'personality'],
    ['per_calm', 'personality'],
  ],
};

const ENDPOINT_STATUSES = {
  a: ['active', 'active', 'disabled', 'active', 'disabled_failures'],
  b: ['active', 'active', 'active', 'disabled', 'active'],
} as const;

/** Returns an entry of `list` for this index. The two sides go through the list in other orders. */
function pick<T>(list: readonly T[], index: number, side: Side): T {
  const place = index * 7 + (side === 'a' ? 0 : 1 + Math.floor(index / 2));
  const picked = list[place % list.length];
  if (picked === undefined) throw new Error('nothing to pick from');
  return picked;
}

const day = (index: number, side: Side): string =>
  String(1 + ((index * (side === 'a' ? 5 : 11)) % 28)).padStart(2, '0');
const at = (index: number, side: Side, time = '09:00:00'): string =>
  `2026-10-${day(index, side)}T${time}.000Z`;

/** Makes the seed file of one twin or of both. */
export function twinSeed(sides: readonly Side[] = SIDES): SeedFileInput {
  const own = sides.flatMap((side) =>
    OWN_ENTRIES[side].map(([id, kind]) => ({
      kind,
      id,
      name: { de: `${id} von ${side}`, en: `${id} of ${side}` },
      icon: side,
      team: teamIdOf(side),
    })),
  );
  return makeSeed(sides.map(makeTwin), {
    catalog: [...CATALOG, ...own],
    catalog_rules: [{ situation: 'sit_renewal', industry: 'ind_public' }],
  });
}

function peopleOf(side: Side): string[] {
  return Object.values(MEMBERS).flatMap(({ [side]: [, , user] }) => (user === '' ? [] : [user]));
}

function makeTwin(side: Side): TeamSeed {
  const members = Object.entries(MEMBERS).map(([id, standings]) => ({
    id,
    standing: standings[side],
  }));
  const people = peopleOf(side);
  const recipients = members
    .filter(({ standing: [, status] }) => status !== 'ended')
    .map(({ id }) => id);
  const live = recipients.length;
  return {
    id: teamIdOf(side),
    name: `Twin ${side}`,
    plan: side === 'a' ? 'team' : 'enterprise',
    // One seat is free. A count over both teams would find none.
    seats: live + 1,
    rate_limit_per_min: side === 'a' ? 1_000_000 : 2_000_000,
    language: side === 'a' ? 'de' : 'en',
    privacy: { member_detail_enabled: true, leaderboard_enabled: side === 'a' },
    released: RELEASED[side],
    blocked: BLOCKED[side],
    members: members.map(({ id, standing: [role, status, user] }, index) => ({
      id,
      user_id: user === '' ? null : user,
      email: `${id}@twin.test`,
      role,
      status,
      rights: role === 'admin' && status === 'active' ? ['schnittstellen'] : [],
      joined_at: user === '' ? null : at(index, side, '08:00:00'),
      created_at: at(index, side, '07:00:00'),
      blocked: MEMBER_BLOCKED[side][id] ?? [],
    })),
    api_keys: [
      { name: 'full', scopes: 'all' },
      {
        name: 'second',
        scopes: side === 'a' ? ['users:read'] : ['users:read', 'cases:read'],
        created_by: recipients[1],
      },
      {
        name: 'ended',
        scopes: ['users:read'],
        allowed_ips: [side === 'a' ? '203.0.113.1' : '203.0.113.2'],
        expires_at: side === 'a' ? '2027-01-01T00:00:00Z' : '2027-02-01T00:00:00Z',
        revoked_at: side === 'a' ? '2026-11-01T00:00:00Z' : null,
      },
    ],
    assignments: TWIN_IDS.assignment_id.map((id, index) => ({
      id,
      member_id: pick(recipients, index, side),
      title: `${id} of ${side}`,
      status: pick(['open', 'done', 'revoked'] as const, index, side),
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: pick(['ind_saas', 'ind_public'], index, side),
      note: `note of ${side}`,
      due_date: `2026-12-${day(index, side)}`,
      focus_dimension: pick(DIMENSIONS, index, side),
      created_at: at(index, side),
      external_ref: { id: pick(['ext_1', 'ext_2'], index, side), of: side },
    })),
    trainings: TWIN_IDS.training_id.map((id, index) => makeTwinTraining(side, id, index)),
    cases: TWIN_IDS.case_id.map((id, index) => ({
      id,
      user_id: pick(people, index, side),
      title: `${id} of ${side}`,
      persona_id: `persona of ${side}`,
      fields: { of: side },
      external_ref: { of: side },
      private: pick([false, true, false], index, side),
      created_at: at(index, side),
    })),
    crm_connections: [
      { id: 'crm_1', provider: 'hubspot', status: side === 'a' ? 'active' : 'paused' },
      { id: 'crm_2', provider: 'pipedrive', status: side === 'a' ? 'paused' : 'active' },
      { id: 'crm_3', provider: 'hubspot', status: 'active' },
      { id: 'crm_4', provider: 'hubspot', status: side === 'a' ? 'disconnected' : 'active' },
      { id: 'crm_5', provider: 'hubspot', status: side === 'a' ? 'active' : 'disconnected' },
    ],
    crm_deals: ids('deal', 15).map((id, index) => ({
      id,
      connection_id: `crm_${((side === 'a' ? index : index + 2) % 5) + 1}`,
      // The same deal has another id in the CRM of either team.
      external_id: String(side === 'a' ? index + 1 : 15 - index),
      outcome: pick(['open', 'won', 'lost'], index, side),
      title: `${id} of ${side}`,
      amount: `${index}.${side === 'a' ? 10 : 20}`,
      currency: 'EUR',
      owner_user_id: pick(people, index, side),
      close_date: `2026-12-${day(index, side)}`,
      probability: side === 'a' ? index : 50 + index,
      pipeline_id: `pipeline of ${side}`,
      stage_id: `stage of ${side}`,
      industry_id: pick(['ind_saas', 'ind_public'], index, side),
      lost_reason: `too late for ${side}`,
      last_activity_at: at(index, side, '10:00:00'),
      synced_at: at(index, side),
    })),
    crm_objections: ids('obj', 15).map((id, index) => ({
      id,
      deal_id: `deal_${index + 1}`,
      category: 'price',
      text: `${id} of ${side}`,
      lang: 'en',
      created_at: at(index, side),
    })),
    webhook_endpoints: TWIN_IDS.endpoint_id.map((id, index) => ({
      id,
      url: `https://${side}.example.com/hook`,
      events:
        side === 'a'
          ? ['training.completed', 'assignment.created']
          : ['training.completed', 'member.joined'],
      status: ENDPOINT_STATUSES[side][index],
      description: `${id} of ${side}`,
    })),
  };
}

/** The last trainings have the same person, time and status on both sides, and other scores. */
const FIRST_SHARED_TRAINING = 10;

function makeTwinTraining(side: Side, id: string, index: number) {
  const isShared = index >= FIRST_SHARED_TRAINING;
  const isScored = isShared || pick([true, true, false], index, side);
  const date = isShared ? '2026-11-10' : at(index, side).slice(0, 10);
  const total = (side === 'a' ? 40 : 80) + index;
  return {
    id,
    user_id: trainingUserOf(side, id),
    status: isScored ? 'scored' : 'running',
    assignment_id: pick([null, `asg_${(index % 9) + 1}`, 'asg_1'], index, side),
    created_at: `${date}T09:00:00.000Z`,
    finished_at: isScored ? `${date}T09:30:00.000Z` : null,
    duration_s: side === 'a' ? 100 + index : 200 + index,
    external_ref: { of: side },
    source: `app_${side}`,
    situation_id: 'sit_cold',
    personality_id: pick(['per_calm', 'per_tough'], index, side),
    industry_id: pick(['ind_saas', 'ind_public'], index, side),
    role_id: 'rol_buyer',
    evaluation: isScored ? { ...makeEvaluation(total), saved_at: `${date}T10:00:00.000Z` } : null,
  };
}

/** Returns the user of the training on that side; for an unknown id, any user of the team. */
export function trainingUserOf(side: Side, trainingId: string): string {
  const index = Math.max(0, TWIN_IDS.training_id.indexOf(trainingId));
  return index >= FIRST_SHARED_TRAINING ? `usr_${index - 9}` : pick(peopleOf(side), index, side);
}

type Rows = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

/**
 * Adds what a seed file does not have: fixed ids of keys, deliveries, resends, audit entries, kept
 * responses, and the credentials of CRM connections to the CRM at `crmUrl`.
 */
export async function addTwinRows(
  db: Database,
  crmUrl: string,
  sides: readonly Side[] = SIDES,
): Promise<void> {
  await replaceTimeOfLoading(db);
  await db.pool.query(`update api_key set id = 'key_' || name`);
  await addWhatWorkLeaves(db);
  await db.pool.query(
    `update crm_objection
     set source = case
         when deal_id < 'deal_4' then 'lost_reason'
         when deal_id < 'deal_6' then 'note:1'
         else 'note:99'
       end,
       synced_at = case
         when (team_id = 'team_a') = (deal_id < 'deal_7') then timestamptz '2026-10-01Z'
         else '2026-12-01Z'
       end`,
  );
  for (const side of sides) {
    await addCredentials(db, teamIdOf(side), crmUrl);
    await addUnstoredSecret(db, side);
  }
  await db.pool.query(
    `update assignment a set completed_training_id = (
       select min(t.id) from training t where t.team_id = a.team_id and t.assignment_id = a.id)
     where status = 'done'`,
  );
  // Citus adds a day to no time with a zone: how long it is depends on the session's.
  await db.pool.query(
    `update assignment
     set updated_at = (created_at at time zone 'UTC' +
         case team_id when 'team_a' then interval '1 day' else interval '2 days' end)
       at time zone 'UTC'`,
  );
  for (const side of sides) {
    for (const [table, rows] of Object.entries(twinRows(side))) {
      const named = rows.map((row) => ({ team_id: teamIdOf(side), ...row }));
      const columns = [...new Set(named.flatMap((row) => Object.keys(row)))].join(', ');
      await db.pool.query(
        `insert into ${table} (${columns})
         select ${columns} from json_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(named)],
      );
    }
  }
}

/** What requests, deliveries, synchronizations and invitations would have left in other rows. */
async function addWhatWorkLeaves(db: Database): Promise<void> {
  const day = `case team_id when 'team_a' then timestamptz '2026-11-16Z' else '2026-11-17Z' end`;
  const texts = [
    `update api_key set last_used_at = ${day} where id = 'key_ended'`,
    `update member
     set invited_at = ${day}, invitation_sent_at = ${day},
       language = case team_id when 'team_a' then 'en' else 'de' end
     where id in ('mem_7', 'mem_8')`,
    `update crm_connection
     set last_synced_at = ${day},
       last_error = case team_id when 'team_a' then 'unauthorized' else 'forbidden' end,
       failure_streak = case team_id when 'team_a' then 1 else 2 end
     where id = 'crm_2'`,
    `update webhook_endpoint set last_success_at = ${day}, failing_since = ${day}`,
  ];
  for (const text of texts) await db.pool.query(text);
}

async function addCredentials(db: Database, teamId: string, crmUrl: string): Promise<void> {
  for (const id of TWIN_IDS.connection_id) {
    const context = credentialsContext(teamId, id);
    await db.pool.query(
      `update crm_connection
       set credentials_encrypted = $3, base_url = $4, objection_marker = 'Einwand:',
         next_sync_at = $5
       where team_id = $1 and id = $2 and status <> 'disconnected'`,
      [teamId, id, encrypt(CRM_TOKEN, TEST_APP_SECRET, context), crmUrl, TWINS_NOW],
    );
  }
}

/** An admin was shown the secret of an endpoint and has not confirmed to have stored it. */
async function addUnstoredSecret(db: Database, side: Side): Promise<void> {
  const { endpointId, secretOf } = UNSTORED_SECRET;
  const context = webhookSecretContext(teamIdOf(side), endpointId);
  await db.pool.query(
    `update webhook_endpoint
     set secret_encrypted = $3, secret_unconfirmed_since = $4
     where team_id = $1 and id = $2`,
    [
      teamIdOf(side),
      endpointId,
      encrypt(secretOf(side), TEST_APP_SECRET, context),
      at(side === 'a' ? 2 : 3, side),
    ],
  );
}

/**
 * Replaces the times that the seed took from its own clock by a fixed time, so that databases that
 * are loaded one after the other are equal.
 */
async function replaceTimeOfLoading(db: Database): Promise<void> {
  const { rows } = await db.pool.query<{ table: string; column: string }>(
    `select quote_ident(c.table_name) as table, quote_ident(c.column_name) as column
     from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
       and c.data_type = 'timestamp with time zone' and c.table_name <> '_prisma_migrations'`,
  );
  const isOfLoading = (column: string) => `${column} between now() - interval '1 hour' and now()`;
  for (const { table, column } of rows)
    await db.pool.query(
      `update ${table} set ${column} = '2026-10-01T06:00:00Z' where ${isOfLoading(column)}`,
    );
}

const DELIVERY_STATUSES = ['pending', 'retrying', 'ok', 'gave_up'] as const;

function twinRows(side: Side): Rows {
  const deliveries = TWIN_IDS.delivery_id.map((id, index) => {
    const status = pick(DELIVERY_STATUSES, index, side);
    const waits = status === 'pending' || status === 'retrying';
    return {
      id,
      endpoint_id: `whe_${(index % 5) + 1}`,
      event_id: `evt_${index + 1}`,
      event_type: 'training.completed',
      status,
      attempt: status === 'pending' ? 0 : side === 'a' ? 3 : 5,
      urgent: false,
      claimed_by: status === 'pending' && index % 3 === 0 ? 7 : null,
      created_at: at(index, side),
      next_try_at: waits ? '2026-11-18T13:00:00.000Z' : null,
      response_code: status === 'pending' ? null : side === 'a' ? 500 : 503,
      response_ms: status === 'ok' ? (side === 'a' ? 11 : 22) : null,
      response_excerpt: status === 'ok' ? `an answer to ${side}` : null,
      error: status === 'gave_up' && index > 8 ? `timeout of ${side}` : null,
      last_attempt_at: status === 'pending' ? null : at(index, side, '11:00:00'),
    };
  });
  return {
    event: deliveries.map(({ event_id, created_at }, index) => ({
      id: event_id,
      place: side === 'a' ? index + 1 : 100 - index,
      type: 'training.completed',
      data: { of: side },
      created_at,
      fanned_out_at: created_at,
    })),
    webhook_delivery: deliveries,
    event_in_hand: [1, 2, side === 'a' ? 3 : 4].map((number) => ({
      event_id: `evt_${number}`,
      worker: 70,
    })),
    webhook_resend: TWIN_IDS.resend_id.map((id, index) => {
      const isRunning = (index === 0) === (side === 'a');
      return {
        id,
        endpoint_id: `whe_${index + 1}`,
        state: isRunning ? 'running' : 'done',
        since: at(1, side),
        until: at(19, side),
        event_type: side === 'a' ? 'training.completed' : 'member.joined',
        status: side === 'a' ? 'gave_up' : 'retrying',
        total: side === 'a' ? 7 : 9,
        has_more: false,
        sent: side === 'a' ? 1 : 2,
        created_at: at(20, side),
        finished_at: isRunning ? null : at(21, side),
      };
    }),
    audit_log: Array.from({ length: 8 }, (_, index) => ({
      id: `aud_${index}`,
      created_at: at(index, side),
      actor_kind: pick(['api_key', 'user', 'system'], index, side),
      actor_id: pick(['key_full', 'mem_1', 'mem_2'], index, side),
      action: pick(['member.invited', 'case.created'], index, side),
      target_id: `target_${index}`,
      request_id: '01900000-0000-7000-8000-000000000000',
      details: { of: side },
    })),
    // Below the limit in each team, but above it in both together.
    invitation_resend: Array.from({ length: 40 }, (_, index) => ({
      id: `inv_${index}`,
      member_id: side === 'a' ? 'mem_5' : 'mem_6',
      sent_at: new Date(
        TWINS_NOW.getTime() - (index + (side === 'a' ? 1 : 100)) * 1000,
      ).toISOString(),
    })),
    sandbox_mail: [1, 2, side === 'a' ? 3 : 4].map((number) => ({
      id: `mail_${number}`,
      recipient: `mail${number}@${side}.test`,
      subject: `Subject ${number} of ${side}`,
      body: `Text ${number} of ${side}`,
      created_at: at(number, side),
    })),
    spent_token: [1, 2, side === 'a' ? 3 : 4].map((number) => ({
      id: `spent_${number}`,
      expires_at: `2026-11-18T1${number}:00:00.000Z`,
    })),
    request_log: TWIN_IDS.request_id.map((id, index) => ({
      slot: slotOf(timeOfRequest(id) ?? TWINS_NOW),
      id,
      created_at: timeOfRequest(id)?.toISOString(),
      key_id: index < 2 ? 'key_full' : 'key_second',
      method: 'GET',
      route: pick(['/users', '/cases'], index, side),
      status: pick([200, 404], index, side),
      duration_ms: side === 'a' ? 5 : 50,
      network: '203.0.113.0/24',
      error_code: pick([null, 'not_found'], index, side),
      errors: [{ path: `field_${side}`, code: 'unknown' }],
      limited_by: `limit_${side}`,
    })),
    api_key_usage: ['key_full', 'key_second'].flatMap((key_id, index) => [
      {
        key_id,
        day: '2026-11-17',
        count_2xx: side === 'a' ? 5 : 50,
        count_4xx: index,
        count_429: 0,
        count_5xx: side === 'a' ? 3 : 4,
        peak_percent: side === 'a' ? 20 : 30,
      },
      {
        key_id,
        day: `2026-11-0${side === 'a' ? 2 : 3}`,
        count_2xx: 1,
        count_4xx: 1,
        count_429: 1,
        count_5xx: 0,
        peak_percent: 1,
      },
    ]),
    idempotency_record: [
      {
        key: 'kept',
        fingerprint: `\\x${(side === 'a' ? 'aa' : 'bb').repeat(32)}`,
        status: 201,
        body: '\\x7b7d',
        encrypted: false,
        location: `/of/${side}`,
        created_at: '2026-11-18T11:00:00.000Z',
      },
      ...['mem_3', 'mem_5', 'whe_1'].map((subject_id) => ({
        key: `kept for ${subject_id}`,
        fingerprint: `\\x${(side === 'a' ? 'ac' : 'bc').repeat(32)}`,
        status: 201,
        body: `\\x${side === 'a' ? '7b2261227d' : '7b2262227d'}`,
        encrypted: false,
        open_body: '\\x7b7d',
        subject_id,
        other_subject_ids: subject_id === 'mem_5' ? ['mem_6', 'mem_8'] : null,
        created_at: '2026-11-18T11:00:00.000Z',
      })),
    ],
    pending_job: [
      {
        id: 'job_1',
        task: 'send_invitation_mail',
        payload: { teamId: `team_${side}`, memberId: 'mem_5' },
      },
    ],
    alert_subscription: ['mem_1', 'mem_2', 'mem_owner'].map((member_id, index) => ({
      member_id,
      kinds: pick([['webhooks'], ['errors', 'webhooks', 'keys'], ['keys']], index, side),
      told: [`errors of ${side}`],
      next_check_at: at(1, side),
    })),
    announcement_mail: [
      { announcement: 'v1', member_id: 'mem_1', sent_at: at(1, side) },
      { announcement: 'v1', member_id: 'mem_2', sent_at: at(2, side) },
    ],
  };
}

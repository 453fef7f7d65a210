// Makes table rows from the rows of a seed file. Fields that the file leaves out get defaults here.
import { makeApiKey } from '../core/api-key.ts';
import { encrypt } from '../core/encryption.ts';
import { visibleText } from '../core/endpoint-name.ts';
import { EVENT_API_VERSION, EVENTS, SUBSCRIBABLE_EVENTS } from '../core/events.ts';
import { makeWebhookSecret, newId } from '../core/ids.ts';
import { isSandbox, modeOf } from '../core/sandbox.ts';
import { scopesOf } from '../core/scopes.ts';
import { toInstant } from '../core/shapes.ts';
import { webhookSecretContext } from '../features/webhook-endpoints/rules.ts';
import { DEFAULT_SEATS } from './check.ts';
import type { SeedFile, SeedTeam } from './prepare.ts';
import type { SeedRow } from './seed-rows.ts';

type Member = SeedTeam['members'][number];

/** What the rows of one team share. */
export interface RowContext {
  readonly team: SeedTeam;
  /** ISO text. The time of every row that has no time of its own. */
  readonly now: string;
  readonly appSecret: string;
}

/** Returns the rows of global entries and those of the teams' own entries. */
export function catalogRows(seed: SeedFile): {
  global: SeedRow<'CatalogEntry'>[];
  own: SeedRow<'TeamCatalogEntry'>[];
} {
  const rows = seed.catalog.map(({ team, id, kind, name, icon }) => {
    const row = {
      id,
      kind,
      name_de: name?.de ?? null,
      name_en: name?.en ?? null,
      icon: icon ?? null,
    };
    return { team: team ?? null, row };
  });
  // Every load writes in the same order, so that two loads of the same entries cannot deadlock.
  rows.sort((a, b) => (a.row.id < b.row.id ? -1 : 1));
  return {
    global: rows.filter(({ team }) => team === null).map(({ row }) => row),
    own: rows
      .filter(({ team }) => team !== null)
      .map(({ team, row }) => ({ team_id: team, ...row })),
  };
}

/** The releases of global entries to the teams that name theirs. */
export function releaseRows(seed: SeedFile): SeedRow<'CatalogRelease'>[] {
  return seed.teams.flatMap(({ id, released }) =>
    Array.isArray(released)
      ? [...new Set(released)].map((entryId) => ({ team_id: id, entry_id: entryId }))
      : [],
  );
}

export function catalogRuleRows(seed: SeedFile): SeedRow<'CatalogRule'>[] {
  return seed.catalog_rules.map((rule) => ({
    id: newId('catalogRule'),
    situation_id: rule.situation ?? null,
    personality_id: rule.personality ?? null,
    industry_id: rule.industry ?? null,
  }));
}

/** The types of what the load itself reads. */
interface TeamRow {
  id: string;
  status: string;
  rate_limit_per_min: number;
}

export function teamRow(team: SeedTeam, now: string): SeedRow<'Team'> & TeamRow {
  return {
    id: team.id,
    name: team.name ?? team.id,
    plan: team.plan ?? 'team',
    status: team.status ?? 'active',
    seats: team.seats ?? DEFAULT_SEATS,
    rate_limit_per_min: team.rate_limit_per_min ?? 600,
    language: team.language ?? 'de',
    member_detail_enabled: team.privacy?.member_detail_enabled ?? true,
    leaderboard_enabled: team.privacy?.leaderboard_enabled ?? true,
    all_released: (team.released ?? 'all') === 'all',
    created_at: now,
  };
}

/** What makes a team a sandbox, as after a reset to no scenario. */
export function sandboxRows(team: SeedTeam, now: string): SeedRow<'Sandbox'>[] {
  if (!isSandbox(team.id)) return [];
  const times = { created_at: now, reset_at: now };
  return [{ team_id: team.id, id: 'sandbox', scenario: 'empty', speed: 1, ...times }];
}

/** Returns the current owner. check.ts makes sure that there is one. */
export function ownerOf(team: SeedTeam): Member {
  const owner = team.members.find((member) => member.role === 'owner' && member.status !== 'ended');
  if (!owner) throw new Error('the team has no owner, although it must have one');
  return owner;
}

export function memberRow({ team, now }: RowContext, member: Member): SeedRow<'Member'> {
  const status = member.status ?? 'active';
  const role = member.role ?? 'member';
  const createdAt = instant(member.created_at) ?? now;
  return {
    team_id: team.id,
    id: member.id,
    user_id: member.user_id ?? null,
    // An invitation that has ended has no address (`endMembership`).
    email: status === 'ended' && !member.user_id ? null : member.email,
    role,
    status,
    // The owner has this right by default.
    rights: member.rights ?? (role === 'owner' ? ['schnittstellen'] : []),
    joined_at:
      member.joined_at === undefined && status !== 'invited'
        ? createdAt
        : instant(member.joined_at),
    created_at: createdAt,
    ended_at: status === 'ended' ? now : null,
  };
}

/** The entries that single members' policies block. */
export function* blockRows(team: SeedTeam): Generator<SeedRow<'MemberBlock'>> {
  for (const member of team.members) {
    for (const entryId of new Set(member.blocked))
      yield { team_id: team.id, member_id: member.id, entry_id: entryId };
  }
}

/** Returns the row and the key. The key is not stored: it is shown once. */
export function makeKeyRow(
  { team, now }: RowContext,
  input: SeedTeam['api_keys'][number],
): { row: SeedRow<'ApiKey'>; key: string } {
  const { key, prefix, secretHash } = makeApiKey(modeOf(team.id));
  const row = {
    team_id: team.id,
    id: newId('apiKey'),
    name: input.name,
    prefix,
    secret_hash: bytes(secretHash),
    scopes: input.scopes === 'all' ? scopesOf(modeOf(team.id)) : [...new Set(input.scopes)],
    created_by: input.created_by ?? ownerOf(team).id,
    allowed_ips: input.allowed_ips ?? null,
    created_at: now,
    expires_at: instant(input.expires_at),
    revoked_at: instant(input.revoked_at),
    // Whoever loads the seed gets the key.
    stored_at: now,
  };
  return { row, key };
}

/** Returns the row and the signing secret. The row holds the secret encrypted. */
export function makeEndpointRow(
  { team, now, appSecret }: RowContext,
  input: SeedTeam['webhook_endpoints'][number],
): { row: SeedRow<'WebhookEndpoint'>; secret: string } {
  const secret = makeWebhookSecret();
  const arrived = team.webhook_deliveries.filter(
    ({ endpoint_id: id = team.webhook_endpoints[0]?.id, status = 'ok' }) =>
      id === input.id && status === 'ok',
  );
  const row = {
    team_id: team.id,
    id: input.id,
    url: input.url,
    events: [...new Set(input.events ?? SUBSCRIBABLE_EVENTS)],
    status: input.status ?? 'active',
    api_version: EVENT_API_VERSION,
    description: visibleText(input.description ?? null),
    secret_encrypted: bytes(encrypt(secret, appSecret, webhookSecretContext(team.id, input.id))),
    created_at: now,
    last_success_at:
      arrived
        .map((one) => instant(one.created_at) ?? now)
        .toSorted()
        .at(-1) ?? null,
  };
  return { row, secret };
}

/** Returns the rows of a delivery and of its event, which is one of the examples. */
export function deliveryRows(
  { team, now }: RowContext,
  input: SeedTeam['webhook_deliveries'][number],
): { event: SeedRow<'Event'>; delivery: SeedRow<'WebhookDelivery'> } {
  const { event_type: type } = input;
  const createdAt = instant(input.created_at) ?? now;
  const event = {
    team_id: team.id,
    id: newId('event'),
    type,
    data: { team_id: team.id, ...EVENTS[type].example },
    created_at: createdAt,
    fanned_out_at: createdAt,
  };
  const delivery = {
    team_id: team.id,
    id: input.id,
    endpoint_id: input.endpoint_id ?? team.webhook_endpoints[0]?.id,
    event_id: event.id,
    event_type: type,
    status: input.status ?? 'ok',
    attempt: input.attempt ?? 1,
    scheduled_attempts: input.attempt ?? 1,
    created_at: createdAt,
    response_code: input.response_code ?? null,
    response_excerpt: input.response_excerpt ?? null,
    response_ms: input.response_ms ?? null,
    error: input.error ?? null,
    last_attempt_at: createdAt,
  };
  return { event, delivery };
}

/** Converts a date-time with any offset to UTC. Null and undefined give null. */
export function instant(value: string | null | undefined): string | null {
  return value ? toInstant(value) : null;
}

function bytes(value: Buffer): string {
  return `\\x${value.toString('hex')}`;
}

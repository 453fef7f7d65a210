// The shape of a seed file (see README.md here). Every object is strict: a misspelt field is a
// fault instead of being ignored. A default that depends on nothing is set here, the others in
// rows.ts. Rules between rows are checked in check.ts.
import { z } from 'zod';
import { MEMBER_STATUSES, ROLES } from '../core/actor.ts';
import { CATALOG_KINDS } from '../core/catalog-kinds.ts';
import { DIMENSIONS } from '../core/dimensions.ts';
import { SUBSCRIBABLE_EVENTS } from '../core/events.ts';
import { LANGUAGES } from '../core/language.ts';
import { PLANS } from '../core/plans.ts';
import { TEST_SCOPES } from '../core/scopes.ts';
import { ADDRESS_FORM, normalizeAddress } from '../core/email-address.ts';
import { dateInput, dateTimeInput as instant } from '../core/shapes.ts';
import { ASSIGNMENT_STATUSES, TEAM_STATUSES } from '../core/vocabularies.ts';
import * as assignments from '../features/assignments/rules.ts';
import * as connections from '../features/crm/connections/rules.ts';
import { PROVIDER_NAMES } from '../features/crm/providers/registry.ts';
import * as endpoints from '../features/webhook-endpoints/rules.ts';
import {
  count,
  filled,
  freeContainer,
  freeObject,
  id,
  ID_MAX_CHARACTERS,
  INT4_MAX,
  isHttpUrl,
  isTitle,
  network,
  score,
  state,
  text,
} from './schema-values.ts';

const GENERATE_MAX = 10_000_000;

const catalogEntry = z.strictObject({
  kind: z.enum(CATALOG_KINDS),
  id: id.optional(),
  name: z.strictObject({ de: text.nullish(), en: text.nullish() }).nullish(),
  icon: text.nullish(),
  team: id.nullish(),
});

const catalogRule = z.strictObject({
  situation: id.nullish(),
  personality: id.nullish(),
  industry: id.nullish(),
});

const member = z.strictObject({
  id: id.optional(),
  user_id: id.nullish(),
  email: text
    .trim()
    .max(ID_MAX_CHARACTERS)
    .regex(ADDRESS_FORM, { error: 'must be an email address' })
    .transform(normalizeAddress),
  role: z.enum(ROLES).optional(),
  status: z.enum(MEMBER_STATUSES).optional(),
  joined_at: instant.nullish(),
  created_at: instant.optional(),
  rights: z.array(filled).optional(),
  blocked: z.array(id).optional(),
});

const apiKey = z.strictObject({
  name: id,
  scopes: z.union([z.literal('all'), z.array(z.enum(TEST_SCOPES))]).optional(),
  created_by: id.optional(),
  allowed_ips: z.array(network).min(1).nullish(),
  expires_at: instant.nullish(),
  revoked_at: instant.nullish(),
});

const tip = z.strictObject({
  issue: text.optional(),
  moment: text.optional(),
  principle: text.optional(),
  rewrite: text.optional(),
  impact: text.optional(),
});

const evaluation = z.strictObject({
  saved_at: instant.optional(),
  score: z
    .strictObject({
      total: score.nullish(),
      spread: z.number().nullish(),
      dimensions: z.partialRecord(z.enum(DIMENSIONS), score).optional(),
    })
    .optional(),
  tips: z.array(tip).max(5).optional(),
  goal: text.nullish(),
  methodology: id.nullish(),
  strongest: text.nullish(),
  biggest_lever: text.nullish(),
});

export const training = z.strictObject({
  id: id.optional(),
  user_id: id,
  status: state,
  source: state.default('app'),
  assignment_id: id.nullish(),
  created_at: instant.optional(),
  finished_at: instant.nullish(),
  duration_s: count.nullish(),
  external_ref: freeObject.nullish(),
  situation_id: id.nullish(),
  personality_id: id.nullish(),
  industry_id: id.nullish(),
  role_id: id.nullish(),
  evaluation: evaluation.nullish(),
});

const reference = freeObject.superRefine((value, ctx) => {
  const fault = assignments.faultOfExternalRef(value);
  if (fault !== null) ctx.addIssue(fault);
});

export const assignment = z.strictObject({
  id: id.optional(),
  member_id: id.optional(),
  title: filled.refine(isTitle, { error: 'must not be longer than 120 characters' }).nullish(),
  status: z.enum(ASSIGNMENT_STATUSES).default('open'),
  situation_id: id.nullish(),
  personality_id: id.nullish(),
  industry_id: id.nullish(),
  note: text.nullish(),
  due_date: dateInput.nullish(),
  focus_dimension: text.nullish(),
  completed_training_id: id.nullish(),
  created_at: instant.optional(),
  external_ref: reference.nullish(),
});

export const trainingCase = z.strictObject({
  id: id.optional(),
  user_id: id.optional(),
  title: text.nullish(),
  persona_id: id.nullish(),
  fields: freeContainer.nullish(),
  external_ref: freeObject.nullish(),
  private: z.boolean().default(false),
  created_at: instant.optional(),
});

const crmConnection = z.strictObject({
  id: id.optional(),
  provider: z.enum(PROVIDER_NAMES).optional(),
  status: z.enum(connections.STATUSES).optional(),
});

export const crmDeal = z.strictObject({
  id: id.optional(),
  connection_id: id.optional(),
  external_id: id.optional(),
  outcome: text.default('open'),
  title: text.nullish(),
  amount: z
    .string()
    .regex(/^-?[0-9]+(\.[0-9]+)?$/, { error: 'must be decimal text such as "12500.00"' })
    .nullish(),
  currency: text.nullish(),
  close_date: text.nullish(),
  probability: z.int().min(-INT4_MAX).max(INT4_MAX).nullish(),
  pipeline_id: text.nullish(),
  stage_id: text.nullish(),
  industry_id: id.nullish(),
  lost_reason: text.nullish(),
  owner_user_id: id.nullish(),
  last_activity_at: instant.nullish(),
  synced_at: instant.nullish(),
});

export const crmObjection = z.strictObject({
  id: id.optional(),
  deal_id: id.optional(),
  category: text.default('other'),
  text: text.default(''),
  lang: text.optional(),
  created_at: instant.optional(),
});

const webhookEndpoint = z.strictObject({
  id: id.optional(),
  url: text.max(2048).refine(isHttpUrl, { error: 'must be an http or https URL' }),
  events: z.array(z.enum(SUBSCRIBABLE_EVENTS)).min(1).optional(),
  status: z.enum(endpoints.STATUSES).optional(),
  description: text.nullish(),
});

/** Only deliveries that are done: a worker must find nothing to send. */
const webhookDelivery = z.strictObject({
  id: id.optional(),
  endpoint_id: id.optional(),
  event_type: z.enum(SUBSCRIBABLE_EVENTS),
  status: z.enum(['ok', 'gave_up']).optional(),
  attempt: z.int().min(1).max(100).optional(),
  created_at: instant.optional(),
  response_code: z.int().min(100).max(599).nullish(),
  response_excerpt: text.max(1000).nullish(),
  response_ms: z.int().min(0).max(INT4_MAX).nullish(),
  error: text.nullish(),
});

const rowCount = z.int().min(0).max(GENERATE_MAX).optional();
const dayOrInstant = z.union([dateInput, instant], {
  error: 'must be a date or a date-time with an offset',
});

const generate = z.strictObject({
  members: rowCount,
  trainings: rowCount,
  assignments: rowCount,
  cases: rowCount,
  crm_deals: rowCount,
  from: dayOrInstant.optional(),
  to: dayOrInstant.optional(),
  random_seed: z.int().optional(),
});

const team = z.strictObject({
  id: id.optional(),
  name: text.optional(),
  plan: z.enum(PLANS).optional(),
  status: z.enum(TEAM_STATUSES).optional(),
  seats: count.optional(),
  rate_limit_per_min: count.min(1).optional(),
  language: z.enum(LANGUAGES).optional(),
  privacy: z
    .strictObject({
      member_detail_enabled: z.boolean().optional(),
      leaderboard_enabled: z.boolean().optional(),
    })
    .optional(),
  released: z.union([z.literal('all'), z.array(id)]).optional(),
  blocked: z.array(id).optional(),
  members: z.array(member).default([]),
  api_keys: z.array(apiKey).default([]),
  trainings: z.array(training).default([]),
  assignments: z.array(assignment).default([]),
  cases: z.array(trainingCase).default([]),
  crm_connections: z.array(crmConnection).default([]),
  crm_deals: z.array(crmDeal).default([]),
  crm_objections: z.array(crmObjection).default([]),
  webhook_endpoints: z.array(webhookEndpoint).default([]),
  webhook_deliveries: z.array(webhookDelivery).default([]),
  generate: generate.nullish(),
});

/** The whole file. */
export const seedFileSchema = z.strictObject({
  catalog: z.array(catalogEntry).default([]),
  catalog_rules: z.array(catalogRule).default([]),
  teams: z.array(team).default([]),
});

/** A seed file as it is written. */
export type SeedFileInput = z.input<typeof seedFileSchema>;
/** A seed file whose lists all exist. */
export type ParsedSeed = z.output<typeof seedFileSchema>;
/** A team of a seed file whose lists all exist. */
export type ParsedTeam = z.output<typeof team>;

// Every field that leaves the service is marked as personal, or named here with the reason why it
// is not. So a new field that nobody thought about is noticed whatever the fixtures hold.
import type { AnyProcedure } from '@trpc/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AUDIT_ACTIONS } from '../../src/core/audit-actions.ts';
import { EVENTS } from '../../src/core/events.ts';
import { isPersonal } from '../../src/core/private-fields.ts';
import { appRouter } from '../../src/routers/routers.ts';

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Names of fields that are not personal wherever they are, by the reason. */
const NEVER_PERSONAL: Readonly<Record<string, string[]>> = {
  'a thing of the team, not a person': words(`
    assignment_id completed_training_id deal_id delivery_id endpoint_id event_id external_id id
    industry_id key_id persona_id personality_id pipeline_id role_id situation_id stage_id
    tenant_id training_id request_id methodology`),
  'a membership, which is an id of this service': words('member_id creator actor'),
  'when something was': words(`
    created_at day due_date earlier_secrets_until ended_at expires_at finished_at joined_at
    last_activity_at last_attempt_at last_success_at last_synced_at last_used_at next_sync_at
     receivers_fail_until reset_at suspended_until
     next_try_at reached_at revoked_at secret_unconfirmed_since since stored_at synced_at
    until close_date duration_ms duration_s
    response_ms`),
  'how something stands': words(`
    action blocked due error error_code errors code path failure_streak has_credentials kind
    last_error method ok outcome own released response_code sent source state status syncing type
    attempt attempts`),
  'a setting of the team or of a key': words(`
    allowed_ips api_version events focus_dimension icon key lang leaderboard_enabled
    member_detail_enabled name objection_marker plan prefix privacy provider purpose
    rate_limit_per_min rights role scope scopes seats secret templates url used team_per_minute
    key_per_minute kinds mode`),
  'a sandbox, whose persons are invented': words(
    'sandbox scenario speed play evaluation_at connection_id',
  ),
  'a text of the customer or of their CRM': words(`
    amount category currency description external_ref fields lost_reason note probability text
    title`),
  'about requests and usage, by key': words(`
    2xx 4xx 429 5xx peak_percent network requests route event_type headers request`),
  'what the receiver of the customer answered, and how often': words(`
    response_excerpt arrived days median_ms failed paused waiting`),
  'the documentation of an error': words('help cause remedy de en'),
  'the catalog': words('industry personality situation'),
  'the frame of a list': words('next_cursor searched_back_to'),
};

/** Fields that are not personal in these operations only. */
const NOT_PERSONAL_HERE: readonly {
  readonly operation: RegExp;
  readonly path: RegExp;
  readonly reason: string;
}[] = [
  {
    operation: /^v1\.members\.|^admin\.(invitations|members)\./,
    path: /^(data\.)?user_id$/,
    reason: 'a member always has user_id; the switch withholds the email',
  },
  {
    operation: /^(admin\.webhooks\.examples|event ping)$/,
    path: /^(data\.)?(sent_as|sent_data|type|data)$/,
    reason: 'examples, whose ids belong to nobody',
  },
  {
    operation: /^admin\.deliveries\.backlog$/,
    path: /^(first|again(\.(within_s|count))?)$/,
    reason: 'how many deliveries wait at an endpoint',
  },
  {
    operation: /^v1\.assignments\.createBatch$/,
    path: /^(created|results(\.(index|assignment|problem(\.\w+)*))?)$/,
    reason: 'the frame of the results, and what is wrong with an entry of the caller',
  },
  {
    operation: /^(v1\.analytics\.team|admin\.analytics\.results)$/,
    path: /^(totals(\.\w+)?|dimensions(\.\w+)?|skill_gaps|trend(\.score)?)$/,
    reason: 'figures of the whole team',
  },
  {
    operation: /./,
    path: /^data$/,
    reason: 'the frame of a list',
  },
  {
    operation: /^admin\.deliveries\.\w*[rR]esends?$/,
    path: /^(data\.)?total$/,
    reason: 'a number of deliveries',
  },
  {
    operation: /^(admin\.auditLog\.list|audit .*)$/,
    path: /^(data\.)?target_id$/,
    reason: 'a thing of the team; that of person.deleted is marked',
  },
  {
    operation: /^audit api_key\./,
    path: /^(ip_restricted|successor_id|grace_s)$/,
    reason: 'a setting of a key',
  },
  {
    operation: /^audit case\.created$/,
    path: /^private$/,
    reason: 'a setting of the case',
  },
  {
    operation: /^audit (catalog|team|member)\.\w+$/,
    path: /^(entry_ids|added|removed|all|right|to|from)$/,
    reason: 'settings of the team, rights and roles',
  },
  {
    operation: /^audit (person|team)\./,
    path: /^(member_ids|owner_member_id)$/,
    reason: 'memberships, which are ids of this service',
  },
  {
    operation: /^(audit|event) (crm_connection\.sync_failed|crm\.sync\.failed)$/,
    path: /^(reason|connection_id)$/,
    reason: 'how a connection stands',
  },
  {
    operation: /^audit webhook_endpoint\./,
    path: /^(host|resend_id|grace_s|total)$/,
    reason: 'settings and resends of the endpoint',
  },
  {
    operation: /^v1\.events\.list$/,
    path: /^next_after$/,
    reason: 'the id of an event, its place, and the day of the reading',
  },
  {
    operation: /^(v1|admin)\.\w+\.\w*[Rr]esend\w*$/,
    path: /^(data\[\]\.)?(total|sent|state|status|has_more|reached_at)$/,
    reason: 'the progress of a resend',
  },
  {
    operation: /^admin\.(webhooks|deliveries)\./,
    path: /(^|\.)has_more(\[\])?$/,
    reason: 'of deliveries; that of what a member has is personal',
  },
  {
    operation: /^event /,
    path: /^team_id$/,
    reason: 'the team',
  },
];

interface Field {
  readonly name: string;
  readonly path: string;
  readonly isPersonal: boolean;
}

function fieldsOf(shape: z.ZodType, path = ''): Field[] {
  if (shape instanceof z.ZodObject)
    return Object.entries(shape.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
      const at = path === '' ? name : `${path}.${name}`;
      const found = { name, path: at, isPersonal: isPersonal(field) };
      return found.isPersonal ? [found] : [found, ...fieldsOf(field, at)];
    });
  if (shape instanceof z.ZodArray) return fieldsOf(shape.element as z.ZodType, path);
  if (
    shape instanceof z.ZodOptional ||
    shape instanceof z.ZodNullable ||
    shape instanceof z.ZodDefault
  )
    return fieldsOf(shape.unwrap() as z.ZodType, path);
  return [];
}

/**
 * What the API and the admin page read, and the parts of events and of audit entries, which have a
 * shape for each type. The host application's own procedures withhold nothing.
 */
const OUTPUTS = [
  ...Object.entries(appRouter._def.procedures as unknown as Record<string, AnyProcedure>)
    .filter(([name]) => !name.startsWith('platform.'))
    .map(([name, { _def }]) => ({
      name,
      fields: fieldsOf((_def as unknown as { output: z.ZodType }).output),
    })),
  ...Object.entries(EVENTS).map(([type, { data }]) => ({
    name: `event ${type}`,
    fields: fieldsOf(data),
  })),
  ...Object.entries(AUDIT_ACTIONS).map(([action, { details, target_id }]) => ({
    name: `audit ${action}`,
    fields: fieldsOf(z.object({ ...details, target_id })),
  })),
];

const never = new Set(Object.values(NEVER_PERSONAL).flat());
const isNamed = (operation: string, { name, path }: Field): boolean =>
  never.has(name) ||
  NOT_PERSONAL_HERE.some((here) => here.operation.test(operation) && here.path.test(path));

describe('the fields of all outputs', () => {
  it('are marked as personal, or have a reason here', () => {
    const unknown = OUTPUTS.flatMap(({ name, fields }) =>
      fields
        .filter((field) => !field.isPersonal && !isNamed(name, field))
        .map(({ path }) => `${name}: ${path}`),
    );
    expect(unknown).toEqual([]);
  });

  it('have no name here that is personal, or gone', () => {
    const fields = OUTPUTS.flatMap((output) => output.fields);
    const open = new Set(fields.filter((field) => !field.isPersonal).map(({ name }) => name));
    const marked = new Set(fields.filter((field) => field.isPersonal).map(({ name }) => name));
    expect([...never].filter((name) => marked.has(name) || !open.has(name))).toEqual([]);
    const idle = NOT_PERSONAL_HERE.filter(
      ({ operation, path }) =>
        !OUTPUTS.some(
          (output) =>
            operation.test(output.name) && output.fields.some((field) => path.test(field.path)),
        ),
    );
    expect(idle.map(({ reason }) => reason)).toEqual([]);
  });
});

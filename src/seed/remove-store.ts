import type { ClientBase } from 'pg';
import { statement } from '../db/statement.ts';

/**
 * The tables with rows of one team, children before parents: foreign keys do not cascade here.
 * test/seed/replace.test.ts fails when one is missing.
 */
export const TENANT_TABLES = [
  'webhook_attempt',
  'webhook_delivery',
  'webhook_resend',
  'webhook_endpoint',
  'event',
  'pending_job',
  'idempotency_record',
  'audit_log',
  'api_key_usage',
  'api_key',
  'crm_objection',
  'crm_deal',
  'crm_connection',
  'analytics_person_week',
  'analytics_person',
  'training_case',
  'evaluation',
  'training',
  'assignment',
  'member_block',
  'invitation_resend',
  'announcement_mail',
  'member',
  'person',
  'team_block',
  'catalog_release',
  'team_catalog_entry',
] as const;

const REMOVALS = [
  statement(
    'seed.removeCounters',
    `DELETE FROM rate_counter
     WHERE bucket IN ('team:' || $1, 'app:' || $1)
       OR bucket IN (
         SELECT 'key:' || prefix
         FROM api_key
         WHERE team_id = $1
       )
       OR bucket IN (
         SELECT 'person:' || jsonb_build_array(team_id, id)::text
         FROM person
         WHERE team_id = $1
       )`,
  ),
  ...TENANT_TABLES.map((table) =>
    statement(`seed.remove.${table}`, `DELETE FROM "${table}" WHERE team_id = $1`),
  ),
  statement('seed.removeTeam', 'DELETE FROM team WHERE id = $1'),
];

/** Removes the team with all its rows and rate counters. Needs a transaction. */
export async function removeTeam(client: ClientBase, teamId: string): Promise<void> {
  for (const { text } of REMOVALS) await client.query(text, [teamId]);
}

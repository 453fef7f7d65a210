// A vocabulary is declared once: each CHECK that lists texts lists those of the code.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACTOR_KINDS, MEMBER_STATUSES, ROLES } from '../../src/core/actor.ts';
import { CATALOG_KINDS } from '../../src/core/catalog-kinds.ts';
import { DELIVERY_STATUSES } from '../../src/core/delivery-status.ts';
import { LANGUAGES } from '../../src/core/language.ts';
import { PLANS } from '../../src/core/plans.ts';
import { ASSIGNMENT_STATUSES } from '../../src/core/vocabularies.ts';
import * as connections from '../../src/features/crm/connections/rules.ts';
import { SCENARIOS } from '../../src/features/sandbox/rules.ts';
import * as teams from '../../src/features/team-lifecycle/rules.ts';
import { RESEND_STATES } from '../../src/features/webhook-deliveries/rules.ts';
import * as endpoints from '../../src/features/webhook-endpoints/rules.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const VOCABULARIES: Readonly<Record<string, readonly string[]>> = {
  'assignment status': ASSIGNMENT_STATUSES,
  'audit_log actor_kind': ACTOR_KINDS,
  'catalog_entry kind': CATALOG_KINDS,
  'crm_connection status': connections.STATUSES,
  'member language': LANGUAGES,
  'member role': ROLES,
  'member status': MEMBER_STATUSES,
  'sandbox scenario': SCENARIOS,
  'team language': LANGUAGES,
  'team plan': PLANS,
  'team status': teams.STATUSES,
  'team_catalog_entry kind': CATALOG_KINDS,
  'webhook_delivery status': DELIVERY_STATUSES,
  'webhook_endpoint status': endpoints.STATUSES,
  'webhook_resend state': RESEND_STATES,
};

/** `CHECK ((status = ANY (ARRAY['open'::text, 'done'::text])))` */
const LISTED = /^CHECK \(\((\w+) = ANY \(ARRAY\[(.*)\]\)\)\)$/;

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client(database.url);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

test('the texts that a CHECK lists are those of the code', async () => {
  const { rows } = await client.query<{ table: string; definition: string }>(
    `select conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
     from pg_constraint
     where contype = 'c'
       and connamespace = 'public'::regnamespace
       -- no shard of Citus
       and conrelid::regclass::text !~ '_[0-9]{6,}$'`,
  );
  const listed = rows.flatMap(({ table, definition }) => {
    const [, column, texts = ''] = LISTED.exec(definition) ?? [];
    const words = [...texts.matchAll(/'([^']*)'/g)].map(([, word]) => word);
    return column === undefined ? [] : [[`${table} ${column}`, new Set(words)] as const];
  });
  expect(new Map(listed)).toEqual(
    new Map(Object.entries(VOCABULARIES).map(([column, words]) => [column, new Set(words)])),
  );
});

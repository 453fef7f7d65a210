/** The type of a key column, and a value before all others of that type. */
const KEY_TYPES = { text: '', int: '-2147483648', date: '-infinity' } as const;
type KeyType = keyof typeof KEY_TYPES;

/**
 * The tables with rows of one team, children before parents, because foreign keys do not cascade
 * here. Each with the columns of its primary key that follow `team_id`. Whatever removes a whole
 * team derives from this list. test/db/tenant-tables.test.ts compares it with the database.
 */
export const TENANT_TABLES = {
  webhook_delivery: { id: 'text' },
  webhook_resend: { id: 'text' },
  webhook_endpoint: { id: 'text' },
  event_in_hand: { event_id: 'text', worker: 'int' },
  event: { id: 'text' },
  pending_job: { id: 'text' },
  idempotency_record: { key: 'text' },
  audit_log: { id: 'text' },
  request_log: { slot: 'int', id: 'text' },
  api_key_usage: { day: 'date', key_id: 'text' },
  api_key: { id: 'text' },
  crm_objection: { id: 'text' },
  crm_deal: { id: 'text' },
  crm_connection: { id: 'text' },
  analytics_person_week: { week: 'date', user_id: 'text' },
  analytics_person: { user_id: 'text' },
  training_case: { id: 'text' },
  evaluation: { training_id: 'text' },
  training: { id: 'text' },
  assignment: { id: 'text' },
  member_block: { member_id: 'text', entry_id: 'text' },
  invitation_resend: { id: 'text' },
  alert_subscription: { member_id: 'text' },
  announcement_mail: { announcement: 'text', member_id: 'text' },
  member: { id: 'text' },
  person: { id: 'text' },
  team_block: { entry_id: 'text' },
  catalog_release: { entry_id: 'text' },
  team_catalog_entry: { id: 'text' },
  sandbox_mail: { id: 'text' },
  team_counter: { bucket: 'text' },
  spent_token: { id: 'text' },
  sandbox: { id: 'text' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, KeyType>>>>;

export type TenantTable = keyof typeof TENANT_TABLES;

/** Which team a key's prefix is of. Its rows have a team, and it must be read without one. */
export const KEYS = 'key_directory';

/** The names, children before parents. */
export const TENANT_TABLE_NAMES = Object.keys(TENANT_TABLES) as readonly TenantTable[];

/** The key of a table, as SQL that reads it in its order. */
export interface TableKey {
  /** The columns after `team_id`. */
  readonly columns: string;
  /** SQL for the position $2, a `text[]` as `asPosition` makes it. */
  readonly position: string;
  /** SQL that makes a position of a row. */
  readonly asPosition: string;
  /** The position before all rows. */
  readonly start: readonly string[];
}

/** Returns the key of a table. */
export function keyOf(table: TenantTable): TableKey {
  const key = Object.entries<KeyType>(TENANT_TABLES[table]);
  return {
    columns: key.map(([name]) => name).join(', '),
    position: key.map(([, type], index) => `($2::text[])[${index + 1}]::${type}`).join(', '),
    asPosition: `array[${key.map(([name]) => `${name}::text`).join(', ')}]`,
    start: key.map(([, type]) => KEY_TYPES[type]),
  };
}

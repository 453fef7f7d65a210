/**
 * Every column that is encrypted with APP_SECRET, in one list: whoever encrypts or decrypts a value takes its context from here, and `npm run rotate-secret`
 * goes through all of them. A column that is missing here would become unreadable with the next rotation: a test looks for such columns in the database.
 */
export interface EncryptedColumn {
  readonly table: string;
  readonly column: string;
  /** What tells a row from others of its team. */
  readonly key: string;
  /** A boolean column that says whether the value is encrypted at all; null: it always is, where there is one. */
  readonly flag: string | null;
  /** What a value is bound to (`core/encryption.ts`): table, column, team and row. */
  readonly context: (teamId: string, key: string) => string;
}

export const ENCRYPTED_COLUMNS = {
  webhookSecret: {
    table: 'webhook_endpoint',
    column: 'secret_encrypted',
    key: 'id',
    flag: null,
    context: (teamId, endpointId) => `webhook_endpoint.secret:${teamId}/${endpointId}`,
  },
  keptResponse: {
    table: 'idempotency_record',
    column: 'body',
    key: 'key',
    flag: 'encrypted',
    context: (teamId, key) => `idempotency_record.body ${teamId} ${key}`,
  },
  crmCredentials: {
    table: 'crm_connection',
    column: 'credentials_encrypted',
    key: 'id',
    flag: null,
    context: (teamId, connectionId) =>
      `crm_connection.credentials_encrypted:${teamId}:${connectionId}`,
  },
} as const satisfies Record<string, EncryptedColumn>;

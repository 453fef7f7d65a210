/** A column whose values are encrypted with APP_SECRET. */
export interface EncryptedColumn {
  readonly table: string;
  readonly column: string;
  /** The column that identifies a row within its team. */
  readonly key: string;
  /** SQL that says whether the value of the row `t` is encrypted. null: every value but null is. */
  readonly isEncrypted: string | null;
  /**
   * Returns the context that a value is bound to: table, column, team and row (see `encrypt` in
   * core/encryption.ts).
   */
  readonly context: (teamId: string, key: string) => string;
}

/**
 * All columns that are encrypted with APP_SECRET. Code that encrypts or decrypts a value takes the
 * context from here, and `npm run rotate-secret` re-encrypts these columns. A column that is
 * missing here becomes unreadable after the next rotation, so a test searches the database for
 * such columns.
 */
export const ENCRYPTED_COLUMNS = {
  webhookSecret: {
    table: 'webhook_endpoint',
    column: 'secret_encrypted',
    key: 'id',
    isEncrypted: null,
    context: (teamId, endpointId) => `webhook_endpoint.secret:${teamId}/${endpointId}`,
  },
  earlierWebhookSecrets: {
    table: 'webhook_endpoint',
    column: 'earlier_secrets_encrypted',
    key: 'id',
    isEncrypted: null,
    context: (teamId, endpointId) => `webhook_endpoint.earlier_secrets:${teamId}/${endpointId}`,
  },
  keptResponse: {
    table: 'idempotency_record',
    column: 'body',
    key: 'key',
    isEncrypted: 't.encrypted',
    context: (teamId, key) => `idempotency_record.body ${teamId} ${key}`,
  },
  fingerprint: {
    table: 'idempotency_record',
    column: 'fingerprint',
    key: 'key',
    isEncrypted: null,
    context: (teamId, key) => `idempotency_record.fingerprint ${teamId} ${key}`,
  },
  crmCredentials: {
    table: 'crm_connection',
    column: 'credentials_encrypted',
    key: 'id',
    isEncrypted: null,
    context: (teamId, connectionId) =>
      `crm_connection.credentials_encrypted:${teamId}:${connectionId}`,
  },
} as const satisfies Record<string, EncryptedColumn>;

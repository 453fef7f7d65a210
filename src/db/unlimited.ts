/**
 * Takes off the limits that an operator has set for the role or the database: for the session, or
 * for the transaction alone. An old Postgres does not know all of them.
 */
export function unlimitedText(span: 'session' | 'transaction'): string {
  return `
SELECT set_config(name, '0', ${span === 'transaction'})
  FROM pg_settings
 WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')`;
}

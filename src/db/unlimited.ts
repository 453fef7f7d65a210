/**
 * Takes off the limit on a transaction that an operator has set for the role or the database: for
 * the session, or for the transaction alone. Postgres before 17 does not know it.
 */
export function unlimitedText(span: 'session' | 'transaction'): string {
  return `
SELECT set_config(name, '0', ${span === 'transaction'})
  FROM pg_settings
 WHERE name = 'transaction_timeout'`;
}

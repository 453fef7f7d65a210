/**
 * What each session of the service has, whatever is set for the server, the database or the role:
 * all that changes the text of a value, or what a value, a name or a statement means, and no limit
 * on time but our own. A new connection asks for it as it begins. Behind a pooler the connection is
 * not the session, so each transaction sets it for itself.
 *
 * Not here: `default_transaction_read_only`, which an operator or a provider sets so that nothing
 * is written; and `transaction_timeout`, which Postgres before 17 refuses. The doctor tells both.
 */
const SETTINGS = {
  // To compile takes longer than it saves: without it the analytics of a team of 100,000 members
  // took 3.3 s, and with it 4.0 s, the first time in a session 5.3 s.
  jit: 'off',
  client_encoding: 'UTF8',
  // Prisma writes and reads instants as if every session were in UTC, and both of us as ISO text.
  timezone: 'UTC',
  datestyle: 'ISO,MDY',
  intervalstyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  array_nulls: 'on',
  transform_null_equals: 'off',
  standard_conforming_strings: 'on',
  quote_all_identifiers: 'off',
  gin_fuzzy_search_limit: '0',
  search_path: 'public',
  default_transaction_isolation: 'read committed',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
} as const;

const ALL = Object.entries(SETTINGS);

/** The startup parameter `options`. */
export const SESSION_OPTIONS = ALL.map(
  ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
).join(' ');

/** SQL: sets them for the transaction, as columns of a `select`. */
export const SET_LOCALLY = ALL.map(
  ([name, value]) => `set_config('${name}', '${value}', true)`,
).join(', ');

/** SQL: whether the session has them, but for its limit on the time of a statement. */
export const ARE_SET = ALL.filter(([name]) => name !== 'statement_timeout')
  .map(([name, value]) => `replace(current_setting('${name}'), ', ', ',') = '${value}'`)
  .join(' and ');

/** Whether a pooler refused a connection because of the session's parameters. */
export function isRefusedParameter(error: unknown): boolean {
  return error instanceof Error && error.message.includes('unsupported startup parameter');
}

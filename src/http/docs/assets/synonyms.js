// What readers call things that the documentation calls otherwise. The first of each group is how
// it is called here. Words of other services, and German ones.

const GROUPS = [
  ['client', 'sdk', 'library', 'package', 'npm', 'typescript', 'node'],
  ['authentication', 'auth', 'bearer', 'login', 'authorization', 'oauth', 'anmeldung'],
  ['key', 'token', 'credential', 'credentials', 'schlüssel'],
  ['sandbox', 'staging', 'testmode', 'playground', 'rehearse', 'testkey', 'proben'],
  ['test', 'testen'],
  ['localhost', 'local', 'locally', 'lokal', 'ngrok', 'tunnel'],
  ['UTC', 'timezone', 'timestamp', 'zeitzone', 'datetime', 'iso'],
  ['catch up', 'replay', 'resync', 'missed', 'backfill'],
  ['resend', 'redeliver', 'redelivery', 'wiederholen'],
  ['rate limit', 'throttle', 'throttling', 'quota', '429', 'ratenlimit'],
  ['pages', 'pagination', 'paging', 'cursor', 'offset', 'seite', 'seiten'],
  ['member', 'user', 'users', 'person', 'people', 'employee', 'mitglied', 'mitglieder'],
  ['training', 'session', 'conversation', 'course', 'schulung'],
  ['evaluation', 'score', 'result', 'grade', 'bewertung', 'ergebnis'],
  ['assignment', 'task', 'homework', 'aufgabe'],
  ['signature', 'hmac', 'verify', 'verification', 'signing', 'signatur'],
  ['privacy', 'gdpr', 'dsgvo', 'datenschutz', 'personal'],
  ['scope', 'permission', 'permissions', 'rights', 'recht', 'rechte', '403'],
  ['error', 'errors', 'problem', 'failure', 'fehler'],
  ['webhook', 'webhooks', 'callback', 'callbacks', 'notification', 'push'],
  ['event', 'events', 'ereignis', 'ereignisse'],
  ['version', 'changelog', 'release', 'deprecation', 'sunset', 'versionen'],
  ['rotate', 'rotation', 'renew', 'revoke', 'leaked', 'erneuern'],
  ['IP', 'allowlist', 'whitelist', 'firewall', 'network'],
  ['idempotency', 'duplicate', 'duplicates', 'twice', 'doppelt'],
  ['OpenAPI', 'swagger', 'postman', 'schema', 'spec'],
];

/** @type {Map<string, string>} */
const CALLED_HERE = new Map(
  GROUPS.flatMap(([ours = '', ...others]) => others.map((other) => [other, ours])),
);

/**
 * How the documentation calls a word of a query; undefined: just so, as far as is known.
 *
 * @param {string} word in lower case
 */
export const synonymOf = (word) => CALLED_HERE.get(word);

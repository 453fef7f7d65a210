// What readers call things that the documentation calls otherwise. The first of each group is how
// it is called here. Words of other services, and German ones.

const GROUPS = [
  [
    'quickstart',
    'first',
    'started',
    'starting',
    'tutorial',
    'beginner',
    'howto',
    'einstieg',
    'anfangen',
  ],
  ['client', 'sdk', 'library', 'package', 'npm', 'typescript', 'node', 'nodejs', 'bibliothek'],
  ['authentication', 'auth', 'bearer', 'login', 'authorization', 'oauth', 'anmeldung'],
  ['key', 'token', 'credential', 'credentials', 'schlüssel'],
  ['sandbox', 'staging', 'testmode', 'playground', 'rehearse', 'testkey', 'proben'],
  ['sandbox', 'mock', 'fake', 'dummy', 'simulator', 'environment', 'testumgebung', 'fixtures'],
  ['test', 'testen'],
  ['localhost', 'local', 'locally', 'lokal', 'ngrok', 'tunnel'],
  ['UTC', 'timezone', 'timestamp', 'zeitzone', 'datetime', 'iso'],
  ['8601', 'format'],
  ['catch up', 'replay', 'resync', 'missed', 'backfill'],
  ['register', 'subscribe', 'subscription'],
  ['resend', 'redeliver', 'redelivery', 'wiederholen'],
  ['retry', 'retries', 'backoff', 'exponential', 'wiederholung', 'wiederholungen'],
  ['rate limit', 'throttle', 'throttling', 'quota', '429', 'ratenlimit'],
  ['pages', 'pagination', 'paging', 'cursor', 'offset', 'seite', 'seiten'],
  ['synchronize', 'sync', 'poll', 'polling', 'incremental', 'delta', 'mirror', 'abgleich'],
  ['every night', 'nightly', 'daily', 'hourly', 'cron', 'scheduled', 'batchjob'],
  ['member', 'user', 'users', 'person', 'people', 'employee', 'mitglied', 'mitglieder'],
  ['remove', 'deactivate', 'deprovision', 'kick', 'entfernen', 'löschen'],
  ['joiners', 'onboarding', 'onboard', 'provision', 'provisioning', 'scim', 'hris'],
  ['leavers', 'offboarding', 'offboard', 'quit'],
  ['role', 'promote', 'rolle'],
  ['seat', 'license', 'licence', 'platz', 'plätze', 'lizenz'],
  ['training', 'session', 'conversation', 'course', 'schulung'],
  ['evaluation', 'score', 'result', 'grade', 'feedback', 'bewertung', 'ergebnis'],
  ['analytics', 'average', 'statistics', 'stats', 'kpi', 'metrics', 'report', 'auswertung'],
  ['Power BI', 'excel', 'tableau', 'spreadsheet', 'bi'],
  ['assignment', 'task', 'homework', 'aufgabe'],
  ['due', 'deadline', 'fällig'],
  ['batch', 'bulk', 'mass'],
  ['revoke', 'cancel', 'withdraw', 'unassign'],
  ['TLS', 'ssl', 'https'],
  ['413', 'large', 'big'],
  ['validation', 'invalid', 'malformed'],
  ['list', 'get', 'fetch', 'retrieve', 'show', 'query'],
  ['get', 'list'],
  ['All codes', 'codes'],
  ['case', 'scenario', 'fall', 'fälle'],
  ['deal', 'salesforce', 'hubspot', 'pipedrive', 'opportunity'],
  ['external_ref', 'external', 'reference_id', 'foreign'],
  ['change', 'update', 'modify', 'edit'],
  ['conditional', 'optimistic', 'locking', 'lock', 'concurrent', 'concurrency', 'overwrite'],
  ['ETag', 'caching', 'cache', 'cached', '304'],
  ['signature', 'hmac', 'verify', 'verification', 'signing', 'signatur'],
  ['privacy', 'gdpr', 'dsgvo', 'datenschutz', 'personal', 'pii', 'anonymous'],
  ['scope', 'permission', 'permissions', 'rights', 'recht', 'rechte', '403', 'forbidden'],
  ['error', 'errors', 'problem', 'failure', 'fehler'],
  ['webhook', 'webhooks', 'callback', 'callbacks', 'notification', 'push'],
  ['automation', 'zapier', 'n8n', 'integromat', 'com', 'nocode', 'ifttt', 'workflow'],
  ['event', 'events', 'ereignis', 'ereignisse'],
  ['kept', 'stored', 'retention', 'retained', 'expire', 'expiry', 'aufbewahrt'],
  ['skip', 'ignore', 'deduplicate', 'dedupe'],
  ['version', 'changelog', 'release', 'deprecation', 'sunset', 'versionen'],
  ['versioning', 'breaking', 'compatibility', 'compatible', 'backwards', 'stability'],
  ['rotate', 'rotation', 'renew', 'revoke', 'leaked', 'erneuern'],
  ['IP', 'allowlist', 'whitelist', 'firewall', 'network'],
  ['idempotency', 'duplicate', 'duplicates', 'twice', 'doppelt'],
  ['OpenAPI', 'swagger', 'postman', 'schema', 'spec'],
  ['llms', 'ai', 'chatgpt', 'claude', 'copilot', 'mcp'],
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

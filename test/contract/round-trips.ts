// How often each endpoint waits for Postgres, as the test counts it and ARCHITECTURE.md shows it.
import { ENDPOINTS } from '../../src/routers/endpoints.ts';

/** The round trips of one request, including the one for authentication and rate limits. */
export interface RoundTrips {
  readonly plain: number;
  /** With a new `Idempotency-Key`. Only for POST, like the next one. */
  readonly keyed?: number;
  /** With a key whose response is kept. */
  readonly replayed?: number;
}

/**
 * Every endpoint has a row. A write takes three: authentication; BEGIN with the statements that the
 * decision needs; the changes with COMMIT. A new key adds one, which takes its lock and looks for
 * its record. A replay has that one and COMMIT.
 */
export const ROUND_TRIPS: Readonly<Record<string, RoundTrips>> = {
  'me.get': { plain: 1 },
  'members.list': { plain: 2 },
  'members.create': { plain: 3, keyed: 4, replayed: 3 },
  'members.get': { plain: 2 },
  'members.update': { plain: 3 },
  'members.remove': { plain: 3 },
  'trainings.list': { plain: 2 },
  'trainings.get': { plain: 2 },
  'evaluations.list': { plain: 2 },
  'evaluations.get': { plain: 2 },
  'assignments.list': { plain: 2 },
  'assignments.create': { plain: 3, keyed: 4, replayed: 3 },
  'assignments.get': { plain: 2 },
  'assignments.update': { plain: 3 },
  'assignments.remove': { plain: 3 },
  'cases.list': { plain: 2 },
  'cases.create': { plain: 3, keyed: 4, replayed: 3 },
  'cases.get': { plain: 2 },
  'cases.update': { plain: 3 },
  'cases.remove': { plain: 3 },
  'catalog.get': { plain: 2 },
  'analytics.team': { plain: 2 },
  'crm.listDeals': { plain: 2 },
  'crm.listObjections': { plain: 2 },
  'webhooks.listEndpoints': { plain: 2 },
  // With a key, its record is looked for before the host is resolved. A replay therefore resolves
  // nothing and needs no transaction.
  'webhooks.createEndpoint': { plain: 3, keyed: 5, replayed: 2 },
  'webhooks.updateEndpoint': { plain: 3 },
  'webhooks.removeEndpoint': { plain: 3 },
  'webhooks.testEndpoint': { plain: 3, keyed: 4, replayed: 3 },
  'webhooks.listDeliveries': { plain: 2 },
  'webhooks.retryDelivery': { plain: 3, keyed: 4, replayed: 3 },
};

const START = '<!-- Written by `npm run round-trips`. -->\n';
const END = '<!-- End of the written part. -->\n';

/** Returns `markdown`, the text of ARCHITECTURE.md, with its table of round trips written anew. */
export function withRoundTrips(markdown: string): string {
  const start = markdown.indexOf(START);
  const end = markdown.indexOf(END);
  if (start < 0 || end < start) throw new Error('The marks around the round trips are missing.');
  return `${markdown.slice(0, start)}${START}\n${toTable()}\n${markdown.slice(end)}`;
}

function toTable(): string {
  const rows = ENDPOINTS.map(({ name, method, path }) => {
    const { plain, keyed, replayed } = ROUND_TRIPS[name] ?? {};
    const figures = [plain, keyed, replayed].map((figure) => figure ?? '–');
    return `| \`${method} ${path}\` | ${figures.join(' | ')} |\n`;
  });
  return `| operation | round trips | with a new Idempotency-Key | replayed |
| --- | --- | --- | --- |
${rows.join('')}`;
}

// How often each endpoint waits for Postgres: the test counts it, src/http/api/README.md shows it.
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';

/** The round trips of one request, including the one for authentication and rate limits. */
export interface RoundTrips {
  readonly plain: number;
  /** With a key that the process does not know yet. Only for GET. */
  readonly unknown?: number;
  /** With a new `Idempotency-Key`. Only for POST, like the next one. */
  readonly keyed?: number;
  /** With a key whose response is kept. */
  readonly replayed?: number;
  /** With an `If-Match` that holds. Only for PATCH and DELETE. */
  readonly conditional?: number;
}

/**
 * What an endpoint takes unless `EXCEPTIONS` says otherwise. A read of a known key takes one:
 * authentication, and beside it one statement. A write takes three: authentication; BEGIN with the
 * statements that the decision needs; the changes with COMMIT. A new key adds one, which takes its
 * lock and looks for its record. A replay has that one and COMMIT. `If-Match` adds one, which locks
 * and reads what is changed.
 */
const STANDARD: Readonly<Record<string, RoundTrips>> = {
  GET: { plain: 1, unknown: 2 },
  POST: { plain: 3, keyed: 4, replayed: 3 },
  PATCH: { plain: 3, conditional: 4 },
  DELETE: { plain: 3, conditional: 4 },
};

export const EXCEPTIONS: Readonly<Record<string, RoundTrips>> = {
  'me.get': { plain: 1, unknown: 1 },
  // When the membership has ended it looks for open assignments, and for each thousand once more.
  'members.remove': { plain: 4, conditional: 5 },
  // It counts before it locks the endpoint, and then looks whether another one has begun.
  'webhooks.resendDeliveries': { plain: 5, keyed: 6, replayed: 3 },
  // The lock that another reset may hold, the look at the sandbox behind it, and the steps that
  // remove kept responses are one each. Of a large sandbox it waits for each table, and for each
  // thousand rows.
  'sandbox.reset': { plain: 5, keyed: 5, replayed: 3 },
  // A setting that stays needs no change: so it is when it is sent again.
  'sandbox.update': { plain: 5, conditional: 4 },
  // Of a training: who trains, whether there is room, its beginning and its end.
  'sandbox.simulate': { plain: 8, keyed: 8, replayed: 3 },
  // With a key, its record is looked for before the host is resolved. A replay therefore resolves
  // nothing and needs no transaction.
  'webhooks.createEndpoint': { plain: 3, keyed: 5, replayed: 2 },
};

/** The round trips that the endpoint may take. */
export function roundTripsOf({ name, method }: Pick<Endpoint, 'name' | 'method'>): RoundTrips {
  const roundTrips = EXCEPTIONS[name] ?? STANDARD[method];
  if (!roundTrips) throw new Error(`no round trips are declared for ${method}`);
  return roundTrips;
}

const START = '<!-- Written by `npm run round-trips`. -->\n';
const END = '<!-- End of the written part. -->\n';

/** Returns `markdown`, the text of src/http/api/README.md, with its table written anew. */
export function withRoundTrips(markdown: string): string {
  const start = markdown.indexOf(START);
  const end = markdown.indexOf(END);
  if (start < 0 || end < start) throw new Error('The marks around the round trips are missing.');
  return `${markdown.slice(0, start)}${START}\n${toTable()}\n${markdown.slice(end)}`;
}

const HEAD = [
  'operation',
  'round trips',
  'first read of a key',
  'with a new Idempotency-Key',
  'replayed',
  'with If-Match',
];

/** The columns are aligned, as `npm run format` would align them. */
function toTable(): string {
  const rows = ENDPOINTS.map((endpoint) => {
    const { plain, unknown, keyed, replayed, conditional } = roundTripsOf(endpoint);
    const figures = [plain, unknown, keyed, replayed, conditional].map((figure) =>
      String(figure ?? '–'),
    );
    return [`\`${endpoint.method} ${endpoint.path}\``, ...figures];
  });
  const widths = HEAD.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  return [HEAD, rule, ...rows]
    .map(
      (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`,
    )
    .join('');
}

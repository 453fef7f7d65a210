// What tests of webhook endpoints need: a body, names for its URL, and counts.
import type { Lookup } from '../../src/core/dns-lookup.ts';
import type { TestApi } from './api.ts';

/** A valid body for creating a webhook endpoint. `testResolver` knows the name in its URL. */
export const ENDPOINT_BODY = {
  url: 'https://hooks.example/in?token=t0p',
  events: ['training.completed', 'member.joined'],
};

const PUBLIC = [{ address: '93.184.216.34', family: 4 }];
const NAMES: Record<string, { address: string; family: number }[]> = {
  'hooks.example': PUBLIC,
  'new.example': PUBLIC,
  'inside.example': [...PUBLIC, { address: '10.0.0.5', family: 4 }],
};

/** A name lookup that a test watches and controls. */
export interface TestResolver {
  readonly lookup: Lookup;
  /** The names it was asked for. A test empties the list. */
  readonly asked: string[];
  /** Runs before each answer. */
  before: () => Promise<void>;
  /** While true, no name resolves. */
  down: boolean;
  /** While true, no name server gives an answer. */
  silent: boolean;
}

/**
 * Makes a resolver that knows `hooks.example` and `new.example`, which are public, and
 * `inside.example`, which also has a private address.
 */
export function testResolver(): TestResolver {
  const resolver: TestResolver = {
    lookup: async (hostname) => {
      resolver.asked.push(hostname);
      await resolver.before();
      if (resolver.silent) throw Object.assign(new Error('no answer'), { code: 'ESERVFAIL' });
      const found = resolver.down ? undefined : NAMES[hostname];
      if (!found) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      return found;
    },
    asked: [],
    before: async () => undefined,
    down: false,
    silent: false,
  };
  return resolver;
}

/** Returns how many webhook endpoints the team has. */
export async function countEndpoints({ db }: Pick<TestApi, 'db'>, teamId: string): Promise<number> {
  const { rows } = await db.pool.query<{ n: number }>(
    'select count(*)::int as n from webhook_endpoint where team_id = $1',
    [teamId],
  );
  return rows[0]?.n ?? 0;
}

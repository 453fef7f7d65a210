import { BASE_PATH } from '../../src/http/api/exchange.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';

type TeamSeed = NonNullable<SeedFileInput['teams']>[number];

/** What a training or assignment of a benchmark practises. */
export const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

const CATALOG: SeedFileInput['catalog'] = [
  { kind: 'situation', id: COMBINATION.situation_id, name: { de: 'Kaltakquise', en: 'Cold call' } },
  { kind: 'personality', id: COMBINATION.personality_id, name: { de: 'Ruhig', en: 'Calm' } },
  { kind: 'industry', id: COMBINATION.industry_id, name: { de: 'Software', en: 'Software' } },
];

/** A seed file of teams without limits, each with an owner, a key and what `generate` makes. */
export function seedFile(
  teams: readonly { id: string; generate: TeamSeed['generate'] }[],
): SeedFileInput {
  return {
    catalog: CATALOG,
    teams: teams.map(({ id, generate }) => ({
      id,
      name: id,
      plan: 'enterprise',
      seats: 1_000_000_000,
      rate_limit_per_min: 1_000_000_000,
      members: [
        { id: `mem_${id}`, user_id: `usr_${id}`, email: `owner@${id}.example`, role: 'owner' },
      ],
      api_keys: [{ name: 'bench', scopes: 'all' }],
      generate,
    })),
  };
}

/** Returns a complete HTTP request for the load generator. `base`: by default, of the REST API. */
export function httpRequest(
  method: string,
  key: string,
  path: string,
  options: { body?: object; headers?: string; base?: string } = {},
): string {
  const { body, headers = '', base = BASE_PATH } = options;
  const text = body === undefined ? '' : JSON.stringify(body);
  // load.ts replaces `{n}` with twelve digits.
  const length = text.replaceAll('{n}', '0'.repeat(12)).length;
  const content =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${length}\r\n`;
  const start = `${method} ${base}${path} HTTP/1.1\r\nHost: bench\r\n`;
  return `${start}Authorization: Bearer ${key}\r\n${headers}${content}\r\n${text}`;
}

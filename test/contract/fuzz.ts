// Arbitrary requests to every endpoint never cause a 5xx, and every response is as documented,
// which `call` checks. The cases are the same in each run; FUZZ_SEED=<integer> tries others.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SANDBOX_END } from '../../src/core/sandbox.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { startTestApi, type CallOptions, type TestApi } from '../support/api.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { addDeliveries, EXISTING_IDS, validRequest, queryNamesOf } from './requests.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 20261102);
const CONCURRENCY = 16;

/** Many teams, because the cases delete what they find. */
const TEAMS = Array.from({ length: 30 }, (_, index) => `f${index}`);
/** For the operations that only a sandbox has. */
const SANDBOXES = ['s1', 's2', 's3', 's4'].map((name) => name + SANDBOX_END);

let api: TestApi;

/** Declares the test of `count` requests, which may take `limitMs` or the usual limit. */
export function describeFuzz(count: number, limitMs?: number): void {
  let cases: readonly FuzzCase[];

  beforeAll(async () => {
    // Before the API runs in this process: on a busy machine this takes up to half a minute, after
    // which the API would take the database for silent.
    cases = fc.sample(fuzzCase(), { numRuns: count, seed: SEED });
    api = await startTestApi({
      seed: makeSeed([...TEAMS, ...SANDBOXES].map((team) => makeFullTeam(team))),
      allowPrivateTargets: true,
      connections: CONCURRENCY,
    });
    await addDeliveries(api.db);
    // The first call costs more than others. Sixteen at once would wait too long for it.
    await api.db.loadPrisma();
    await api.call(api.key('team_f0'), 'GET', '/users');
  });

  describe('any request', () => {
    it(
      `gets a documented answer and never a 5xx (${count} cases, FUZZ_SEED=${SEED})`,
      async () => {
        const rest = cases.entries();
        const counts = new Map<string, number>();
        const failures: string[] = [];
        const work = async (): Promise<void> => {
          for (const [index, request] of rest) {
            const answer = await run(request).catch((error: unknown) => ({
              status: 599,
              text: String(error),
            }));
            if (answer.status >= 500)
              failures.push(
                `case ${index} of FUZZ_SEED=${SEED}: ${JSON.stringify(request)}\n${answer.text}`,
              );
            if (failures.length > 5) return;
            const success = `${request.endpoint.name} ${answer.status < 400}`;
            counts.set(success, (counts.get(success) ?? 0) + 1);
          }
        };
        await Promise.all(Array.from({ length: CONCURRENCY }, work));
        expect(failures.join('\n\n')).toBe('');
        // If all requests were refused before they are parsed, they would prove little.
        for (const { name } of ENDPOINTS)
          expect(counts.get(`${name} true`) ?? 0, `${name} never succeeded`).toBeGreaterThan(0);
      },
      limitMs,
    );
  });
}

interface FuzzCase {
  readonly endpoint: Endpoint;
  readonly team: string;
  readonly path: string;
  readonly options: CallOptions;
}

function run({
  endpoint,
  team,
  path,
  options,
}: FuzzCase): Promise<{ status: number; text: string }> {
  // A large scenario locks its sandbox for a second or more, and eight at once wait for each other.
  const small = { ...options, ...(isLarge(options) && { rawBody: '{"scenario":"typical"}' }) };
  return api.call(api.key(`team_${team}`), endpoint.method, path, small);
}

const isLarge = ({ rawBody }: CallOptions): boolean =>
  typeof rawBody === 'string' && rawBody.includes('"scenario":"large"');

function fuzzCase(): fc.Arbitrary<FuzzCase> {
  return fc.oneof(
    ...ENDPOINTS.map((endpoint) =>
      fc
        .constantFrom(...(endpoint.mode === 'test' ? SANDBOXES : TEAMS))
        .chain((team) => caseOf(endpoint, team)),
    ),
  );
}

function caseOf(endpoint: Endpoint, team: string): fc.Arbitrary<FuzzCase> {
  return fc
    .record({
      path: pathOf(endpoint, team),
      query: queryOf(endpoint, team),
      content: contentOf(endpoint, team),
      headers: headersOf(endpoint),
    })
    .map((parts) => ({
      endpoint,
      team,
      path: parts.path + parts.query,
      options: { ...parts.content, headers: { ...parts.content.headers, ...parts.headers } },
    }));
}

function pathOf(endpoint: Endpoint, team: string): fc.Arbitrary<string> {
  const ids = endpoint.pathParameters.map((name) =>
    mostly(
      fc.constant(EXISTING_IDS[name]?.(team) ?? ''),
      oddText().filter((text) => text !== ''),
    ),
  );
  return fc.tuple(...ids).map((values) => {
    let index = 0;
    return endpoint.path.replaceAll(/\{\w+\}/g, () => encode(values[index++] ?? ''));
  });
}

function queryOf(endpoint: Endpoint, team: string): fc.Arbitrary<string> {
  const names = endpoint.method === 'GET' ? queryNamesOf(endpoint) : [];
  const properties = schemaOf(endpoint).properties ?? {};
  const pairs = names.map((name) =>
    fc.record({
      name: fc.constant(name),
      value: mostly(fieldOf(name, properties[name] ?? {}, team), oddText()).map(textOf),
    }),
  );
  const odd = fc.record({
    name: fc.oneof(oddText(), fc.constantFrom(...names, 'x')),
    value: oddText(),
  });
  return fc
    .array(pairs.length > 0 ? mostly(fc.oneof(...pairs), odd) : odd, { maxLength: 3 })
    .map((given) => {
      const text = given.map(({ name, value }) => `${encode(name)}=${encode(value)}`).join('&');
      return text === '' ? '' : `?${text}`;
    });
}

/** Makes the body of a valid request with fields replaced, left out or added; or any other text. */
function contentOf(endpoint: Endpoint, team: string): fc.Arbitrary<CallOptions> {
  if (endpoint.method === 'GET' || endpoint.method === 'DELETE') return fc.constant({});
  const { properties = {} } = schemaOf(endpoint);
  const fields = Object.entries(properties).filter(
    ([name]) => !endpoint.pathParameters.includes(name),
  );
  const replaced = fc.record(
    Object.fromEntries(fields.map(([name, schema]) => [name, fieldOf(name, schema, team)])),
    {
      requiredKeys: [],
    },
  );
  const valid = validRequest(endpoint, team).body;
  const base = valid === undefined ? fc.constant({}) : withFreshEmail(valid);
  const merged = fc
    .tuple(
      base,
      fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 5, arbitrary: replaced }),
    )
    .map(([own, other]) => ({ ...own, ...other }));
  const added = fc
    .tuple(merged, fc.dictionary(oddText(), anyJson(), { maxKeys: 2 }))
    .map(([own, other]) => ({ ...own, ...other }));
  const json = fc.oneof(
    { weight: 8, arbitrary: merged },
    { weight: 1, arbitrary: added },
    { weight: 1, arbitrary: anyJson() },
  );
  const none = valid === undefined ? 8 : 1;
  return fc.oneof(
    { weight: 16, arbitrary: json.map((body) => ({ rawBody: JSON.stringify(body) })) },
    { weight: none, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: json.chain((body) => broken(JSON.stringify(body))).map((rawBody) => ({ rawBody })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(json, fc.constantFrom('text/plain', 'application/json;charset=x', ''))
        .map(([body, type]) => ({
          rawBody: JSON.stringify(body),
          headers: { 'content-type': type },
        })),
    },
  );
}

function headersOf(endpoint: Endpoint): fc.Arbitrary<Record<string, string>> {
  const header = fc
    .string({ unit: fc.constantFrom(...Array.from('abcXYZ019-_,;=*/q. "')), maxLength: 20 })
    .map((text) => text.trim());
  const none: fc.Arbitrary<Record<string, string>> = fc.constant({});
  // Few keys, so that some are used again with other bodies and on other endpoints.
  const key = fc.oneof(
    fc.constantFrom('one', 'two', 'three'),
    header,
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 110 }),
  );
  const idempotency =
    endpoint.method === 'POST'
      ? mostly(
          none,
          key.map((value) => ({ 'idempotency-key': value.trim() })),
        )
      : none;
  const language = mostly(
    none,
    header.map((value) => ({ 'accept-language': value })),
  );
  return fc.tuple(idempotency, language).map(([first, second]) => ({ ...first, ...second }));
}

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly format?: string;
}

function schemaOf(endpoint: Endpoint): JsonSchema {
  return z.toJSONSchema(endpoint.input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

/** Makes a value for the field: an existing id, one that fits the schema, or any other. */
function fieldOf(name: string, schema: JsonSchema, team: string): fc.Arbitrary<unknown> {
  const existing = EXISTING_IDS[name];
  const known = KNOWN_VALUES[name] ?? [];
  const plain = fc.oneof(
    { weight: 8, arbitrary: valueOf(schema) },
    { weight: 1, arbitrary: anyJson() },
  );
  if (!existing && known.length === 0) return plain;
  return mostly(existing ? fc.constant(existing(team)) : fc.constantFrom(...known), plain);
}

/** Values that pass the checks which are not in the schema. */
const KNOWN_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  role: ['admin', 'member', 'owner'],
  status: ['open', 'done', 'revoked', 'active', 'disabled', 'disabled_failures', 'scored'],
  url: [
    'http://127.0.0.1:9/hook',
    'http://[::1]/',
    'https://localhost',
    'http://user@127.0.0.1/',
    'http://127.0.0.1/#x',
    'http://0x7f.1/',
    'ftp://127.0.0.1/',
  ],
  events: [
    ['training.completed'],
    ['ping'],
    [],
    ['training.completed', 'training.completed'],
    ['unheard.of'],
  ],
  situation_id: ['sit_cold', 'sit_renewal', 'per_calm'],
  personality_id: ['per_calm', 'per_tough'],
  industry_id: ['ind_saas', 'ind_public'],
};

function valueOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valueOf));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case 'string':
      return textFor(schema.format);
    case 'integer':
    case 'number':
      return fc.oneof(fc.integer({ min: -1, max: 202 }), fc.integer(), fc.double());
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valueOf(schema.items ?? {}), { maxLength: 4 });
    case 'object':
      return fc.dictionary(oddText(), anyJson(), { maxKeys: 4 });
    default:
      return anyJson();
  }
}

function textFor(format: string | undefined): fc.Arbitrary<unknown> {
  const time = fc
    .date({
      min: new Date('-000002-01-01T00:00:00Z'),
      max: new Date('+010001-01-01T00:00:00Z'),
      noInvalidDate: true,
    })
    .map((date) => date.toISOString());
  switch (format) {
    case 'email':
      return fc.emailAddress();
    case 'date':
      return time.map((text) => text.slice(0, 10));
    case 'date-time':
      return fc
        .tuple(time, fc.constantFrom('Z', '+02:00', '+23:59', '-23:59', ''))
        .map(([text, offset]) => text.replace('Z', offset));
    default:
      return oddText();
  }
}

/**
 * Makes texts of all kinds: plain ones, any code point, halves of surrogate pairs, very long ones,
 * and ones that often break programs.
 */
function oddText(): fc.Arbitrary<string> {
  const known = [
    '',
    '\0',
    'a\0',
    '\ud800',
    '\udfff',
    '__proto__',
    'constructor',
    'null',
    '%',
    "';--",
    '\u202e',
    '\ufeff',
    '\n',
    '٣',
    '🦆',
    'x'.repeat(121),
    'ß'.repeat(5000),
  ];
  return fc.oneof(
    { weight: 4, arbitrary: fc.string() },
    { weight: 3, arbitrary: fc.string({ unit: 'binary' }) },
    {
      weight: 1,
      arbitrary: fc.string({
        unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
      }),
    },
    { weight: 2, arbitrary: fc.constantFrom(...known) },
  );
}

function anyJson(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.jsonValue({ stringUnit: 'binary' }),
    fc.constantFrom(null, 0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, '', [], {}, [[]], true),
    oddText(),
  );
}

/** Removes a character from the JSON, or adds one. */
function broken(json: string): fc.Arbitrary<string> {
  const place = fc.nat({ max: Math.max(0, json.length - 1) });
  return fc.oneof(
    place.map((index) => json.slice(0, index) + json.slice(index + 1)),
    fc
      .tuple(place, oddText())
      .map(([index, text]) => json.slice(0, index) + text + json.slice(index)),
  );
}

function withFreshEmail(body: Record<string, unknown>): fc.Arbitrary<Record<string, unknown>> {
  return 'email' in body
    ? fc.uuid().map((uuid) => ({ ...body, email: `${uuid}@example.com` }))
    : fc.constant(body);
}

function mostly<A, B>(usual: fc.Arbitrary<A>, rare: fc.Arbitrary<B>): fc.Arbitrary<A | B> {
  return fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: rare });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Percent-encodes the text. Half of a surrogate pair becomes the three bytes of its code point. */
function encode(text: string): string {
  return Array.from(text, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : surrogateBytes(character.charCodeAt(0)),
  ).join('');
}

function surrogateBytes(code: number): string {
  const bytes = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
  return bytes.map((byte) => `%${byte.toString(16)}`).join('');
}

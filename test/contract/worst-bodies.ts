// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// The worst body of 1 MB that an operation or a procedure takes costs little time of the event
// loop, and is answered in few words.
import type { AnyProcedure } from '@trpc/server';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { appRouter } from '../../src/routers/routers.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { makeFullTeam, makeSeed, userId } from '../support/seed.ts';
import { fillPath, existingId } from './requests.ts';
import { sampleOf } from './samples.ts';

const BYTES = 1024 * 1024;
const CPU_MS = 50;
const ANSWER_MAX_CHARACTERS = 20_000;
/** The thread's CPU time, so a busy machine does not count; but its caches are shared. */
const TRIES = 20;
/** On a slow machine, before and after, as much as it takes to parse 1 MB so many times. */
const PARSES = 5;

/** Fills up what a valid input leaves of 1 MB. `@` is where the value goes. */
type Fill = (frame: string) => string;

const repeat = (item: string, bytes: number): string =>
  item.repeat(Math.max(0, Math.floor(bytes / item.length)));
const list =
  (item: string): Fill =>
  (frame) => {
    const items = repeat(`${item},`, BYTES - frame.length - 2);
    return `[${items.slice(0, -1)}]`;
  };
const text =
  (part: string): Fill =>
  (frame) =>
    `"${repeat(part, BYTES - frame.length - 2)}"`;
const namedFields = (bytes: number, most = Infinity): string => {
  const all: string[] = [];
  for (let left = bytes - 2, index = 0; left > 10 && index < most; index++) {
    const field = `"${index.toString(36)}":1`;
    all.push(field);
    left -= field.length + 1;
  }
  return `{${all.join(',')}}`;
};
const fields: Fill = (frame) => namedFields(BYTES - frame.length);
const deep = (levels: number): Fill => {
  const [open, close] = ['['.repeat(levels), ']'.repeat(levels)];
  return (frame) => `${open}${list('1')(frame + open + close).slice(1, -1)}${close}`;
};

const LONG_TEXT = text('<');
/** As much as a body may hold, so that all of it is parsed and checked. */
const allowedValues = `[${'1,'.repeat(99_000)}1]`;
const allowedFields = namedFields(BYTES, 19_000);
const ALLOWED_VALUES: Fill = () => allowedValues;
const ALLOWED_FIELDS: Fill = () => allowedFields;

/**
 * What no body may hold. It is refused before the operation sees it, so one of each door is asked.
 */
const REFUSED: Readonly<Record<string, Fill>> = {
  'many numbers': list('1'),
  'many numbers, 58 levels deep': deep(58),
  'many lists': list('[]'),
  'many texts': list('""'),
  'many objects': list('{"a":{}}'),
  'many fields': fields,
  'many brackets': (frame) => '['.repeat(BYTES - frame.length),
};

/** What is put into a field that the input does not have, of one operation of each door. */
const FILLS: Readonly<Record<string, Fill>> = {
  'a long text': LONG_TEXT,
  'many long numbers': list('1000000000000000000000'),
  'a long text of escapes': text('\\u00e9'),
  'as many values as a body may hold': ALLOWED_VALUES,
  'as many fields as a body may hold': ALLOWED_FIELDS,
};

/** What is put into such a field of every other: it is refused by the same code. */
const FEW_FILLS = {
  'a long text': LONG_TEXT,
  'as many fields as a body may hold': ALLOWED_FIELDS,
};

/** What is put into the fields of an input, by what they take. */
const BY_TYPE: Readonly<Record<string, Readonly<Record<string, Fill>>>> = {
  string: { 'a long text': LONG_TEXT, 'a long text of spaces': text(' ') },
  array: {
    'as many wrong items as a body may hold': ALLOWED_VALUES,
    'as many texts as a body may hold': () => `[${'"a",'.repeat(99_000)}"a"]`,
  },
  object: {
    'as many fields as a body may hold': ALLOWED_FIELDS,
    'as many values, 58 levels deep': () =>
      `{"a":${'['.repeat(57)}${allowedValues.slice(1, -1)}${']'.repeat(57)}}`,
  },
};

type JsonSchema = z.core.JSONSchema.JSONSchema;

interface Target {
  readonly name: string;
  readonly input: z.ZodType;
  readonly sample: Readonly<Record<string, unknown>>;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly headers: () => Promise<Record<string, string>>;
}

let api: TestApi;

const OPERATIONS = ENDPOINTS.filter(({ method }) => method === 'POST' || method === 'PATCH').map(
  (endpoint): Target => ({
    name: `${endpoint.method} ${endpoint.path}`,
    input: endpoint.input,
    sample: Object.fromEntries(
      Object.entries(sampleOf(endpoint.input) as object).filter(
        ([name]) => !endpoint.pathParameters.includes(name),
      ),
    ),
    method: endpoint.method as Target['method'],
    path: `/api/public/v1${fillPath(endpoint, (name) => existingId(name, 'a'))}`,
    headers: async () => ({ authorization: `Bearer ${api.key('team_a')}`, 'idempotency-key': 'k' }),
  }),
);

const bearer = async (isPlatform: boolean): Promise<Record<string, string>> => {
  const token = await tokenOf(
    isPlatform
      ? { kind: 'platform', service: 'training' }
      : { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' },
  );
  return { authorization: `Bearer ${token}` };
};

const MUTATIONS = Object.entries(
  appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
).flatMap(([name, { _def }]): Target[] => {
  const [input] = (_def as unknown as { inputs?: z.ZodType[] }).inputs ?? [];
  if (_def.type !== 'mutation' || !input) return [];
  return [
    {
      name: `tRPC ${name}`,
      input,
      sample: sampleOf(input) as Target['sample'],
      method: 'POST',
      path: `/trpc/${name}`,
      headers: () => bearer(name.startsWith('platform.')),
    },
  ];
});

interface Case {
  readonly field: string;
  readonly what: string;
  readonly fill: Fill;
}

const inUnknownField = (fills: Readonly<Record<string, Fill>>): Case[] =>
  Object.entries(fills).map(([what, fill]) => ({ field: 'unheard_of', what, fill }));

/** What is put into the fields that an input has. */
function casesOf({ input }: Target): Case[] {
  const { properties = {}, ...shape } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
  });
  const choices = [{ properties }, ...(shape.anyOf ?? []), ...(shape.oneOf ?? [])] as JsonSchema[];
  const typed = choices.flatMap((choice) =>
    Object.entries(choice.properties ?? {}).flatMap(([field, schema]) =>
      typesOf(schema as JsonSchema).map((type) => ({ field, type })),
    ),
  );
  return typed.flatMap(({ field, type }) =>
    Object.entries(BY_TYPE[type] ?? {}).map(([what, fill]) => ({ field, what, fill })),
  );
}

/** The types of a field, of which it may have several: a value or null, a text or a list. */
function typesOf({ type = [], anyOf = [], oneOf = [] }: JsonSchema): string[] {
  const choices = [...anyOf, ...oneOf] as JsonSchema[];
  return [...new Set([[type].flat() as string[], ...choices.map(typesOf)].flat())];
}

const cpuMsSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
};

/** The CPU time of what asks no service, now, at best. It is 10 ms on a usual machine. */
function parseMs(): number {
  const document = REFUSED['many objects']?.('') ?? '';
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(document);
    return cpuMsSince(before);
  });
  return Math.min(...times);
}

interface Measured {
  readonly ms: number;
  readonly answer: string;
}

/** Sends the body and resolves with the CPU time of this thread, client and server, at best. */
async function measure(target: Target, body: string, allowedMs: number): Promise<Measured> {
  const headers = { ...(await target.headers()), 'content-type': 'application/json' };
  let best: Measured = { ms: Infinity, answer: '' };
  for (let tries = 0; tries < TRIES && best.ms >= allowedMs; tries++) {
    const before = process.threadCpuUsage();
    const response = await request(api.url + target.path, { method: target.method, headers, body });
    const answer = await response.body.text();
    const ms = cpuMsSince(before);
    expect(
      response.statusCode,
      response.statusCode === 500 ? api.loggedErrors.at(-1) : '',
    ).toBeLessThan(500);
    best = { ms: Math.min(best.ms, ms), answer };
  }
  return best;
}

/** Sends each body. Returns the answers, and those that were slow, if that counts, or long. */
async function tryAll(target: Target, cases: readonly Case[], { isTimed }: { isTimed: boolean }) {
  const faults: string[] = [];
  const answers: string[] = [];
  const allowedMs = isTimed ? Math.max(CPU_MS, PARSES * parseMs()) : Infinity;
  for (const { field, what, fill } of cases) {
    const frame = JSON.stringify({ ...target.sample, [field]: '@' });
    const body = frame.replace('"@"', () => fill(frame));
    const { ms, answer } = await measure(target, body, allowedMs);
    const isSlow = ms >= allowedMs && ms >= PARSES * parseMs();
    if (isSlow || answer.length > ANSWER_MAX_CHARACTERS)
      faults.push(`${what} in ${field}: ${ms} ms, ${answer.length} characters`);
    answers.push(answer);
  }
  return { faults, answers };
}

/** One of each. */
const DOORS = [...OPERATIONS.slice(0, 1), ...MUTATIONS.slice(0, 1)];

/**
 * Declares the tests. The whole fills every field and measures the CPU time. The sample fills one
 * field of each input, in turn with another fill: what is quadratic takes minutes for it.
 */
export function describeWorstBodies(extent: 'sample' | 'whole'): void {
  const isTimed = extent === 'whole';
  let turn = 0;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeFullTeam('a')]), allowPrivateTargets: true });
  });

  describe.each([...OPERATIONS, ...MUTATIONS])('$name', (target) => {
    it('answers any body of 1 MB quickly and shortly', async () => {
      const isDoor = DOORS.includes(target);
      const cases = [...casesOf(target), ...inUnknownField(isDoor ? FILLS : FEW_FILLS)];
      const place = (turn += 1) % cases.length;
      const tried = isTimed || isDoor ? cases : cases.slice(place, place + 1);
      const { faults } = await tryAll(target, tried, { isTimed });
      expect(faults).toEqual([]);
    });
  });

  it.each(DOORS)('$name refuses a body that holds too much, quickly', async (target) => {
    const { faults, answers } = await tryAll(target, inUnknownField(REFUSED), { isTimed });
    expect(faults).toEqual([]);
    expect(answers.filter((answer) => !answer.includes('too_many_values'))).toEqual([]);
  });
}

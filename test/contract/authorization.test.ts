// oxlint-disable vitest/no-standalone-expect -- `when` is `it`
// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// Who may call which procedure of the tRPC API: every procedure against every kind of caller.
// A procedure is covered as soon as it is declared.
import type { AnyProcedure } from '@trpc/server';
import { generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { SCHNITTSTELLEN, type Access } from '../../src/core/access.ts';
import { TOKEN_AUDIENCE, TOKEN_ISSUER, type Identity } from '../../src/http/app/token.ts';
import { appRouter } from '../../src/routers/routers.ts';
import { startTestApi, TEST_APP_AUTH_SECRET, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { makeFullTeam, makeMember, makeSeed, memberId, userId } from '../support/seed.ts';
import { addDeliveries, readState, when } from './requests.ts';
import { sampleOf } from './samples.ts';

/** The callers that each access admits. A new access needs a line here. */
const ALLOWED: Readonly<Record<Access, readonly string[]>> = {
  admins: ['admin', 'granted', 'owner'],
  schnittstellen: ['granted', 'owner'],
  owner: ['owner'],
  platform: ['platform'],
};

interface Procedure {
  readonly name: string;
  readonly type: 'query' | 'mutation';
  readonly access: Access | undefined;
  /** A valid input. */
  readonly sample: unknown;
}

const PROCEDURES = Object.entries(
  appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
).map(([name, { _def }]): Procedure => {
  const { inputs = [] } = _def as unknown as { inputs?: z.ZodType[] };
  const { access } = (_def.meta ?? {}) as { access?: Access };
  return {
    name,
    type: _def.type as Procedure['type'],
    access,
    sample: inputs[0] ? sampleOf(inputs[0]) : undefined,
  };
});

let api: TestApi;
beforeAll(async () => {
  const seed = makeSeed([
    makeFullTeam('a', {
      members: [
        makeMember('a', 'granted', { role: 'admin' }),
        makeMember('a', 'gone', { role: 'admin', status: 'ended' }),
        makeMember('a', 'invited', { role: 'admin', status: 'invited' }),
      ],
    }),
    makeFullTeam('b'),
    makeFullTeam('suspended', { status: 'suspended' }),
    makeFullTeam('ended', { status: 'ended' }),
  ]);
  api = await startTestApi({ seed });
  await addDeliveries(api.db);
  await api.db.pool.query(`update member set rights = $1 where id = $2`, [
    [SCHNITTSTELLEN],
    memberId('a', 'granted'),
  ]);
});

type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly code: string;
  /** The body without the id of the request. */
  readonly body: unknown;
}

async function call(
  procedure: Pick<Procedure, 'name' | 'type'>,
  headers: Headers,
  input?: unknown,
): Promise<Answer> {
  const url = `${api.url}/trpc/${procedure.name}`;
  const json = input === undefined ? undefined : JSON.stringify(input);
  const response = await (procedure.type === 'query'
    ? fetch(json === undefined ? url : `${url}?input=${encodeURIComponent(json)}`, { headers })
    : fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        ...(json === undefined ? {} : { body: json }),
      }));
  const body = (await response.json()) as {
    error?: { data?: { problem?: { code: string; request_id?: string } | null } };
  };
  const problem = body.error?.data?.problem;
  expect(problem?.request_id ?? response.headers.get('x-request-id')).toBe(
    response.headers.get('x-request-id'),
  );
  if (problem) delete problem.request_id;
  return { status: response.status, code: body.error ? (problem?.code ?? 'none') : 'ok', body };
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const asMember = async (team: string, name: string): Promise<Headers> =>
  bearer(await tokenOf({ kind: 'user', userId: userId(team, name), teamId: `team_${team}` }));

/** Identities that the service knows, by their kind. */
const CALLERS: Readonly<Record<string, () => Promise<Headers>>> = {
  member: () => asMember('a', 'member'),
  admin: () => asMember('a', 'admin'),
  granted: () => asMember('a', 'granted'),
  owner: () => asMember('a', 'owner'),
  platform: async () => bearer(await tokenOf({ kind: 'platform', service: 'training' })),
};

/** Identities that are admitted, so that a refusal can only be caused by their token. */
const trusted = (access: Access | undefined): Identity =>
  access === 'platform'
    ? { kind: 'platform', service: 'training' }
    : { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' };

const now = (): number => Math.floor(Date.now() / 1000);

function payloadOf(identity: Identity): JWTPayload {
  const who =
    identity.kind === 'user'
      ? { sub: identity.userId, team_id: identity.teamId }
      : { sub: identity.service };
  const iat = now();
  const registered = { iss: TOKEN_ISSUER, aud: TOKEN_AUDIENCE, iat, exp: iat + 900 };
  return { kind: identity.kind, ...who, ...registered };
}

const secretOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const rsa = generateKeyPair('RS256');

/**
 * Signs a token that is valid except for `changes` of its claims (undefined leaves a claim out),
 * its algorithm or its secret.
 */
function sign(
  identity: Identity,
  changes: Readonly<Record<string, unknown>>,
  { alg = 'HS256', secret = TEST_APP_AUTH_SECRET } = {},
): Promise<string> {
  const claims = JSON.parse(JSON.stringify({ ...payloadOf(identity), ...changes })) as JWTPayload;
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(secretOf(secret));
}

type BadToken = (identity: Identity) => string | Promise<string>;

const BAD_TOKENS: Readonly<Record<string, BadToken>> = {
  'no token at all': () => '',
  garbage: () => 'garbage',
  'three parts of nothing': () => 'no.token.here',
  'a token cut short': async (who) => (await sign(who, {})).slice(0, -3),
  'an expired token': (who) => sign(who, { iat: now() - 1800, exp: now() - 60 }),
  'a token that lives too long': (who) => sign(who, { iat: now() - 7200, exp: now() + 86_400 }),
  'a token that is not yet valid': (who) => sign(who, { nbf: now() + 60 }),
  'a token of the future': (who) => sign(who, { iat: now() + 60 }),
  'another issuer': (who) => sign(who, { iss: 'somebody-else' }),
  'another audience': (who) => sign(who, { aud: 'another-service' }),
  'no issuer': (who) => sign(who, { iss: undefined }),
  'no audience': (who) => sign(who, { aud: undefined }),
  'no end': (who) => sign(who, { exp: undefined }),
  'no beginning': (who) => sign(who, { iat: undefined }),
  nobody: (who) => sign(who, { sub: undefined }),
  'an unknown kind': (who) => sign(who, { kind: 'api_key' }),
  'HS512 with the right secret': (who) => sign(who, {}, { alg: 'HS512' }),
  'the wrong secret': (who) => sign(who, {}, { secret: `${TEST_APP_AUTH_SECRET}!` }),
  RS256: async (who) =>
    new SignJWT(payloadOf(who)).setProtectedHeader({ alg: 'RS256' }).sign((await rsa).privateKey),
  'alg: none': (who) => new UnsecuredJWT(payloadOf(who)).encode(),
  'alg: none, spelt otherwise': (who) => {
    const [, claims] = new UnsecuredJWT(payloadOf(who)).encode().split('.');
    return `${Buffer.from('{"alg":"NONE","typ":"JWT"}').toString('base64url')}.${claims}.`;
  },
  'an API key': () => api.key('team_a'),
  'a user of another team': () =>
    tokenOf({ kind: 'user', userId: userId('b', 'owner'), teamId: 'team_a' }),
  'a team that is none': () =>
    tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_none' }),
  'an admin who left': () =>
    tokenOf({ kind: 'user', userId: userId('a', 'gone'), teamId: 'team_a' }),
  'an admin who is invited': () =>
    tokenOf({ kind: 'user', userId: userId('a', 'invited'), teamId: 'team_a' }),
};

/**
 * One function checks the tokens of all procedures. So all bad ones go to the first procedure of
 * each API, and these to every other.
 */
const TO_EVERY_ONE = ['no token at all', 'a user of another team'];
const apiOf = ({ name }: Procedure): string => name.slice(0, name.indexOf('.'));
const firstOfApi = (procedures: readonly Procedure[]): ReadonlySet<Procedure> =>
  new Set(
    new Map(procedures.toReversed().map((procedure) => [apiOf(procedure), procedure])).values(),
  );
const FIRST_OF_API = firstOfApi(PROCEDURES);
const FIRST_MUTATIONS = firstOfApi(PROCEDURES.filter(({ type }) => type === 'mutation'));

/** The problem codes of refusals; `none` stands for a response that is not one of our problems. */
const REFUSALS = ['unauthorized', 'forbidden', 'api_disabled', 'none'];

/** The first refusal with each code and form of token. Every later one must be equal. */
const refusals = new Map<string, unknown>();

/** What a refusal may tell about a token: its form, and nothing that a stranger cannot see. */
function formOf(token: string): 'missing' | 'malformed' | 'not valid' {
  if (token === '') return 'missing';
  return token.split('.').length === 3 ? 'not valid' : 'malformed';
}

function expectRefusal(
  answer: Answer,
  code: string,
  status: number,
  who: string,
  token = '',
): void {
  expect([answer.status, answer.code], who).toEqual([status, code]);
  const kind = `${code} ${formOf(token)}`;
  if (!refusals.has(kind)) refusals.set(kind, answer.body);
  expect(answer.body, who).toEqual(refusals.get(kind));
}

describe.each(PROCEDURES)('$name ($access)', (procedure) => {
  const { access, sample, type } = procedure;
  const allowed = access === undefined ? [] : ALLOWED[access];

  it('declares whom it lets in', () => {
    expect(Object.keys(ALLOWED)).toContain(access);
  });

  it('refuses invalid tokens of a form with the same response, and does nothing', async () => {
    const before = await readState(api.db);
    for (const [what, make] of Object.entries(BAD_TOKENS)) {
      if (!FIRST_OF_API.has(procedure) && !TO_EVERY_ONE.includes(what)) continue;
      const token = await make(trusted(access));
      expectRefusal(
        await call(procedure, token === '' ? {} : bearer(token), sample),
        'unauthorized',
        401,
        what,
        token,
      );
    }
    expectRefusal(
      await call(procedure, { authorization: 'Basic YTpi' }, sample),
      'unauthorized',
      401,
      'Basic',
    );
    expect(await readState(api.db)).toEqual(before);
  });

  it('refuses all other callers, and does nothing', async () => {
    const before = await readState(api.db);
    for (const [who, headersOf] of Object.entries(CALLERS).filter(
      ([name]) => !allowed.includes(name),
    ))
      expectRefusal(await call(procedure, await headersOf(), sample), 'forbidden', 403, who);
    expect(await readState(api.db)).toEqual(before);
  });

  it.each(allowed)('admits: %s', async (who) => {
    // Without an input, so that it does nothing.
    const answer = await call(procedure, (await CALLERS[who]?.()) ?? {});
    expect(REFUSALS).not.toContain(answer.code);
    expect(answer.status).toBeLessThan(500);
  });

  it.each(['suspended', 'ended'])('refuses the owner of a team that is %s', async (team) => {
    const before = await readState(api.db);
    const answer = await call(procedure, await asMember(team, 'owner'), sample);
    expectRefusal(answer, allowed.includes('owner') ? 'api_disabled' : 'forbidden', 403, team);
    expect(await readState(api.db)).toEqual(before);
  });

  when(!allowed.includes('owner'))('refuses the session of an owner', async () => {
    const { headers, csrfToken } = await openSession('owner');
    expectRefusal(
      await call(procedure, { ...headers, 'x-csrf-token': csrfToken }, sample),
      'forbidden',
      403,
      'session',
    );
  });

  when(allowed.includes('owner'))('takes a session cookie with its CSRF token', async () => {
    const { headers, csrfToken } = await openSession('owner');
    expect(REFUSALS).not.toContain(
      (await call(procedure, { ...headers, 'x-csrf-token': csrfToken })).code,
    );
  });

  when(allowed.includes('owner') && type === 'query')(
    'takes a session cookie alone, for it only reads',
    async () => {
      expect(REFUSALS).not.toContain(
        (await call(procedure, (await openSession('owner')).headers)).code,
      );
    },
  );

  when(type === 'mutation')(
    'refuses a session cookie without its own CSRF token, and does nothing',
    async () => {
      const { headers, csrfToken } = await openSession('owner');
      const others = await openSession('granted');
      const before = await readState(api.db);
      expectRefusal(await call(procedure, headers, sample), 'unauthorized', 401, 'no CSRF token');
      const forged = FIRST_MUTATIONS.has(procedure) ? ['x', `${csrfToken.slice(0, -1)}_`] : [];
      for (const given of ['', others.csrfToken, ...forged])
        expectRefusal(
          await call(procedure, { ...headers, 'x-csrf-token': given }, sample),
          'unauthorized',
          401,
          given,
        );
      expect(await readState(api.db)).toEqual(before);
    },
  );
});

async function openSession(name: string): Promise<{ headers: Headers; csrfToken: string }> {
  const opened = await fetch(`${api.url}/trpc-session`, {
    method: 'POST',
    headers: await asMember('a', name),
  });
  const { csrf_token: csrfToken } = (await opened.json()) as { csrf_token: string };
  return { headers: { cookie: opened.headers.getSetCookie()[0]?.split(';')[0] ?? '' }, csrfToken };
}

it('all procedures are under v1, admin or platform, and each tree has its own callers', () => {
  for (const { name, access } of PROCEDURES) {
    const [tree] = name.split('.');
    const expected = {
      v1: ['admins'],
      admin: ['admins', 'schnittstellen', 'owner'],
      platform: ['platform'],
    }[tree ?? ''];
    expect(expected, name).toContain(access);
  }
});

it('refused calls have an input that is valid for their procedure', () => {
  const fitting = Object.entries(
    appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
  ).filter(([name, { _def }]) => {
    const { inputs = [] } = _def as unknown as { inputs?: z.ZodType[] };
    return (
      inputs[0]?.safeParse(PROCEDURES.find((procedure) => procedure.name === name)?.sample)
        .success ?? true
    );
  });
  expect(PROCEDURES.map(({ name }) => name)).toEqual(fitting.map(([name]) => name));
});

describe('an unknown procedure', () => {
  it.each([
    {
      what: 'an unknown name',
      path: 'v1.nothing.here',
      method: 'GET',
      status: 404,
      code: 'not_found',
    },
    {
      what: 'a query by POST',
      path: 'v1.me.get',
      method: 'POST',
      status: 405,
      code: 'bad_request',
    },
    {
      what: 'a mutation by GET',
      path: 'v1.cases.create',
      method: 'GET',
      status: 405,
      code: 'bad_request',
    },
    {
      what: 'a body that is no JSON',
      path: 'v1.cases.create',
      method: 'POST',
      body: '{',
      status: 400,
      code: 'bad_request',
    },
    {
      what: 'an input that is no JSON',
      path: 'v1.me.get?input={',
      method: 'GET',
      status: 400,
      code: 'bad_request',
    },
  ])(
    'is told as a problem, and is no fault of ours: $what',
    async ({ path, method, body, status, code }) => {
      const response = await fetch(`${api.url}/trpc/${path}`, {
        method,
        headers: { ...(await asMember('a', 'owner')), 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      });
      const answer = (await response.json()) as {
        error?: { data?: { problem?: { code?: string } | null } };
      };
      expect([response.status, answer.error?.data?.problem?.code]).toEqual([status, code]);
      expect(api.loggedErrors).toEqual([]);
    },
  );
});

// Tokens that are verified with the host application's published keys (APP_AUTH_JWKS_URL). The key
// server is the test's own.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { TOKEN_AUDIENCE, TOKEN_ISSUER } from '../../src/http/app/token.ts';
import { loadTestSeed, startTestApi, TEST_APP_AUTH_SECRET, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

interface Key {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function makeKey(kid: string, alg: string): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return {
    kid,
    alg,
    privateKey,
    publicKey,
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
  };
}

const signedBy = ({
  kid,
  alg,
  privateKey,
}: Pick<Key, 'alg' | 'privateKey'> & { readonly kid: string | undefined }): Promise<string> =>
  tokenFor(alg, kid).sign(privateKey);

function tokenFor(alg: string, kid: string | undefined): SignJWT {
  return new SignJWT({ kind: 'user', team_id: 'team_a' })
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
    .setSubject(userId('a', 'owner'))
    .setIssuer(TOKEN_ISSUER)
    .setAudience(TOKEN_AUDIENCE)
    .setIssuedAt(clock.now())
    .setExpirationTime(new Date(clock.now().getTime() + 600_000));
}

interface KeyServer {
  readonly url: string;
  published: readonly Key[];
  /** If set, it responds like this instead. */
  trouble: RequestListener | null;
  requests: number;
  stop(): Promise<void>;
}

async function startKeyServer(): Promise<KeyServer> {
  const http = createServer((request, response) => {
    server.requests += 1;
    if (server.trouble) {
      server.trouble(request, response);
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ keys: server.published.map(({ jwk }) => jwk) }));
  });
  await new Promise<void>((done) => {
    http.listen(0, '127.0.0.1', done);
  });
  const server: KeyServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/keys`,
    published: [],
    trouble: null,
    requests: 0,
    stop: async () => {
      http.closeAllConnections();
      await new Promise((done) => http.close(done));
    },
  };
  return server;
}

/** Longer than the key server, in this process, takes on any machine. */
const PATIENCE_MS = 60_000;

let keys: KeyServer;
let api: TestApi;
/**
 * The clock of the APIs, of tokens and of the database, in milliseconds ahead of the start. It
 * stands still.
 */
let ahead = 0;
const START = Date.now();
const now = (): Date => new Date(START + ahead);
const clock = { ...systemClock, now, override: now };

/** Starts an API that asks the key server each time and waits this long for it. */
function startApi(timeoutMs: number): Promise<TestApi> {
  const tokenKey = { kind: 'jwks', url: keys.url, cooldownMs: 0, timeoutMs } as const;
  return startTestApi({ ...seeded(), clock, app: { tokenKey } });
}

/** The APIs of the tests have one database, and change nothing in it. */
let database: TestDatabase;
const seeded = () => ({ seed: {}, database: { ...database, drop: async () => undefined } });
beforeAll(async () => {
  database = await createTestDatabase();
  await loadTestSeed(database, makeSeed([makeTeam('a')]));
  return () => database.drop();
});
beforeEach(async () => {
  ahead = 0;
  keys = await startKeyServer();
  api = await startApi(PATIENCE_MS);
});
afterEach(async () => {
  await api.stop();
  await keys.stop();
});

const call = (token: string | Promise<string>): Promise<string> =>
  Promise.resolve(token).then((text) => codeOf(appAs(api, text).v1.me.get.query({})));

describe('published keys', () => {
  test('RS256, PS256, ES256 and EdDSA are accepted', async () => {
    keys.published = await Promise.all(
      ['RS256', 'PS256', 'ES256', 'EdDSA'].map((alg) => makeKey(`the ${alg} key`, alg)),
    );
    for (const key of keys.published)
      expect([key.alg, await call(signedBy(key))]).toEqual([key.alg, 'ok']);
    expect(keys.requests).toBe(1);
  });

  test('a new key is accepted from its first token, and a removed one is refused', async () => {
    const [old, next] = [await makeKey('old', 'ES256'), await makeKey('next', 'ES256')];
    keys.published = [old];
    expect(await call(signedBy(old))).toBe('ok');
    keys.published = [old, next];
    expect(await call(signedBy(next))).toBe('ok');
    expect(await call(signedBy(old))).toBe('ok');
    keys.published = [next];
    // A token with an unknown key makes the API fetch the published keys again.
    expect(await call(signedBy({ ...next, kid: 'unknown' }))).toBe('unauthorized');
    expect(await call(signedBy(old))).toBe('unauthorized');
    expect(await call(signedBy(next))).toBe('ok');
  });

  test('a token that names no key is accepted if only one fits, not among two', async () => {
    const [key, other] = [await makeKey('one', 'ES256'), await makeKey('two', 'ES256')];
    const nameless = await signedBy({ ...key, kid: undefined });
    keys.published = [key];
    expect(await call(nameless)).toBe('ok');
    keys.published = [key, other];
    // So that the API reads the published keys again.
    expect(await call(signedBy(other))).toBe('ok');
    expect(await call(nameless)).toBe('unauthorized');
    expect(api.loggedErrors).toEqual([]);
  });

  test('a token that another key signed under a published name is refused', async () => {
    const published = await makeKey('shared', 'RS256');
    keys.published = [published];
    expect(await call(signedBy(await makeKey('shared', 'RS256')))).toBe('unauthorized');
    expect(await call(signedBy(published))).toBe('ok');
  });

  test('HS256 is refused, with the public key in any form and with the shared secret', async () => {
    const rsa = await makeKey('rsa', 'RS256');
    keys.published = [rsa];
    const pem = await exportSPKI(rsa.publicKey);
    const forms = [
      pem,
      pem.trim(),
      JSON.stringify(rsa.jwk),
      rsa.jwk.n ?? '',
      JSON.stringify({ keys: [rsa.jwk] }),
    ];
    for (const form of forms)
      expect(await call(tokenFor('HS256', 'rsa').sign(new TextEncoder().encode(form)))).toBe(
        'unauthorized',
      );
    expect(
      await call(tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' })),
    ).toBe('unauthorized');
    expect(
      await call(tokenFor('HS256', 'rsa').sign(new TextEncoder().encode(TEST_APP_AUTH_SECRET))),
    ).toBe('unauthorized');
    // It was refused for its algorithm, without asking the key server.
    expect(keys.requests).toBe(0);
  });

  test('many unknown key names cause one request while a set of keys is kept', async () => {
    const kept = await startTestApi({
      ...seeded(),
      clock,
      app: { tokenKey: { kind: 'jwks', url: keys.url, timeoutMs: PATIENCE_MS } },
    });
    const key = await makeKey('known', 'ES256');
    keys.published = [key];
    const codes = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        codeOf(
          appAs(kept, await signedBy({ ...key, kid: `unknown ${index}` })).v1.me.get.query({}),
        ),
      ),
    );
    expect(new Set(codes)).toEqual(new Set(['unauthorized']));
    expect(keys.requests).toBe(1);
    await kept.stop();
  });
});

describe('a key server', () => {
  const troubles: { what: string; trouble: RequestListener }[] = [
    { what: 'answers nothing', trouble: () => undefined },
    {
      what: 'never ends its answer',
      trouble: (_request, response) => response.writeHead(200).write('{"keys":['),
    },
    { what: 'answers 500', trouble: (_request, response) => response.writeHead(500).end() },
    {
      what: 'redirects',
      trouble: (_request, response) => response.writeHead(302, { location: '/' }).end(),
    },
    { what: 'answers no JSON', trouble: (_request, response) => response.end('<html>') },
    { what: 'answers no keys', trouble: (_request, response) => response.end('{}') },
    { what: 'hangs up', trouble: (request) => request.socket.destroy() },
  ];

  test.each(troubles)(
    'that $what: 503, and normal responses after it recovers',
    async ({ trouble }) => {
      const key = await makeKey('key', 'ES256');
      keys.published = [key];
      keys.trouble = trouble;
      const token = await signedBy(key);
      await api.stop();
      api = await startApi(300);
      const response = await fetch(`${api.url}/trpc/v1.me.get?input={}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBe(503);
      const { error } = (await response.json()) as { error: { data: { problem: object } } };
      expect(error.data.problem).toMatchObject({ code: 'unavailable', status: 503 });
      expect(error.data.problem).not.toHaveProperty('detail');
      // Without a token, or with one that no published key could verify, it is still a 401.
      expect(await codeOf(appAs(api, null).v1.me.get.query({}))).toBe('unauthorized');
      expect(await call('no.token.here')).toBe('unauthorized');
      keys.trouble = null;
      // The answer of the key server may take a busy machine longer than this API waits.
      await until(async () => (await call(token)) === 'ok');
      expect(api.loggedErrors.join('')).not.toContain(token);
    },
  );

  test('that is unreachable: 503, but no effect if its keys were read before', async () => {
    const key = await makeKey('key', 'ES256');
    keys.published = [key];
    expect(await call(signedBy(key))).toBe('ok');
    await keys.stop();
    expect(await call(signedBy(key))).toBe('ok');
    expect(await call(signedBy({ ...key, kid: 'unknown' }))).toBe('unavailable');
    const session = await fetch(`${api.url}/trpc-session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await signedBy({ ...key, kid: 'unknown' })}` },
    });
    expect(session.status).toBe(503);
    expect(session.headers.getSetCookie()).toEqual([]);
  });

  describe('that fails for a while', () => {
    const MINUTE = 60_000;
    const HOUR = 60 * MINUTE;
    const logged: { readonly level: number; readonly msg: string }[] = [];
    const failing: RequestListener = (_request, response) => response.writeHead(500).end();
    let kept: TestApi;
    let key: Key;
    const startKept = (timeoutMs: number): Promise<TestApi> =>
      startTestApi({
        ...seeded(),
        clock,
        app: { tokenKey: { kind: 'jwks', url: keys.url, timeoutMs } },
        onLog: (line) => logged.push(JSON.parse(line) as (typeof logged)[number]),
      });
    beforeEach(async () => {
      logged.length = 0;
      kept = await startKept(PATIENCE_MS);
      key = await makeKey('key', 'ES256');
      keys.published = [key];
      return () => kept.stop();
    });
    const send = async (token: string | Promise<string>): Promise<Response> =>
      fetch(`${kept.url}/trpc/v1.me.get?input={}`, {
        headers: { authorization: `Bearer ${await token}` },
      });
    const ask = async (one: Pick<Key, 'alg' | 'privateKey'> & { kid: string }): Promise<number> =>
      (await send(signedBy(one))).status;
    const unknown = () => ({ ...key, kid: 'unknown' });

    test('shuts nobody out whose key it has published, for a day at most', async () => {
      expect(await ask(key)).toBe(200);
      keys.trouble = failing;
      for (ahead of [11 * MINUTE, HOUR, 23 * HOUR]) {
        expect(await ask(key)).toBe(200);
        expect(await ask(unknown())).toBe(503);
      }
      expect(logged.filter(({ level }) => level === 40)).toEqual([
        expect.objectContaining({ msg: expect.stringContaining('published keys') }),
      ]);
      ahead = 24 * HOUR;
      expect(await ask(key)).toBe(503);
      keys.trouble = null;
      ahead += MINUTE;
      expect(await ask(key)).toBe(200);
    });

    test('is asked again, and what it has removed by then is refused', async () => {
      expect(await ask(key)).toBe(200);
      ahead = 11 * MINUTE;
      keys.trouble = failing;
      expect(await ask(key)).toBe(200);
      keys.trouble = null;
      keys.published = [];
      ahead += 10_000;
      // No call waits for a server that failed just now.
      await until(async () => (await ask(key)) === 401);
      expect(keys.requests).toBe(3);
    });

    test.each([
      ['that is the first one for long', 11 * MINUTE],
      ['whose clock was set back', -11 * MINUTE],
    ])('is asked again before a call %s', async (_which, later) => {
      expect(await ask(key)).toBe(200);
      keys.published = [];
      ahead = later;
      expect(await ask(key)).toBe(401);
    });

    test('ends what was read from it, also where the clock was set back by a day', async () => {
      expect(await ask(key)).toBe(200);
      keys.trouble = failing;
      ahead = -24 * HOUR;
      expect(await ask(key)).toBe(503);
    });

    test.each([
      ['at once', failing],
      ['by its silence', () => undefined],
    ])('%s is asked once in a while, however many strangers call', async (_how, trouble) => {
      const timeoutMs = 500;
      await kept.stop();
      kept = await startKept(timeoutMs);
      keys.trouble = trouble;
      const statuses = async (n: number) =>
        new Set(await Promise.all(Array.from({ length: n }, () => ask(unknown()))));
      expect(await statuses(10)).toEqual(new Set([503]));
      for (let n = 0; n < 20; n += 1) expect(await ask(unknown())).toBe(503);
      expect(keys.requests).toBe(1);
      ahead += 4_000;
      expect(await ask(unknown())).toBe(503);
      expect(keys.requests).toBe(1);
      ahead += 2_000;
      expect(await statuses(10)).toEqual(new Set([503]));
      expect(keys.requests).toBe(2);
    });

    test('by its silence keeps no call waiting whose key is known', async () => {
      expect(await ask(key)).toBe(200);
      ahead = 11 * MINUTE;
      keys.trouble = failing;
      expect(await ask(key)).toBe(200);
      keys.trouble = () => undefined;
      for (let n = 0; n < 5; n += 1) {
        ahead += 10_000;
        // The test's limit is that of the fetch, which is never answered.
        expect(await ask(key)).toBe(200);
      }
    });

    test('counts those whose key is unknown as strangers', async () => {
      keys.trouble = failing;
      const before = await send(signedBy(unknown()));
      const after = await send(signedBy(unknown()));
      const left = (response: Response) => Number(response.headers.get('ratelimit-remaining'));
      expect([before.status, after.status]).toEqual([503, 503]);
      expect(left(before) - left(after)).toBe(1);
    });
  });
});

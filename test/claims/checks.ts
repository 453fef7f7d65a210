/** What the comments of guides run: each asks the running service for what the guides say of it. */
import { readFileSync } from 'node:fs';
import { request } from 'undici';
import { expect, vi } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { systemClock } from '../../src/core/clock.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../../src/core/page.ts';
import { SANDBOX_LIMITS, SANDBOX_OWNER } from '../../src/core/sandbox.ts';
import { TEAM_LIMITS } from '../../src/core/team-limits.ts';
import {
  DAYS_BACK,
  DEFAULTS,
  PLAY_NAMES,
  SPEED_MAX,
} from '../../src/features/sandbox/play-rules.ts';
import { simulatedRows } from '../../src/features/crm/sandbox-service.ts';
import { nextState, type DeliveryState } from '../../src/delivery/schedule.ts';
import { SCENARIOS } from '../../src/core/vocabularies.ts';
import { contentOf } from '../../src/features/sandbox/scenario.ts';
import { IP_RATE_LIMIT_PER_MINUTE } from '../../src/http/api/authentication/rate-limits.ts';
import { LANGUAGES } from '../../src/docs/samples/languages.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { readState, teamOf, validRequest } from '../contract/requests.ts';
import { TEST_APP_SECRET, type ApiResponse, type TestApi } from '../support/api.ts';
import { RETRY_DELAYS_S, startDeliveries } from '../support/deliveries.ts';
import { startReceiver } from '../support/receiver.ts';
import { memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** The team of the checks; it has `ASSIGNMENTS` assignments. */
export const TEAM = 'claims';
export const ASSIGNMENTS = 210;

/** Checks by what they say. The service has a team for each endpoint, too. */
export const CHECKS: Readonly<Record<string, (api: TestApi) => Promise<void>>> = {
  'keys have the documented form': async (api) => {
    const key = keyOf(api);
    expect(key).toMatch(/^svck_live_[0-9a-f]+_[\w-]{32,}$/);
    expect((await api.call(key, 'GET', '/me')).status).toBe(200);
    expect((await api.call(key.slice(0, -1), 'GET', '/me')).status).toBe(401);
  },

  'a key goes on working when the person who created it leaves': async (api) => {
    const team = 'me-get';
    const owner = api.key(`team_${team}`);
    const [admin, member] = ['admin', 'member'].map((name) => memberId(team, name));
    const role = { body: { role: 'admin' } };
    expect((await api.call(owner, 'PATCH', `/users/${member}`, role)).status).toBe(200);
    expect((await api.call(owner, 'DELETE', `/users/${admin}`)).status).toBe(200);
    const key = api.key(`team_${team}`, 'by_admin');
    expect((await api.call(key, 'GET', '/users')).status).toBe(200);
  },

  'there is no CORS': async (api) => {
    const authorization = `Bearer ${keyOf(api)}`;
    for (const method of ['GET', 'OPTIONS']) {
      const headers = { authorization, origin: 'https://app.example' };
      const response = await fetch(`${api.base}/me`, { method, headers });
      expect(response.status).toBe(method === 'GET' ? 200 : 405);
      const names = [...response.headers.keys()];
      expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  },

  'GET /me needs no scope and tells what the key may do': async (api) => {
    const none = await api.call(api.key(`team_${TEAM}`, 'none'), 'GET', '/me');
    expect(none).toMatchObject({ status: 200, body: { scopes: [] } });
    const { body } = await api.call(keyOf(api), 'GET', '/me');
    expect(body.scopes.length).toBeGreaterThan(5);
  },

  'the client waits 30 s for an attempt and asks for a language': async () => {
    const timeout = vi.spyOn(globalThis, 'setTimeout');
    const languages: (string | null)[] = [];
    const waited: unknown[] = [];
    for (const language of ['en', 'de'] as const) {
      const client = createClient({
        apiKey: 'svck_live_x',
        baseUrl: 'https://api.example/api/public/v1',
        language,
        fetch: async (sent) => {
          languages.push(sent.headers.get('accept-language'));
          waited.push(timeout.mock.lastCall?.[1]);
          return Response.json({});
        },
      });
      await client.me.get();
    }
    expect(waited).toEqual([30_000, 30_000]);
    expect(languages).toEqual(['en', 'de']);
    timeout.mockRestore();
  },

  'the calls of the quickstart need the scopes that it names': async () => {
    const text = guide('quickstart');
    const called = [...text.matchAll(/^\{\{request (\S+ \S+?)(?: \{.*\})?\}\}$/gm)].map(
      ([, call]) => call,
    );
    const scopes = ENDPOINTS.flatMap(({ method, path, scope }) =>
      called.includes(`${method} ${path}`) && scope !== null ? [scope] : [],
    );
    expect(new Set(scopes)).toEqual(new Set(text.match(/(?<=`)\w+:\w+(?=`)/g)));
  },

  'the sandbox has the ids that its guide names': async () => {
    const [, section = ''] = /\{#what-is-in-it\}\n(.*?)^## /ms.exec(guide('sandbox')) ?? [];
    const terms = [...section.matchAll(/`(\w+)`/g)].map(([, term = '']) => term);
    const beginnings = terms.filter((term) => term.endsWith('_'));
    const at = new Date();
    const crm = await simulatedRows('team_a:sandbox', { at, appSecret: TEST_APP_SECRET });
    const typical = contentOf('typical', at, crm);
    const idsOf = (rows: Iterable<{ readonly id?: unknown }>) =>
      Array.from(rows, ({ id }) => String(id));
    const { entries, members, assignments, cases, connections } = typical;
    const single = [
      SANDBOX_OWNER.memberId,
      ...[entries, members, assignments, cases, connections].flatMap(idsOf),
    ];
    const endsOf = (ids: readonly string[]) => [ids[0] ?? '', ids.at(-1) ?? ''];
    const ends = [typical.deals, typical.objections, typical.trainings()].flatMap((rows) =>
      endsOf(idsOf(rows)),
    );
    const [first = ''] = idsOf(contentOf('large', at, crm).trainings());
    const named = (id: string): string[] => [
      id,
      ...beginnings.filter((one) => id.startsWith(one)).map((one) => id.slice(one.length)),
    ];
    const ids = [...single, ...ends, first];
    expect(ids.filter((id) => !named(id).some((name) => terms.includes(name)))).toEqual([]);
    const known = new Set<string>([...SCENARIOS, ...beginnings, ...ids.flatMap(named)]);
    expect(terms.filter((term) => !known.has(term))).toEqual([]);
    expect(members).toHaveLength(12);
  },

  'the sandbox plays what its guide names': async () => {
    const rows = guide('sandbox').matchAll(/^\| `(\w+_\w+)` /gm);
    expect(Array.from(rows, ([, play]) => play)).toEqual(PLAY_NAMES);
    expect(DEFAULTS).toMatchObject({ delayS: 10, suspendedS: 60, failingS: 300, remaining: 5 });
    expect([DAYS_BACK, SPEED_MAX]).toEqual([90, 1000]);
    const allS = RETRY_DELAYS_S.reduce((sum, delayS) => sum + delayS, 0);
    expect(allS / SPEED_MAX).toBeLessThan(180);
    expect(SANDBOX_LIMITS).toEqual({ seats: 200, requestsPerMinute: 300 });
    const { webhookEndpoints, liveKeys } = TEAM_LIMITS;
    expect([webhookEndpoints.test, liveKeys.test]).toEqual([5, 10]);
  },

  'a delivery is repeated for as long as the guides say': async () => {
    const hours = hoursOfRetries();
    const numbersIn = (names: readonly string[], words: RegExp): number[] =>
      names.map((name) => Number(words.exec(guide(name))?.[1]));
    const down = [
      ...numbersIn(['pagination'], /down for less than (\d+) hours/),
      ...numbersIn(['de/pagination'], /weniger als (\d+) Stunden nicht erreichbar/),
    ];
    expect(down).toEqual([44, 44]);
    // What happened as the outage began still comes after it.
    expect(Math.max(...down)).toBeLessThan(hours);
    const about = [
      ...numbersIn(['pagination', 'webhooks', 'low-score'], /about (\d+)\s+hours/),
      ...numbersIn(['de/pagination', 'de/webhooks'], /etwa (\d+)\s+Stunden/),
    ];
    expect(about).toEqual(Array(5).fill(Math.round(hours)));
  },

  'the privacy guide names all that the switch closes': async () => {
    const closed = ENDPOINTS.filter(({ errors }) => errors.includes('privacy_restricted'));
    const partOf = ({ path }: { readonly path: string }) => path.split('/')[1] ?? '';
    const rows = guide('privacy').match(/^\| .*403 `privacy_restricted` +\|$/gm) ?? [];
    const said = rows.join('\n').replace('members', 'users').toLowerCase();
    const parts = [...new Set(closed.map(partOf))];
    expect(parts.filter((part) => !said.includes(part))).toEqual([]);
    // Of these, what else the part has is open.
    const single = closed.filter(({ path }) => partOf({ path }) === 'sandbox');
    expect(single).not.toEqual([]);
    for (const { method, path } of single)
      for (const language of ['', 'de/'])
        expect(guide(`${language}privacy`)).toContain(`\`${method} ${path}\``);
  },

  'every read has an ETag': async (api) => {
    for (const { path, response } of await readAll(api))
      expect([path, response.headers['etag']]).toEqual([
        path,
        expect.stringMatching(/^"[\w-]{22}"$/),
      ]);
  },

  'a page of 200 assignments has 7 KB instead of 77': async (api) => {
    const ask = async (encoding: string): Promise<number> => {
      const headers = { authorization: `Bearer ${keyOf(api)}`, 'accept-encoding': encoding };
      const { body } = await request(`${api.base}/assignments?limit=200`, { headers });
      return (await body.arrayBuffer()).byteLength;
    };
    const [plain, gzip] = [await ask('identity'), await ask('gzip')];
    expect(plain).toBeGreaterThan(65_000);
    expect(plain).toBeLessThan(90_000);
    expect(gzip).toBeLessThan(9_000);
  },

  'reads write nothing': async (api) => {
    const before = await readState(api.db);
    await readAll(api);
    expect(await readState(api.db)).toEqual(before);
  },

  'responses are JSON in UTF-8': async (api) => {
    for (const { path, response } of await readAll(api))
      expect([path, response.headers['content-type']]).toEqual([path, 'application/json']);
    const body = { user_id: `usr_${TEAM}_member`, title: 'Übung – 練習' };
    expect((await api.call(keyOf(api), 'POST', '/cases', { body })).body.title).toBe(body.title);
  },

  'moments are in UTC with milliseconds and Z': async (api) => {
    const moments = (await readAll(api)).flatMap(
      ({ response }) => JSON.stringify(response.body).match(/"\d{4}-\d\d-\d\dT[^"]*"/g) ?? [],
    );
    expect(moments.length).toBeGreaterThan(10);
    for (const moment of moments) expect(moment).toMatch(/T\d\d:\d\d:\d\d\.\d{3}Z"$/);
  },

  'no path and no body names a team': async () => {
    for (const { path, input } of ENDPOINTS)
      expect([path, ...Object.keys(input.shape)].join(' ')).not.toMatch(/team_id|tenant/);
  },

  'the texts for programs can be had in the languages named': async (api) => {
    const sentence =
      guide('introduction').match(/Samples\s+there\s+are\s+for\s+curl[^.]*\./)?.[0] ?? '';
    const named = [...sentence.matchAll(/`(?:\?language=)?(\w+)`/g)].map(([, name]) => name);
    expect(new Set(['curl', ...named])).toEqual(new Set(LANGUAGES.map(({ id }) => id)));
    const texts = await Promise.all(
      LANGUAGES.map(async ({ id }) =>
        (await fetch(`${api.url}/docs/quickstart.md?language=${id}`)).text(),
      ),
    );
    expect(new Set(texts).size).toBe(LANGUAGES.length);
  },

  'a page has 50 entries unless told otherwise, and 200 at most': async (api) => {
    const page = async (query: string) =>
      (await api.call(keyOf(api), 'GET', `/assignments${query}`)).body.data?.length;
    expect(await page('')).toBe(PAGE_LIMIT_DEFAULT);
    expect(await page(`?limit=${PAGE_LIMIT_MAX}`)).toBe(PAGE_LIMIT_MAX);
    expect(await page(`?limit=${PAGE_LIMIT_MAX + 1}`)).toBeUndefined();
  },

  'the calls of a nightly job work': async (api) => {
    const section = guide('pagination').split('## Synchronize every night')[1] ?? '';
    const calls = [...section.matchAll(/^\|.*`GET (\S+)`\s*\|$/gm)].map(([, path]) => path ?? '');
    expect(calls).toHaveLength(6);
    for (const call of calls) {
      const path = call.replace('…', '2026-11-02T10:00:00Z');
      const { status, headers } = await api.call(keyOf(api), 'GET', path);
      expect([path, status, headers['svc-ignored-parameters']]).toEqual([path, 200, undefined]);
    }
  },

  'an external id may name several assignments': async (api) => {
    const body = { ...assignment(), external_ref: { id: 'course-1' } };
    for (const key of ['one', 'two'])
      await api.call(keyOf(api), 'POST', '/assignments', {
        body,
        headers: { 'idempotency-key': key },
      });
    const path = '/assignments?external_ref_id=course-1';
    expect((await api.call(keyOf(api), 'GET', path)).body.data).toHaveLength(2);
  },

  'an event reaches its receiver within seconds': async (api) => {
    const receiver = await startReceiver();
    const worker = await startDeliveries(api, { clock: systemClock });
    const endpoint = { url: receiver.url, events: ['assignment.created'] };
    await api.call(keyOf(api), 'POST', '/webhook-endpoints', { body: endpoint });
    const made = await api.call(keyOf(api), 'POST', '/assignments', { body: assignment() });
    expect(made.status).toBe(201);
    worker.wake('events');
    await receiver.arrived('/');
    const path = '/events?order=asc&type=assignment.created';
    await until(async () => {
      const { body } = await api.call(keyOf(api), 'GET', path);
      return (body.data as { data: { assignment_id: string } }[]).some(
        ({ data }) => data.assignment_id === made.body.id,
      );
    });
    await worker.stop();
  },

  'a team may make 600 requests a minute unless told otherwise': async (api) => {
    const key = api.key('team_members-list');
    const byDefault = `update team set rate_limit_per_min = default where id = 'team_members-list'`;
    await api.db.pool.query(byDefault);
    expect((await api.call(key, 'GET', '/me')).body.rate_limit_per_min).toBe(600);
  },

  'without a valid key the headers show the limit of the address': async (api) => {
    const limitOf = async (key: string | null, path: string): Promise<string | undefined> =>
      (await api.call(key, 'GET', path)).headers['ratelimit-limit'];
    const address = String(IP_RATE_LIMIT_PER_MINUTE);
    expect(await limitOf(null, '/me')).toBe(address);
    expect(await limitOf('svck_live_0_0', '/me')).toBe(address);
    expect(await limitOf(null, '/nothing')).toBe(address);
    expect(await limitOf(keyOf(api), '/nothing')).toBe(await limitOf(keyOf(api), '/me'));
    expect(await limitOf(keyOf(api), '/me')).not.toBe(address);
  },
};

const keyOf = (api: TestApi): string => api.key(`team_${TEAM}`);

const guide = (name: string): string =>
  readFileSync(new URL(`../../src/docs/guides/${name}.md`, import.meta.url), 'utf8');

/** Hours from the first attempt of a delivery that never succeeds to its last one. */
function hoursOfRetries(): number {
  let state: DeliveryState = {
    status: 'pending',
    attempt: 0,
    scheduledAttempts: 0,
    nextTryAt: new Date(0),
  };
  let lastMs = NaN;
  for (let at = state.nextTryAt; at !== null; at = state.nextTryAt) {
    lastMs = at.getTime();
    const end = { ok: false, at, cause: 'scheduled', retryAfterS: null } as const;
    state = nextState(state, end, RETRY_DELAYS_S);
  }
  return lastMs / 3_600_000;
}

const assignment = () => ({
  member_id: memberId(TEAM, 'member'),
  title: 'Practise',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
});

/** Sends every GET of the API. */
async function readAll(api: TestApi): Promise<{ path: string; response: ApiResponse }[]> {
  const reads: { path: string; response: ApiResponse }[] = [];
  for (const endpoint of ENDPOINTS.filter(({ method }) => method === 'GET')) {
    const team = teamOf(endpoint);
    const { path } = validRequest(endpoint, team);
    const response = await api.call(api.key(`team_${team}`), 'GET', path);
    expect([path, response.status]).toEqual([path, 200]);
    reads.push({ path, response });
  }
  return reads;
}

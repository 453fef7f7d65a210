// The examples of the documentation, called as they are on the demo team of `npm start`.
import { beforeAll, describe, expect, it } from 'vitest';
import type { oas31 } from 'zod-openapi';
import { sampleRequest } from '../../src/docs/samples/sample-request.ts';
import { inSandbox } from '../../src/docs/samples/sandbox-ids.ts';
import type { Operation } from '../../src/docs/reference/operations.ts';
import { createSite } from '../../src/docs/site.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets: true });
});

/** What takes something away comes last, and members after what belongs to them. */
const ORDER = ['GET', 'POST', 'PATCH', 'DELETE'];

function demoSite() {
  const document = JSON.parse(JSON.stringify(openApiDocument(api.url))) as oas31.OpenAPIObject;
  return createSite({
    publicUrl: api.url,
    document,
    allowsLocalReceivers: true,
    deprecation: null,
  });
}

/** The URL and headers with the examples of all parameters, as tools that import them send them. */
function withParameters(url: string, { parameters }: Operation) {
  const filled = new URL(url);
  const headers: Record<string, string> = {};
  for (const { name, place, example } of parameters) {
    if (example === null) continue;
    if (place === 'query') filled.searchParams.set(name, example);
    if (place === 'header') headers[name] = example;
  }
  return { url: filled.href, headers };
}

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(
  { method, url, body, headers = {} }: Sent,
  { team = DEMO_TEAM_ID }: { team?: string } = {},
) {
  const response = await fetch(url, {
    method,
    headers: {
      ...headers,
      Authorization: `Bearer ${api.key(team, 'demo')}`,
      'Content-Type': 'application/json',
    },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as { data?: unknown[] } };
}

describe('the examples of the documentation', () => {
  it('filter lists of the demo team in a way that leaves something', async () => {
    const lists = demoSite().reference.operations.filter(({ method }) => method === 'GET');
    const filled = lists.map(({ path, parameters }) => ({
      parameters,
      path: parameters.reduce(
        (text, { name, example }) => text.replace(`{${name}}`, String(example)),
        path as string,
      ),
    }));
    const filters = filled.flatMap(({ path, parameters }) =>
      parameters
        .filter(({ name, place, example }) => place === 'query' && name !== 'limit' && example)
        // A date in an example cannot follow the calendar, and an order needs a worker.
        .filter(({ name }) => !/since$|^until$|_before$|^order$/.test(name))
        .map(({ name, example }) => `${path}?${name}=${example}`),
    );
    expect(filters.length).toBeGreaterThan(2);
    for (const filter of filters) {
      const url = `${api.base}${filter}`;
      const { body } = await send({ method: 'GET', url, body: null });
      expect(`${filter}: ${(body.data?.length ?? 0) > 0}`).toBe(`${filter}: true`);
    }
  });

  it('are missing only of parameters without a value that works for everybody', () => {
    const without = demoSite().reference.operations.flatMap(({ parameters }) =>
      parameters.filter(({ example }) => example === null).map(({ name }) => name),
    );
    expect([...new Set(without)].toSorted()).toEqual([
      'Idempotency-Key',
      'If-Match',
      'after',
      'assignment_id',
      'cursor',
      'external_ref_id',
      'member_id',
      'user_id',
    ]);
  });

  it('work on the demo team, each operation with all of its own at once', async () => {
    const site = demoSite();
    // No request of the log can be known beforehand, and no bulk resend.
    const known = site.reference.operations.filter(
      ({ path }) => path !== '/requests/{request_id}' && !path.includes('resend'),
    );
    const operations = known.toSorted(
      (a, b) =>
        ORDER.indexOf(a.method) - ORDER.indexOf(b.method) ||
        Number(a.path.startsWith('/users')) - Number(b.path.startsWith('/users')),
    );
    const seen: string[] = [];
    const expected: string[] = [];
    for (const operation of operations) {
      const team = operation.isTestOnly ? DEMO_SANDBOX_ID : DEMO_TEAM_ID;
      const sample = sampleRequest(operation, site);
      const all = { ...sample, ...withParameters(sample.url, operation) };
      const { status, body } = await send(all, { team });
      const name = `${operation.method} ${operation.path}`;
      seen.push(`${name}: ${status}${status < 300 ? '' : ` ${JSON.stringify(body)}`}`);
      expected.push(`${name}: ${operation.success.status}`);
    }
    expect(seen).toEqual(expected);
  });

  it('work in a sandbox, with the ids that the pages show for a test key', async () => {
    const site = demoSite();
    const key = api.key(DEMO_SANDBOX_ID, 'demo');
    const reset = { body: { scenario: 'typical' } };
    // A customer makes what these are about.
    const OWN = /\{(?:endpoint|request|delivery|resend)_id\}/;
    for (const operation of site.reference.operations) {
      if (OWN.test(operation.path)) continue;
      // More resets than an hour may have.
      await api.db.pool.query(`delete from audit_log where action = 'sandbox.reset'`);
      expect((await api.call(key, 'POST', '/sandbox/reset', reset)).status).toBe(200);
      const request = sampleRequest(operation, site);
      const url = inSandbox(request.url);
      const body = JSON.parse(inSandbox(JSON.stringify(request.body))) as object | null;
      const { status } = await send({ ...request, url, body }, { team: DEMO_SANDBOX_ID });
      const name = `${operation.method} ${url}`;
      expect(`${name}: ${status}`).toBe(`${name}: ${operation.success.status}`);
    }
  });
});

// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// Every response in every test is checked; here that check must fail for wrong responses.
import { describe, expect, it } from 'vitest';
import { requireDocumentedResponse, type ApiResponse } from '../support/response-contract.ts';

const REQUEST_ID = '01931b7e-7f3a-7c31-8f5e-000000000001';
const COMMON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-request-id': REQUEST_ID,
  'ratelimit-limit': '120',
  'ratelimit-remaining': '119',
  'ratelimit-reset': '30',
};
const HEADERS = { ...COMMON_HEADERS, etag: '"3q2-7w"' };
const ME = {
  tenant_id: 'team_a',
  kind: 'team',
  scopes: ['users:read'],
  rate_limit_per_min: 600,
  mode: 'live',
  privacy: { member_detail_enabled: true },
};
const PROBLEM = {
  type: 'https://x.test/docs/errors#unauthorized',
  title: 'Unauthorized',
  status: 401,
  code: 'unauthorized',
  request_id: REQUEST_ID,
};
const PROBLEM_HEADERS = { ...COMMON_HEADERS, 'content-type': 'application/problem+json' };
const UNAUTHORIZED_HEADERS = { ...PROBLEM_HEADERS, 'www-authenticate': 'Bearer' };

function check(
  fields: Partial<ApiResponse> & { readonly method?: string; readonly path?: string },
): () => void {
  const { method = 'GET', path = '/me', ...given } = fields;
  const response = { status: 200, headers: HEADERS, body: ME, text: '', ...given };
  return () => requireDocumentedResponse({ method, path }, response);
}

const problem = (
  fields: object,
  more: Partial<ApiResponse> & { readonly method?: string; readonly path?: string } = {},
): (() => void) => {
  const headers = more.status === undefined ? UNAUTHORIZED_HEADERS : PROBLEM_HEADERS;
  return check({ status: 401, headers, body: { ...PROBLEM, ...fields }, ...more });
};

describe('the check of every response', () => {
  it('accepts what is documented', () => {
    expect(check({})).not.toThrow();
    expect(problem({})).not.toThrow();
    expect(check({ method: 'HEAD', body: undefined })).not.toThrow();
  });

  it('refuses a missing or malformed header', () => {
    for (const name of Object.keys(HEADERS)) {
      expect(check({ headers: { ...HEADERS, [name]: '' } }), name).toThrow(
        /header|cached|content type|etag/,
      );
    }
  });

  it('refuses a 401 without WWW-Authenticate, and any other status with it', () => {
    expect(problem({}, { headers: PROBLEM_HEADERS })).toThrow(/www-authenticate/);
    expect(problem({}, { headers: { ...PROBLEM_HEADERS, 'www-authenticate': 'Basic' } })).toThrow(
      /www-authenticate/,
    );
    expect(check({ headers: { ...HEADERS, 'www-authenticate': 'Bearer' } })).toThrow(
      /www-authenticate/,
    );
  });

  it('refuses a header that the document has, but not for this status', () => {
    expect(problem({}, { headers: { ...UNAUTHORIZED_HEADERS, etag: HEADERS.etag } })).toThrow(
      /etag is not documented/,
    );
  });

  it('refuses a 304 with a body, with a content type, or to a write', () => {
    const { 'content-type': _type, ...headers } = HEADERS;
    const unchanged = { status: 304, headers, body: undefined };
    expect(check(unchanged)).not.toThrow();
    expect(check({ ...unchanged, text: '{}' })).toThrow(/304 has a body/);
    expect(check({ ...unchanged, headers: HEADERS })).toThrow(/content type/);
    expect(check({ ...unchanged, method: 'POST', path: '/cases' })).toThrow(/304 to a write/);
  });

  it('refuses a body with an unknown, missing or mistyped field, at any depth', () => {
    expect(check({ body: { ...ME, secret: 1 } })).toThrow(/must NOT have additional properties/);
    expect(check({ body: { ...ME, privacy: { ...ME.privacy, secret: 1 } } })).toThrow(
      /must NOT have additional properties/,
    );
    expect(check({ body: { ...ME, tenant_id: undefined } })).toThrow(/required|must be string/);
    expect(check({ body: { ...ME, scopes: 'users:read' } })).toThrow(/must be array/);
    expect(check({ method: 'HEAD', text: '{}' })).toThrow(/HEAD has a body/);
  });

  it('refuses a status or a code that the endpoint does not declare', () => {
    expect(check({ status: 201 })).toThrow(/declared is 200/);
    const seats = {
      type: 'https://x.test/docs/errors#seat_limit_reached',
      code: 'seat_limit_reached',
      status: 409,
    };
    expect(problem(seats, { status: 409 })).toThrow(/does not declare seat_limit_reached/);
  });

  it('refuses a conflict without Retry-After whose state the operation does not declare', () => {
    const type = 'https://x.test/docs/errors#conflict';
    const conflict = { type, code: 'conflict', status: 409 };
    const ping = { status: 409, method: 'POST', path: '/webhook-endpoints/whe_1/test' };
    expect(problem(conflict, ping)).toThrow(/does not say which state/);
    expect(problem(conflict, { ...ping, path: '/users' })).not.toThrow();
  });

  it('refuses a conflict with Retry-After that no running call and no declaration explains', () => {
    const type = 'https://x.test/docs/errors#conflict';
    const passing = { type, code: 'conflict', status: 409, retry_after: 1 };
    const headers = { ...PROBLEM_HEADERS, 'retry-after': '1' };
    const ping = { status: 409, method: 'POST', path: '/webhook-endpoints/whe_1/test', headers };
    const running = { ...passing, detail: 'A call with this Idempotency-Key is still running.' };
    expect(problem(running, ping)).not.toThrow();
    for (const path of [ping.path, '/users', '/assignments'])
      expect(problem(passing, { ...ping, path }), path).toThrow(/what else is a conflict/);
    for (const path of ['/sandbox/reset', '/webhook-endpoints/whe_1/rotate-secret'])
      expect(problem(passing, { ...ping, path }), path).not.toThrow();
  });

  it('refuses a problem that contradicts itself or reveals too much', () => {
    expect(problem({ request_id: '01931b7e-7f3a-7c31-8f5e-000000000002' })).toThrow(/differ/);
    expect(problem({ status: 403 })).toThrow(/another status/);
    expect(problem({ type: 'https://x.test/docs/errors#not_found' })).toThrow(/end in the code/);
    expect(problem({ field: 'x' })).toThrow(/has the field field/);
    expect(problem({ stack: 'at x' })).toThrow(/stack/);
    expect(problem({ code: 'nonsense' })).toThrow(/code/);
    const internal = {
      type: 'https://x.test/docs/errors#internal',
      code: 'internal',
      status: 500,
      detail: 'relation "x" does not exist',
    };
    expect(problem(internal, { status: 500 })).toThrow(/tells details/);
  });
});

import { expect, test } from 'vitest';
import { PROBLEMS, type ProblemCode } from '../../src/core/problem.ts';

/** What clients program against. */
const STATUSES: Readonly<Record<ProblemCode, number>> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  insufficient_scope: 403,
  privacy_restricted: 403,
  api_disabled: 403,
  vorgabe_gesperrt: 403,
  not_found: 404,
  conflict: 409,
  seat_limit_reached: 409,
  last_admin: 409,
  owner: 409,
  precondition_failed: 412,
  validation_error: 422,
  idempotency_mismatch: 422,
  kombination_ungueltig: 422,
  batch_refused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

test('every problem code keeps its status', () => {
  const statuses = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(statuses)).toEqual(STATUSES);
});

// A team whose calls are traced.
import { afterAll, beforeAll, expect } from 'vitest';
import { loadTestSeed, type Call } from './api.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { makeSeed, makeTeam } from './seed.ts';

/** Of the tests of a file. */
export let database: TestDatabase;
/** Of team a. */
export let key: string;

/** Gives the tests of this file a database with team a. */
export function useTracedTeam(): void {
  beforeAll(async () => {
    database = await createTestDatabase();
    const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
    key = teams['team_a']?.api_keys['full'] ?? '';
  });
  afterAll(() => database.drop());
}

/** A `traceparent` whose ids are made of one digit each. */
export function traceparentOf(digit: string, flags = '01'): string {
  return `00-${digit.repeat(32)}-${digit.repeat(16)}-${flags}`;
}

/** Invites somebody. With `traceparent`, as a caller that has a trace of its own. */
export async function invite(
  call: Call,
  email: string,
  traceparent?: string | string[],
): Promise<void> {
  const headers = traceparent === undefined ? {} : { traceparent };
  const made = await call(key, 'POST', '/users', { body: { email }, headers });
  expect(made.status).toBe(201);
}

export const ALLOWED = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };

import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identifyDatabase } from '../../src/runtime/database-identity.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const ROLE = 'stranger_to_the_server';
let one: TestDatabase;
let two: TestDatabase;

beforeAll(async () => {
  [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
});

afterAll(() => Promise.all([one.drop(), two.drop()]));

/** `role`: asks as this role, and `url` is told. */
async function identify({ url }: TestDatabase, told = url, role?: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  if (role !== undefined) {
    await client.query(`CREATE ROLE ${role}`);
    await client.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    await client.query(`SET LOCAL ROLE ${role}`);
  }
  const identity = await identifyDatabase(client, told);
  await client.end();
  return identity;
}

describe('the identity of a database', () => {
  it('is the same for every URL that leads to it, and another one for each', async () => {
    const identity = await identify(one);
    expect(identity).toMatch(/^\d+\/\d+$/);
    expect(await identify(one, 'postgres://else@elsewhere/name')).toBe(identity);
    expect(await identify(two)).not.toBe(identity);
  });

  it.each([
    ['postgres://u:hunter2@a:1,b:2/app?sslmode=require', 'a:1/app'],
    ['postgres://v:hunter2@a:1/app', 'a:1/app'],
    ['postgres:///app?host=/run&port=5433', '/app /run 5433'],
  ])('is where it is, for a role that may not know: %s', async (url, place) => {
    expect(await identify(one, url, ROLE)).toBe(place);
  });
});

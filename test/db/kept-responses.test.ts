// Responses that were kept whole, before they were kept in two forms.
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

const ALL = join(import.meta.dirname, '../../prisma/migrations');
const CHANGE = '20261120001400_keep_responses_in_two_forms';

let database: TestDatabase;
let client: Client;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  for (const name of await readdir(ALL))
    if (name < CHANGE) await cp(join(ALL, name), join(folder, name), { recursive: true });
  database = await createEmptyDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

test('the migration removes their private fields, and keeps them', async () => {
  await migrate(database.url, { folder });
  await client.query(
    `insert into team (id, name, created_at) values ('team_a', 'A', now());
     insert into webhook_endpoint
       (team_id, id, url, events, api_version, secret_encrypted, created_at)
     values ('team_a', 'whe_1', 'https://example.com', '{member.joined}', '2026-11', 'x', now())`,
  );
  const path = '/api/public/v1';
  const kept = [
    [
      'invited',
      `${path}/users/mem_1`,
      '{"id":"mem_1","email":"kim@a.test","role":"member"}',
      false,
    ],
    ['assigned', `${path}/assignments/asg_1`, '{"id":"asg_1","member_email":"kim@a.test"}', false],
    ['endpoint', `${path}/webhook-endpoints/whe_1`, 'sealed', true],
    ['gone', `${path}/webhook-endpoints/whe_2`, 'sealed', true],
    ['refused', null, '{"code":"conflict"}', false],
  ];
  for (const [key, location, body, encrypted] of kept)
    await client.query(
      `insert into idempotency_record
         (team_id, key, fingerprint, status, body, encrypted, location, created_at)
       values ('team_a', $1, '', 201, convert_to($2, 'UTF8'), $3, $4, '2026-11-02T09:15:00Z')`,
      [key, body, encrypted, location],
    );
  await cp(join(ALL, CHANGE), join(folder, CHANGE), { recursive: true });
  expect(await migrate(database.url, { folder })).toEqual([CHANGE]);
  const { rows } = await client.query<{ key: string; body: string }>(
    `select key, convert_from(body, 'UTF8') as body from idempotency_record where not encrypted`,
  );
  expect(Object.fromEntries(rows.map(({ key, body }) => [key, JSON.parse(body)]))).toEqual({
    invited: { id: 'mem_1', role: 'member' },
    assigned: { id: 'asg_1', member_email: null },
    endpoint: {
      id: 'whe_1',
      url: 'https://example.com',
      events: ['member.joined'],
      status: 'active',
      api_version: '2026-11',
      description: null,
      created_at: '2026-11-02T09:15:00.000Z',
      last_success_at: null,
    },
    refused: { code: 'conflict' },
  });
});

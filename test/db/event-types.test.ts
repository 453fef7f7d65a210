// The database only checks the form of event types, so that a new type needs no migration.
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVENT_TYPES, SUBSCRIBABLE_EVENTS } from '../../src/core/events.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`insert into team (id, name, created_at) values ('team_a', 'A', now())`);
  return async () => {
    await client.end();
    await database.drop();
  };
});

let ids = 0;

/** Returns the name of the constraint that refuses the row, or null. */
async function refusalOf(sql: string, value: unknown): Promise<string | null> {
  try {
    await client.query(sql, [`evt_${++ids}`, value]);
    return null;
  } catch (error) {
    // The field for it is empty if the row is in a shard.
    return /violates check constraint "(\w+)"/.exec(String(error))?.[1] ?? String(error);
  }
}

const insertEvent = (type: string) =>
  refusalOf(
    `insert into event (team_id, id, type, data, created_at)
     values ('team_a', $1, $2, '{}', now())`,
    type,
  );

const insertEndpoint = (events: readonly (string | null)[]) =>
  refusalOf(
    `insert into webhook_endpoint
       (team_id, id, url, events, api_version, secret_encrypted, created_at)
     values ('team_a', $1, 'https://example.com', $2, '2026-11', '', now())`,
    events,
  );

describe('event.type', () => {
  it.each([...EVENT_TYPES, 'training.reviewed_again', 'x'])('takes %s', async (type) => {
    expect(await insertEvent(type)).toBeNull();
  });

  it.each(['', 'Training.completed', 'a..b', '.a', 'a.', 'a,b', 'a b', 'a\nb'])(
    'refuses %j',
    async (type) => {
      expect(await insertEvent(type)).toBe('event_type_check');
    },
  );
});

describe('webhook_endpoint.events', () => {
  it.each([[SUBSCRIBABLE_EVENTS], [['training.reviewed_again']], [['x', 'y']]])(
    'takes %j',
    async (events) => {
      expect(await insertEndpoint(events)).toBeNull();
    },
  );

  it.each([[[]], [['']], [['x', '']], [['x', null]], [[null]], [['x', 'Y']], [['a\nb']]])(
    'refuses %j',
    async (events) => {
      expect(await insertEndpoint(events)).toBe('webhook_endpoint_events_check');
    },
  );
});

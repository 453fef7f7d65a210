// What a loop passes over when it looks for events while an old transaction is open, and what it
// finds nevertheless.
import { Client } from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { Db, Tx } from '../../src/db/client.ts';
import { takeEvents } from '../../src/delivery/fan-out-store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { atEnd } from '../support/at-end.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { blocksRead, explain, type Mode } from '../support/plans.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

const DONE = 20_000;
const MINUTE_MS = 60_000;

let api: TestApi;
let client: Client;
beforeAll(async () => {
  const teams = ['done', 'late'].map((name) => makeFullTeam(name, { webhook_endpoints: [] }));
  api = await startTestApi({ seed: makeSeed(teams) });
  const [backup, reader] = await Promise.all([connect(), connect()]);
  client = reader;
  await backup.query('begin isolation level repeatable read');
  await backup.query('select from event');
  // An hour of events, each of which waits for its fan-out, and then for its place.
  await client.query(
    `insert into event (team_id, id, type, data, created_at)
     select 'team_done', 'evt_' || n, 'ping', '{}', now() - n * interval '3600 seconds' / $1::int
     from generate_series(1, $1::int) n`,
    [DONE],
  );
  await client.query(`update event set fanned_out_at = now() where team_id = 'team_done'`);
  await client.query(`update event set place = substr(id, 5)::bigint where team_id = 'team_done'`);
  await client.query('vacuum analyze event');
});

async function connect(): Promise<Client> {
  const opened = new Client({ connectionString: api.databaseUrl });
  await opened.connect();
  atEnd(() => opened.end());
  return opened;
}

const agoIso = (ms: number): string => new Date(Date.now() - ms).toISOString();

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  test('a look for those that wait passes over two minutes', async () => {
    const lookFrom = (from: Date | null) => (recorder: Db) =>
      takeEvents(recorder as never as Tx, { limit: 5, from, before: null });
    const from = new Date(Date.now() - 2 * MINUTE_MS);
    const few = await explain(client, lookFrom(from), mode);
    const all = await explain(client, lookFrom(null), mode);
    expect(blocksRead(few)).toBeLessThan(blocksRead(all) / 5);
  });
});

test('an event of an hour ago that is committed late is fanned out and placed', async () => {
  const worker = await startDeliveries(api, { clock: systemClock });
  onTestFinished(() => worker.stop());
  const store = (id: string, ageMs: number) =>
    client.query(
      `insert into event (team_id, id, type, data, created_at)
       values ('team_late', $1, 'ping', '{}', $2)`,
      [id, agoIso(ageMs)],
    );
  const placed = async (): Promise<string[]> => {
    const { rows } = await client.query<{ id: string }>(
      `select id from event where team_id = 'team_late' and place is not null order by place`,
    );
    return rows.map(({ id }) => id);
  };
  await store('evt_now', 0);
  await until(async () => (await placed()).includes('evt_now'));
  await store('evt_late', 60 * MINUTE_MS);
  await until(async () => (await placed()).includes('evt_late'));
  expect((await placed()).at(-1)).toBe('evt_late');
  expect(worker.errors()).toEqual([]);
});

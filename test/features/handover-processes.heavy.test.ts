// Links that hand keys over, on several processes that share nothing but the database.
import { Client } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { openerOf, seal, unseal } from '../../src/admin-ui/lib/sealing.ts';
import { createKey } from '../support/api-keys.ts';
import { loadTestSeed } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { appAsMember } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { beginToWait } from '../support/locks.ts';
import { openSturdyPool } from '../support/pool.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

type Process = Awaited<ReturnType<typeof startApiProcess>>;

let url: string;
let client: Client;
let [one, two]: Process[] = [];

beforeAll(async () => {
  const database = await createTestDatabase();
  await loadTestSeed(database, makeSeed([makeTeam('a')]));
  url = database.url;
  client = new Client({ connectionString: url });
  await client.connect();
  [one, two] = await Promise.all([startApiProcess(url), startApiProcess(url)]);
  return async () => {
    await Promise.all([one?.kill('SIGTERM'), two?.kill('SIGTERM')]);
    await client.end();
    await database.drop();
  };
});

const both = (): [Process, Process] => {
  if (!one || !two) throw new Error('the processes did not start');
  return [one, two];
};

/** Makes a key and its link. `opener` opens it, `secret` opens what it holds. */
async function handOver(): Promise<{ key: string; secret: string; opener: string; id: string }> {
  const app = await appAsMember(both()[0], 'a', 'owner');
  const { id: key_id, key, name } = await createKey(app);
  const { secret, id, sealed } = await seal({ secret: key, name });
  await app.admin.handovers.create.mutate({ handover_id: id, key_id, sealed });
  return { key, secret, opener: await openerOf(secret), id };
}

const open = (at: Pick<Process, 'url'>, opener: string): Promise<Response> =>
  fetch(`${at.url}/handover/open`, {
    method: 'POST',
    body: new URLSearchParams({ team_id: 'team_a', opener }),
  });

/** Resolves with how it ends for whoever asks a process that may be killed meanwhile. */
const endOf = (answer: Promise<Response>): Promise<'answered' | 'lost'> =>
  answer.then(
    () => 'answered',
    () => 'lost',
  );

/** Returns whether another session of this database runs a statement like this. */
async function isActive(pattern: string): Promise<boolean> {
  const active = `select
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and state = 'active' and query ilike $1`;
  return (await client.query(active, [pattern])).rowCount !== 0;
}

test('twenty who ask two processes at the same time: exactly one gets the key', async () => {
  // A process that has opened nothing yet may take too long for ten at once.
  const unknown = await openerOf('unknown');
  for (const each of both()) expect((await open(each, unknown)).status).toBe(404);
  for (let round = 0; round < 3; round += 1) {
    const { key, secret, opener } = await handOver();
    const asked = Array.from({ length: 10 }, () => both().map((each) => open(each, opener)));
    const answers = await Promise.all(asked.flat());
    const [given, ...others] = answers.filter(({ ok }) => ok);
    expect(others).toEqual([]);
    const refused = answers.filter(({ ok }) => !ok).map(({ status }) => status);
    expect(refused).toEqual(Array(19).fill(404));
    const { sealed } = (given ? await given.json() : {}) as { sealed: string };
    expect((await unseal(secret, sealed)).secret).toBe(key);
  }
});

test('a process that is killed before it has opened a link uses nothing up', async () => {
  const { opener, id } = await handOver();
  const killed = await startApiProcess(url);
  await client.query('begin');
  await client.query(`select from handover where team_id = 'team_a' and id = $1 for update`, [id]);
  const pool = openSturdyPool(url, 1);
  const ask = () => endOf(open(killed, opener));
  const { outcome } = await beginToWait({ db: { pool } }, ask, '%handover%');
  await killed.kill('SIGKILL');
  expect(await outcome).toBe('lost');
  await pool.end();
  await client.query('rollback');
  // Whoever comes next waits for what Postgres still does for the dead.
  expect((await open(both()[1], opener)).status).toBe(200);
});

/** Opens a link at a process that is killed while it commits. It may answer before: then again. */
async function openAndKill(): Promise<{ opener: string; id: string }> {
  for (;;) {
    const { opener, id } = await handOver();
    const killed = await startApiProcess(url);
    let isOver = false;
    const end = endOf(open(killed, opener)).finally(() => (isOver = true));
    await until(async () => (await isActive('COMMIT%')) || isOver);
    await killed.kill('SIGKILL');
    if ((await end) === 'lost') return { opener, id };
  }
}

test('a process that is killed before its answer has used the link up', async () => {
  // Citus runs triggers where it is told that it may; plain Postgres ignores the setting.
  await client.query('set citus.enable_unsafe_triggers = on');
  await client.query(
    `create function slow() returns trigger language plpgsql as
       $$ begin perform pg_sleep(3); return null; end $$`,
  );
  await client.query(
    `create constraint trigger slow after update on handover
     deferrable initially deferred
     for each row execute function slow()`,
  );
  const { opener, id } = await openAndKill();
  // It waits for the transaction, which Postgres finishes.
  expect((await open(both()[1], opener)).status).toBe(404);
  const { rows } = await client.query(
    `select h.sealed, count(a) as entries
     from handover h
     left join audit_log a on a.team_id = h.team_id and a.details ->> 'handover_id' = h.id
       and a.action = 'api_key.link_opened'
     where h.id = $1
     group by h.sealed`,
    [id],
  );
  expect(rows).toEqual([{ sealed: null, entries: '1' }]);
  await client.query('drop trigger slow on handover');
});

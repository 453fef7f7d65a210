// How many bytes a row has that the service writes, with its indexes. The doctor's forecast and the
// runbook's section "Sizing" use these figures.
import type { Pool } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { BYTES_PER_ROW } from '../../src/doctor/sizing.ts';
import { createCall, startTestApi } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { openEmptyDatabase } from '../support/database.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const CALLS = 1_500;
const AT_ONCE = 8;
const TABLES = Object.keys(BYTES_PER_ROW) as readonly (keyof typeof BYTES_PER_ROW)[];
/**
 * A packed table has at least this part of what it has in life, where versions of rows and pages
 * that are half full come on top: between a tenth and three quarters, as quickly as rows change.
 */
const PACKED = 0.6;

const BODY = {
  member_id: 'mem_a_member',
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

/**
 * The bytes that each table has when it is packed. Copies are packed: in the table itself,
 * VACUUM FULL keeps each version of a row that an open transaction may see, be it one of another
 * database, as other test files have.
 */
async function packedSizesOf(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const bytes = new Map<string, number>();
  for (const table of TABLES) {
    const copy = `packed_${table}`;
    const { rows } = await pool.query<{ options: string }>(
      `select array_to_string(coalesce(reloptions, '{fillfactor=100}'), ', ') as options
       from pg_class
       where oid = '${table}'::regclass`,
    );
    await pool.query(
      `create table ${copy} (like ${table} including all excluding generated)
         with (${rows[0]?.options});
       insert into ${copy} select * from ${table}`,
    );
    await pool.query(`vacuum full ${copy}`);
    const sizes = await pool.query<{ bytes: number }>(
      `select pg_total_relation_size('${copy}')::float8 as bytes`,
    );
    await pool.query(`drop table ${copy}`);
    bytes.set(table, sizes.rows[0]?.bytes ?? 0);
  }
  return bytes;
}

const counted: Record<string, number> = {};
const measured: Record<string, number> = {};
beforeAll(async () => {
  const receiver = await startReceiver();
  receiver.on('/fails', (response) => response.writeHead(500).end());
  const endpoint = (id: string) => ({
    id,
    url: `${receiver.url}/${id === 'whe_2' ? 'fails' : 'works'}`,
    events: ['assignment.created' as const],
  });
  const world = await startTestApi({
    seed: makeSeed([makeTeam('a', { webhook_endpoints: ['whe_1', 'whe_2'].map(endpoint) })]),
  });
  const { db, databaseUrl } = world;
  // An empty table has pages, too.
  const empty = await packedSizesOf(db.pool);
  const other = await openEmptyDatabase();
  await other.client.query('begin; select pg_current_xact_id()');
  const api = await startApiProcess(databaseUrl);
  // Each delivery to the second endpoint fails once, and is then left alone for an hour.
  const worker = await startWorkerProcess(databaseUrl, {
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    WEBHOOK_RETRY_DELAYS_S: '3600',
    WEBHOOK_MAX_IN_FLIGHT_PER_ENDPOINT: '100',
  });
  const call = createCall(api.url);
  let next = 0;
  // A busy machine answers 503 now and then. Repeated with its key, a call acts once.
  const create = async (number: number): Promise<void> => {
    const { status } = await call(world.key('team_a'), 'POST', '/assignments', {
      headers: { 'Idempotency-Key': `sizing-${number}` },
      body: BODY,
    });
    if (status === 503) await create(number);
    else if (status !== 201) throw new Error(`POST /assignments answered ${status}`);
  };
  const work = async (): Promise<void> => {
    for (next += 1; next <= CALLS; next += 1) await create(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await until(async () => {
    const { rows } = await db.pool.query<{ done: boolean }>(
      `select count(*) = 2 * count(distinct event_id) and count(*) >= ${2 * CALLS} as done
       from webhook_delivery
       where status <> 'pending'`,
    );
    return rows[0]?.done;
  });
  await worker.kill('SIGTERM');
  await api.kill('SIGTERM');
  // How much more the tables have depends on the speed of this machine.
  const full = await packedSizesOf(db.pool);
  await other.drop();
  for (const table of TABLES) {
    const { rows } = await db.pool.query<{ count: number }>(
      `select count(*)::int as count from ${table}`,
    );
    const count = rows[0]?.count ?? 0;
    counted[table] = count;
    measured[table] = ((full.get(table) ?? 0) - (empty.get(table) ?? 0)) / count;
  }
  console.log(
    TABLES.map((table) => `${table} ${Math.round(measured[table] ?? 0)}`).join(', '),
    'bytes a row',
  );
});

test.each(TABLES)('a row of %s is as large as the forecast says', (table) => {
  expect(counted[table]).toBeGreaterThan(CALLS * 0.9);
  const bytes = BYTES_PER_ROW[table];
  expect(measured[table]).toBeGreaterThan(bytes * PACKED);
  expect(measured[table]).toBeLessThan(bytes);
});

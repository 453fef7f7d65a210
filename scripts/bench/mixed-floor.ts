// The floor's worker for the mixed load: the least code that delivers the events of the floor's
// writes. One statement takes events and inserts their deliveries, each is a signed POST over kept
// connections, and the results are written together. There are no claims, queues, retries or
// checked addresses. Run as a process, this file works on DATABASE_URL and answers at PORT.
import { createServer } from 'node:http';
import pg from 'pg';
import { Agent } from 'undici';
import { CONCURRENCY } from './deliveries.ts';
import { createFloor, DELIVERY_FIELDS, MEMBER_FIELDS } from './floor-tables.ts';
import { describeRequest, type FloorEvent } from './webhook-floor.ts';

/** On which the floor tells its worker of writes. */
export const CHANNEL = 'floor_events';

const TABLES = `
  begin;
  set local session_replication_role = replica;
  create table floor.member as
    select team_id as tenant_id, ${MEMBER_FIELDS}, created_at
    from member;
  alter table floor.member add primary key (tenant_id, id);
  create index on floor.member (tenant_id, created_at desc, id desc);
  create table floor.hook as select team_id as tenant_id, id, url, events from webhook_endpoint;
  alter table floor.hook add primary key (tenant_id, id);
  create table floor.delivery as
    select team_id as tenant_id, ${DELIVERY_FIELDS}
    from webhook_delivery;
  alter table floor.delivery add primary key (tenant_id, id);
  create index on floor.delivery (tenant_id, endpoint_id, created_at desc, id desc);
  create index on floor.delivery (tenant_id, created_at desc, id desc)
    where status in ('retrying', 'gave_up');
  create index on floor.delivery (last_attempt_at);
  insert into floor.event select id, team_id, type, data, created_at, fanned_out_at from event;
  create index on floor.event (created_at) where fanned_out_at is not null;
  commit;`;

/** Makes the floor's tables, with copies of what the API's have. */
export async function createMixedFloor(
  pool: pg.Pool,
  keys: ReadonlyMap<string, string>,
): Promise<void> {
  await createFloor(pool, keys);
  await pool.query(TABLES);
  await pool.query('vacuum (analyze)');
  // Or the load would wait for the disk, which has gigabytes to write after the filling.
  await pool.query('checkpoint');
}

/** Events of one statement. */
const BATCH = 100;

const TAKE = `
  with taken as (
    update floor.event
    set fanned_out_at = now()
    where id in (
      select id
      from floor.event
      where fanned_out_at is null
      order by created_at
      limit ${BATCH}
      for update skip locked
    )
    returning id, tenant_id, type, data, created_at
  ), made as (
    insert into floor.delivery (tenant_id, id, endpoint_id, event_id, event_type, status, attempt,
      created_at)
    select t.tenant_id, 'whd_' || gen_random_uuid(), h.id, t.id, t.type, 'pending', 0, now()
    from taken t
    join floor.hook h on h.tenant_id = t.tenant_id and t.type = any (h.events)
    returning tenant_id, id, endpoint_id, event_id
  )
  select made.id as delivery_id, h.url, t.*
  from made
  join taken t on t.id = made.event_id
  join floor.hook h on h.tenant_id = made.tenant_id and h.id = made.endpoint_id`;

const UPDATE = `
  update floor.delivery d set
    status = 'ok',
    attempt = 1,
    response_code = n.code,
    response_ms = n.ms,
    response_excerpt = n.excerpt,
    last_attempt_at = now()
  from unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::text[])
    as n (tenant_id, id, code, ms, excerpt)
  where d.tenant_id = n.tenant_id and d.id = n.id`;

interface Delivery extends FloorEvent {
  readonly delivery_id: string;
  readonly url: string;
}

type Result = readonly [tenantId: string, id: string, code: number, ms: number, excerpt: string];

async function deliver(agent: Agent, delivery: Delivery): Promise<Result> {
  const { origin, pathname } = new URL(delivery.url);
  const sentAt = performance.now();
  const { body, headers } = describeRequest(delivery);
  const response = await agent.request({ origin, path: pathname, method: 'POST', headers, body });
  const excerpt = (await response.body.text()).slice(0, 1000);
  const ms = Math.round(performance.now() - sentAt);
  return [delivery.tenant_id, delivery.delivery_id, response.statusCode, ms, excerpt];
}

async function deliverAll(pool: pg.Pool, agent: Agent, all: readonly Delivery[]): Promise<void> {
  const results = await Promise.all(all.map((delivery) => deliver(agent, delivery)));
  const values = ([0, 1, 2, 3, 4] as const).map((column) =>
    results.map((result) => result[column]),
  );
  await pool.query({ name: 'update', text: UPDATE, values });
}

/** Returns a function that delivers what waits. Calls while it works make it look once more. */
function createWorker(pool: pg.Pool): () => Promise<void> {
  const agent = new Agent({ connections: CONCURRENCY, pipelining: 1 });
  let isWoken = false;
  let isWorking = false;
  return async () => {
    isWoken = true;
    if (isWorking) return;
    isWorking = true;
    while (isWoken) {
      isWoken = false;
      const { rows } = await pool.query<Delivery>({ name: 'take', text: TAKE });
      if (new Set(rows.map(({ id }) => id)).size === BATCH) isWoken = true;
      // The next events do not wait for these answers.
      if (rows.length > 0) void deliverAll(pool, agent, rows);
    }
    isWorking = false;
  };
}

if (import.meta.main) {
  const url = process.env['DATABASE_URL'] ?? '';
  const work = createWorker(new pg.Pool({ connectionString: url, max: 4 }));
  const listener = new pg.Client(url);
  await listener.connect();
  await listener.query(`listen ${CHANNEL}`);
  listener.on('notification', () => void work());
  setInterval(() => void work(), 1_000);
  createServer((_request, response) => response.end()).listen(
    Number(process.env['PORT']),
    '127.0.0.1',
  );
}

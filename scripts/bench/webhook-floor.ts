// The floor for deliveries: the least code that delivers as the worker does. Each delivery is a
// row, a signed POST over kept connections, and its result; rows are written in batches. There are
// no claims, no queues, no checked addresses, and nothing survives a crash. `POST /` with a
// FloorJob makes the deliveries and responds when they are done.
import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import pg from 'pg';
import { Agent } from 'undici';

/** The body of `POST /`: send `count` deliveries to `url`, `concurrency` at a time. */
export interface FloorJob {
  readonly url: string;
  readonly count: number;
  readonly concurrency: number;
}

const BATCH = 500;
const SECRET = `whsec_${'a'.repeat(44)}`;

const TABLE = `
  create table if not exists floor_delivery (
    id bigint generated always as identity primary key,
    event_id text not null,
    status text not null default 'pending',
    response_code int,
    response_ms int,
    response_excerpt text
  )`;
const INSERT = `
  insert into floor_delivery (event_id)
  select unnest($1::text[])
  returning id, event_id`;
const UPDATE = `
  update floor_delivery d set
    status = 'ok',
    response_code = n.code,
    response_ms = n.ms,
    response_excerpt = n.excerpt
  from unnest($1::bigint[], $2::int[], $3::int[], $4::text[]) as n (id, code, ms, excerpt)
  where d.id = n.id`;

type Result = readonly [id: string, code: number, ms: number, excerpt: string];

async function deliver(pool: pg.Pool, { url, count, concurrency }: FloorJob): Promise<void> {
  const { origin, pathname } = new URL(url);
  const agent = new Agent({ connections: concurrency, pipelining: 1 });
  await pool.query(TABLE);
  for (let done = 0; done < count; done += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, count - done) }, () => `evt_${randomUUID()}`);
    const { rows } = await pool.query<{ id: string; event_id: string }>({
      name: 'insert',
      text: INSERT,
      values: [ids],
    });
    const left = rows.values();
    const results: Result[] = [];
    const sendInTurn = async (): Promise<void> => {
      for (const row of left) {
        const sentAt = performance.now();
        const { body, headers } = describeRequest(row.event_id);
        const request = { origin, path: pathname, method: 'POST', headers, body } as const;
        const response = await agent.request(request);
        const excerpt = await response.body.text();
        const ms = Math.round(performance.now() - sentAt);
        results.push([row.id, response.statusCode, ms, excerpt.slice(0, 1000)]);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, sendInTurn));
    const values = ([0, 1, 2, 3] as const).map((column) => results.map((result) => result[column]));
    await pool.query({ name: 'update', text: UPDATE, values });
  }
  await agent.close();
}

const EVENT = {
  type: 'evaluation.completed',
  api_version: '2026-11',
  tenant_id: 'team_0',
  data: { team_id: 'team_0', training_id: 'trn_0', user_id: 'usr_0', score: 77 },
};

/** Returns the body of a delivery, and its headers with both signatures. */
function describeRequest(id: string): { body: string; headers: Record<string, string> } {
  const body = JSON.stringify({ id, created_at: new Date(), ...EVENT });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', SECRET).update(`${t}.${body}`).digest('hex');
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const standard = createHmac('sha256', key).update(`${id}.${t}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'svc-signature': `t=${t},v1=${v1}`,
    'svc-event-id': id,
    'webhook-id': id,
    'webhook-timestamp': String(t),
    'webhook-signature': `v1,${standard}`,
  };
  return { body, headers };
}

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 4 });
const server = createServer((request, response) => {
  const work =
    request.method === 'POST'
      ? json(request).then((job) => deliver(pool, job as FloorJob))
      : Promise.resolve();
  work
    .catch((error: unknown) => {
      console.error(error);
      response.statusCode = 500;
    })
    .finally(() => response.end());
});
server.listen(Number(process.env['PORT']), '127.0.0.1');

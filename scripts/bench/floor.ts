// The floor: the least code that answers `GET /api/public/v1/assignments?limit=` and `POST
// /api/public/v1/assignments` as the API does, with node:http and pg alone. One statement reads the
// key and its team and counts in both rate counters. For a list, a second one reads the page, and
// JSON.stringify writes the body. A write is a transaction of one statement after the other: the
// person with what they may practise, the assignment, its audit entry, its event. There are no
// routes, no validation, no log and no privacy switches. `createFloor` makes its tables. This file
// serves PORT on DATABASE_URL.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { digest, FIELDS, INSERT, insertedValues, type FloorRow } from './floor-tables.ts';

const ADMIT = `
  with caller as materialized (
    select k.id, k.tenant_id, k.key_limit, t.rate_limit_per_min as tenant_limit
    from floor.key k
    join floor.tenant t on t.id = k.tenant_id
    where k.hash = $1 and t.status = 'active' and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())
  ), counted as (
    insert into floor.bucket as b (id, minute, used)
    select bucket.id, $2::int, 1
    from caller
    cross join lateral (values (1, caller.id), (2, caller.tenant_id)) bucket (place, id)
    order by bucket.place
    on conflict (id) do update set
      minute = excluded.minute,
      used = case when b.minute = excluded.minute then b.used + 1 else 1 end
    returning id, used
  )
  select caller.*, of_key.used as key_used, of_tenant.used as tenant_used
  from caller
  join counted of_key on of_key.id = caller.id
  join counted of_tenant on of_tenant.id = caller.tenant_id`;

const PAGE = `
  select ${FIELDS}
  from floor.page_row
  where tenant_id = $1
  order by created_at desc, id desc
  limit $2`;

const PERSON = `
  select p.user_id, p.email,
    (select count(*)::int from floor.entry e where e.id = any ($3)) as known,
    exists (
      select
      from floor.blocked b
      where b.tenant_id = $1 and b.person_id in ('', $2) and b.entry_id = any ($3)
    ) as is_blocked
  from floor.person p
  where p.tenant_id = $1 and p.id = $2 and p.status <> 'ended'
  for share of p`;

const AUDIT = 'insert into floor.audit values ($1, $2, $3, $4, $5, $6, $7)';
const EVENT = 'insert into floor.event values ($1, $2, $3, $4, $5)';

interface Assignment {
  readonly member_id: string;
  readonly title: string;
  readonly situation_id: string;
  readonly personality_id: string;
  readonly industry_id: string;
  readonly note?: string;
  readonly due_date?: string;
}

interface Caller {
  readonly id: string;
  readonly tenant_id: string;
}

/** Writes an assignment and what goes with it. Returns the body of the response. */
async function create(
  pool: pg.Pool,
  caller: Caller,
  requestId: string,
  wanted: Assignment,
): Promise<object> {
  const { member_id, title, situation_id, personality_id, industry_id } = wanted;
  const { note = null, due_date = null } = wanted;
  const entries = [situation_id, personality_id, industry_id];
  const client = await pool.connect();
  try {
    const run = (name: string, text: string, values: unknown[]) =>
      client.query({ name, text, values: [caller.tenant_id, ...values] });
    await client.query('begin');
    const [person] = (await run('person', PERSON, [member_id, entries])).rows;
    if (person?.known !== entries.length || person.is_blocked) throw new Error('refused');
    const id = `asg_${randomUUID()}`;
    const at = new Date();
    const row: FloorRow = {
      id,
      status: 'open',
      title,
      situation_id,
      personality_id,
      industry_id,
      member_user_id: person.user_id,
      member_email: person.email,
      note,
      due_date,
      focus_dimension: null,
      completed_training_id: null,
      created_at: at,
      external_ref: null,
    };
    await run('insert', INSERT, insertedValues(row));
    const audit = [randomUUID(), caller.tenant_id, caller.id, 'assignment.created', id];
    await client.query({ name: 'audit', text: AUDIT, values: [...audit, requestId, at] });
    const { member_user_id: user_id } = row;
    const data = JSON.stringify({ assignment_id: id, title, member_id, user_id, due_date });
    const event = [`evt_${randomUUID()}`, caller.tenant_id, 'assignment.created', data, at];
    await client.query({ name: 'event', text: EVENT, values: event });
    await client.query('commit');
    return row;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function serve(
  pool: pg.Pool,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = randomUUID();
  const seconds = Math.floor(Date.now() / 1000);
  const key = request.headers.authorization?.slice('Bearer '.length) ?? '';
  const admitted = await pool.query({
    name: 'admit',
    text: ADMIT,
    values: [digest(key), Math.floor(seconds / 60)],
  });
  const caller = admitted.rows[0];
  const left = caller
    ? Math.min(caller.key_limit - caller.key_used, caller.tenant_limit - caller.tenant_used)
    : -1;
  if (left < 0) {
    response.writeHead(caller ? 429 : 401, { 'Content-Length': 0 }).end();
    return;
  }
  const send = (status: number, content: object): void => {
    const body = JSON.stringify(content);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'X-Request-Id': requestId,
      'RateLimit-Limit': Math.min(caller.key_limit, caller.tenant_limit),
      'RateLimit-Remaining': left,
      'RateLimit-Reset': 60 - (seconds % 60),
    });
    response.end(body);
  };
  if (request.method === 'POST') {
    const wanted = JSON.parse(await text(request)) as Assignment;
    const created = await create(pool, caller, requestId, wanted);
    send(201, created);
    return;
  }
  const limit = Number(new URLSearchParams(request.url?.split('?')[1]).get('limit') ?? 50);
  const { rows } = await pool.query({
    name: 'page',
    text: PAGE,
    values: [caller.tenant_id, limit + 1],
  });
  let cursor: string | null = null;
  if (rows.length > limit) {
    rows.length = limit;
    const last = rows[limit - 1];
    cursor = Buffer.from(`${last.created_at.toISOString()}|${last.id}`).toString('base64url');
  }
  send(200, { data: rows, next_cursor: cursor });
}

// Dates are read as text, as in the API. pg parses timestamps.
pg.types.setTypeParser(1082, (text) => text);
const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  max: 16,
  idleTimeoutMillis: 0,
});
const server = createServer((request, response) => {
  serve(pool, request, response).catch((error: unknown) => {
    console.error(error);
    response.writeHead(500).end();
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');

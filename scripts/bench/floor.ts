// The floor for lists: the least code that answers `GET /api/public/v1/assignments?limit=` as the
// API does, with node:http and pg alone. One statement reads the key and its team and counts in
// both rate counters, a second one reads the page, and JSON.stringify writes the body. There are no
// routes, no validation, no log and no privacy switches. `createFloor` makes its tables, which need
// no joins. Run as a process, this file serves PORT on DATABASE_URL.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';

const TABLES = `
  create schema floor;
  create table floor.tenant as select id, status, rate_limit_per_min from team;
  alter table floor.tenant add primary key (id);
  create table floor.key (
    hash bytea primary key,
    id text not null,
    tenant_id text not null,
    key_limit int not null,
    expires_at timestamptz,
    revoked_at timestamptz
  );
  create table floor.page_row as
    select a.team_id as tenant_id, a.id, a.status, a.title, a.situation_id, a.personality_id,
      a.industry_id, m.user_id as member_user_id, m.email as member_email, a.note, a.due_date,
      a.focus_dimension, a.completed_training_id, a.created_at
    from assignment a
    join member m on m.team_id = a.team_id and m.id = a.member_id;
  create index on floor.page_row (tenant_id, created_at desc, id desc);
  create unlogged table floor.bucket (id text primary key, minute int not null, used int not null)
    with (fillfactor = 50);`;

/** Copies the teams and assignments into the floor's tables, and accepts the same keys. */
export async function createFloor(pool: pg.Pool, keys: ReadonlyMap<string, string>): Promise<void> {
  await pool.query(TABLES);
  for (const [tenantId, key] of keys) {
    await pool.query('insert into floor.key values ($1, $2, $3, 1000000000)', [
      digest(key),
      `key of ${tenantId}`,
      tenantId,
    ]);
  }
  await pool.query('vacuum analyze floor.page_row');
}

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
  select id, status, title, situation_id, personality_id, industry_id, member_user_id, member_email,
    note, due_date, focus_dimension, completed_training_id, created_at
  from floor.page_row
  where tenant_id = $1
  order by created_at desc, id desc
  limit $2`;

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
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
  const body = JSON.stringify({ data: rows, next_cursor: cursor });
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'RateLimit-Limit': Math.min(caller.key_limit, caller.tenant_limit),
    'RateLimit-Remaining': left,
    'RateLimit-Reset': 60 - (seconds % 60),
  });
  response.end(body);
}

if (import.meta.main) {
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
}

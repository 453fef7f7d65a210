import type { ClientBase } from 'pg';
import { v7 } from 'uuid';
import { newId } from '../core/ids.ts';
import { slotOf } from '../features/requests/rules.ts';
import { DEMO_TEAM_ID } from './demo-team.ts';
import { insertRows } from './insert.ts';
import { withSeedClient } from './seed-client.ts';
import type { SeedRow } from './seed-rows.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Older than everything that the keys have done. */
const ACCESS_AGE_MS = 45 * DAY_MS;
const USAGE_DAYS = 30;
const LOGGED_DAYS = 6;

/** What the key calls, in turn, and how it ends. */
const CALLS = [
  ['GET', '/users', 200],
  ['GET', '/assignments', 200],
  ['GET', '/catalog', 200],
  ['POST', '/assignments', 201],
  ['GET', '/assignments', 200],
  ['PATCH', '/assignments/{assignment_id}', 200],
  ['GET', '/users', 200],
  ['GET', '/analytics/team', 403, 'insufficient_scope'],
  ['GET', '/assignments', 200],
  ['POST', '/assignments', 422, 'validation_error', 'body.due_date'],
] as const;

/** Writes what a seed file cannot hold: what the demo team and its keys have done until now. */
export async function writeDemoPast(databaseUrl: string, now: Date = new Date()): Promise<void> {
  await withSeedClient(databaseUrl, async (client) => {
    for (const table of ['api_key', 'webhook_endpoint', 'crm_connection'])
      await client.query(`UPDATE ${table} SET created_at = $2 WHERE team_id = $1`, [
        DEMO_TEAM_ID,
        new Date(now.getTime() - ACCESS_AGE_MS),
      ]);
    await writeCalls(client, now);
    await writeAudit(client);
    await client.query('COMMIT');
  });
}

/** A month of calls of the learning platform, one an hour, the last week of them in the log. */
async function writeCalls(client: ClientBase, now: Date): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    `UPDATE api_key
     SET last_used_at = $2
     WHERE team_id = $1 AND name = 'Learning platform'
     RETURNING id`,
    [DEMO_TEAM_ID, new Date(now.getTime() - HOUR_MS)],
  );
  const ofKey = { team_id: DEMO_TEAM_ID, key_id: rows[0]?.id };
  const calls = Array.from({ length: USAGE_DAYS * 24 }, (_, n) => ({
    call: CALLS[n % CALLS.length] ?? CALLS[0],
    at: new Date(now.getTime() - (n + 1) * HOUR_MS),
  }));
  const days = Map.groupBy(calls, ({ at }) => at.toISOString().slice(0, 10));
  const usage = Array.from(days, ([day, ofDay]): SeedRow<'ApiKeyUsage'> => {
    const refused = ofDay.filter(({ call: [, , status] }) => status >= 400).length;
    return {
      ...ofKey,
      day,
      count_2xx: ofDay.length - refused,
      count_4xx: refused,
      count_429: 0,
      count_5xx: 0,
      peak_percent: 3,
    };
  });
  await insertRows(client, 'api_key_usage', usage);
  const logged = calls.slice(0, LOGGED_DAYS * 24).map(({ call, at }): SeedRow<'RequestLog'> => {
    const [method, route, status, code = null, path] = call;
    return {
      ...ofKey,
      slot: slotOf(at),
      id: v7({ msecs: at.getTime() }),
      created_at: at,
      method,
      route,
      status,
      duration_ms: 9,
      network: '198.51.100.0/24',
      error_code: code,
      errors: path ? [{ path, code: 'invalid_format' }] : null,
      limited_by: null,
    };
  });
  await insertRows(client, 'request_log', logged);
}

/** An entry for each thing that the team has. */
async function writeAudit(client: ClientBase): Promise<void> {
  const { rows } = await client.query<
    Pick<SeedRow<'AuditLog'>, 'actor_kind' | 'actor_id' | 'action' | 'target_id' | 'details'> & {
      readonly created_at: Date;
    }
  >(
    `SELECT 'user' AS actor_kind, 'mem_1' AS actor_id, 'member.invited' AS action,
       id AS target_id, created_at, json_build_object('role', role) AS details
     FROM member
     WHERE team_id = $1 AND role <> 'owner'
     UNION ALL
     SELECT 'user', id, 'member.accepted', id, joined_at, json_build_object('user_id', user_id)
     FROM member
     WHERE team_id = $1 AND role <> 'owner' AND joined_at IS NOT NULL
     UNION ALL
     SELECT 'user', 'mem_1', 'api_key.created', id, created_at,
       json_build_object('scopes', scopes, 'expires_at', null, 'ip_restricted', false)
     FROM api_key
     WHERE team_id = $1
     UNION ALL
     SELECT 'user', 'mem_2', 'webhook_endpoint.created', id, created_at,
       json_build_object('host', split_part(url, '/', 3), 'events', events)
     FROM webhook_endpoint
     WHERE team_id = $1
     UNION ALL
     SELECT 'system', 'worker', 'webhook_endpoint.paused', id,
       last_success_at + interval '3 days', '{}'
     FROM webhook_endpoint
     WHERE team_id = $1 AND status = 'disabled_failures'
     UNION ALL
     SELECT 'user', 'mem_2', 'crm_connection.connected', id, created_at,
       json_build_object('provider', provider)
     FROM crm_connection
     WHERE team_id = $1
     UNION ALL
     SELECT 'user', 'mem_3', 'assignment.created', id, created_at, '{}'
     FROM assignment
     WHERE team_id = $1`,
    [DEMO_TEAM_ID],
  );
  const entries = rows.map((row) => ({
    team_id: DEMO_TEAM_ID,
    id: newId('auditEntry'),
    ...row,
    request_id: v7({ msecs: row.created_at.getTime() }),
  }));
  await insertRows(client, 'audit_log', entries);
}

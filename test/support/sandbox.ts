import type { TRPCClient } from '@trpc/client';
import { escapeLiteral, type Pool } from 'pg';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { decrypt, encrypt } from '../../src/core/encryption.ts';
import type { Scenario } from '../../src/core/vocabularies.ts';
import type { AppRouter } from '../../src/routers/routers.ts';
import { TEST_APP_SECRET, type TestApi } from './api.ts';
import { appAs, appWith, tokenOf } from './app.ts';
import { userId } from './seed.ts';
import { writeInAnyOrder } from './shards.ts';
import { readWrittenColumns } from './written-columns.ts';

/** Returns a client of the tRPC API that acts in the sandbox of `team_<team>`, valid from `now`. */
export async function appInSandbox(
  api: Pick<TestApi, 'url'>,
  team: string,
  name = 'owner',
  now = new Date(),
): Promise<TRPCClient<AppRouter>> {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  return appWith(api, {
    authorization: `Bearer ${await tokenOf(identity, now)}`,
    'svc-mode': 'test',
  });
}

/** Creates the sandbox of `team_<team>`, and resolves with a test key that has every scope. */
export async function openSandbox(
  api: Pick<TestApi, 'url'>,
  team: string,
  scenario: Scenario = 'typical',
  now = new Date(),
): Promise<string> {
  const platform = appAs(api, await tokenOf({ kind: 'platform', service: 'training' }, now));
  await platform.platform.teams.createSandbox.mutate({ team_id: `team_${team}`, scenario });
  const app = await appInSandbox(api, team, 'owner', now);
  const { templates } = await app.admin.apiKeys.templates.query({});
  const scopes = templates.find(({ id }) => id === 'everything')?.scopes ?? [];
  const { key } = await app.admin.apiKeys.create.mutate({ name: 'test', scopes: scopes as never });
  if (key === undefined) throw new Error('the key was not shown');
  return key;
}

const SECRETS = { current: TEST_APP_SECRET, previous: null };

/**
 * Makes a team the sandbox `sandboxId`: with all its rows and jobs, with keys that have become test
 * keys (`asTestKey`), and with signing secrets that are bound to it.
 */
export async function makeSandbox(
  pool: Pool,
  teamId: string,
  sandboxId: string,
  at = new Date(),
): Promise<void> {
  await giveRows(pool, teamId, sandboxId);
  await pool.query(
    `update graphile_worker._private_jobs
     set payload = (payload::jsonb || jsonb_build_object('teamId', $2::text))::json
     where payload ->> 'teamId' = $1`,
    [teamId, sandboxId],
  );
  await pool.query(
    `insert into sandbox (team_id, scenario, created_at, reset_at)
     values ($1, 'typical', $2, $2)`,
    [sandboxId, at],
  );
  const { rows: secrets } = await pool.query<{ id: string; sealed: Buffer }>(
    'select id, secret_encrypted as sealed from webhook_endpoint where team_id = $1',
    [sandboxId],
  );
  const { context } = ENCRYPTED_COLUMNS.webhookSecret;
  for (const { id, sealed } of secrets) {
    const secret = decrypt(sealed, SECRETS, context(teamId, id));
    await pool.query(
      'update webhook_endpoint set secret_encrypted = $3 where team_id = $1 and id = $2',
      [sandboxId, id, encrypt(secret, SECRETS.current, context(sandboxId, id))],
    );
  }
}

/** Makes all rows of a team anew as those of a sandbox. Citus moves no row to another team. */
async function giveRows(pool: Pool, teamId: string, sandboxId: string): Promise<void> {
  const statements: string[] = [];
  for (const [table, columns] of await readWrittenColumns(pool)) {
    const owner = table === 'team' ? 'id' : 'team_id';
    if (!columns.split(', ').includes(owner)) continue;
    const prefix = ['api_key', 'key_directory'].includes(table)
      ? `jsonb_build_object('prefix', 't' || t.prefix)`
      : `'{}'`;
    const { rows } = await pool.query<{ given: string }>(
      `select coalesce(jsonb_agg(
           to_jsonb(t) || jsonb_build_object('${owner}', $2::text) || ${prefix}), '[]')::text
         as given
       from ${table} t
       where ${owner} = $1`,
      [teamId, sandboxId],
    );
    statements.push(
      `delete from ${table} where ${owner} = ${escapeLiteral(teamId)}`,
      `insert into ${table} (${columns})
       select ${columns}
       from jsonb_populate_recordset(null::${table}, ${escapeLiteral(rows[0]?.given ?? '[]')})`,
    );
  }
  await writeInAnyOrder(pool, statements);
}

/** The key of a team that has become a sandbox. */
export function asTestKey(liveKey: string): string {
  return liveKey.replace('svck_live_', 'svck_test_t');
}

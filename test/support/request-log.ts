import { newRequestId } from '../../src/core/ids.ts';
import type { AnsweredCall } from '../../src/core/answered-call.ts';
import { startRequestLog } from '../../src/features/requests/log.ts';
import type { TestApi } from './api.ts';

/** Adds a POST of a team's key to the request log, as the API's process does. Returns its id. */
export async function logCall(
  { db }: Pick<TestApi, 'db'>,
  {
    teamId,
    keyName,
    problem = null,
    ...call
  }: { readonly teamId: string; readonly keyName: string } & Pick<
    AnsweredCall,
    'route' | 'status'
  > &
    Partial<Pick<AnsweredCall, 'problem'>>,
): Promise<string> {
  const { rows } = await db.pool.query<{ id: string }>(
    'select id from api_key where team_id = $1 and name = $2',
    [teamId, keyName],
  );
  const onError = (error: unknown): never => {
    throw error;
  };
  const log = startRequestLog({
    db,
    onError,
    onLeftOut: onError,
    onRefused: (_call, error) => onError(error),
  });
  const requestId = newRequestId();
  log.add({
    ...call,
    requestId,
    problem,
    limit: null,
    teamId,
    keyId: rows[0]?.id ?? '',
    method: 'POST',
    durationMs: 3,
    ip: '203.0.113.7',
    declared: new Set(['title']),
    ignored: [],
  });
  await log.stop();
  return requestId;
}

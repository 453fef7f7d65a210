/**
 * Calls of the app with an `Idempotency-Key`: of operations that are POSTs in the REST API, and of
 * procedures that show a secret. So whoever has lost the response sends the call again and sees
 * the secret, instead of making a second one.
 */
import type { IncomingMessage } from 'node:http';
import type { Once } from '../../trpc/call.ts';
import type { Services } from '../../trpc/context.ts';
import { fingerprintOf, idempotencyKeyOf, refuseKey, runOnce } from '../api/idempotency.ts';

/**
 * Returns null for a request without a key. Throws `validation_error` for a key that is none, or
 * that several calls would share: chance would decide which of them takes it.
 */
export function onceOf(
  request: IncomingMessage,
  calls: number,
  { clock, secrets }: Services,
): Once | null {
  const key = request.method === 'POST' ? idempotencyKeyOf(request) : null;
  if (key === null) return null;
  if (calls > 1)
    throw refuseKey('A key is for one call, so it cannot come with a batch.', 'too_many_calls');
  return async ({ db, teamId, actorId: keyId, privacy, name, input }, call) => {
    const fingerprint = fingerprintOf('tRPC', name, input);
    const { response } = await runOnce(
      { db, clock, secrets, teamId, key, fingerprint, operation: name, keyId, privacy },
      {
        prepare: call.prepare,
        perform: async (tx, prepared) => {
          const output = await call.perform(tx, prepared);
          const body = JSON.stringify(output);
          return { status: 200, body, location: null, withheld: call.withhold(output) };
        },
        // A refusal has changed nothing, so the call may run again.
        refuse: (problem) => {
          throw problem;
        },
      },
    );
    return JSON.parse(response.body);
  };
}

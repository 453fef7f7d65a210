import { systemClock, type Clock } from '../../src/core/clock.ts';
import type { AppSecrets } from '../../src/core/encryption.ts';
import { newRequestId } from '../../src/core/ids.ts';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { listOfRequest, type RecordedRow } from '../../src/features/audit-log/service.ts';
import { requireStatus } from '../../src/features/team-lifecycle/overview-service.ts';
import { problemBody, toProblem } from '../../src/http/api/problem-response.ts';
import { platform } from '../../src/routers/routers.ts';
import type { CallerContext } from '../../src/trpc/context.ts';
import type { Wanted } from './arguments.ts';

/** What a command works with. */
export interface Workplace {
  readonly db: Database;
  readonly secrets: AppSecrets;
  readonly publicUrl: string;
  readonly keyPerMinute: number;
}

/** What a command has done, or would do. */
export interface Performed {
  readonly requestId: string;
  /** The output of the procedure. Of a new key it has the key. */
  readonly result: Readonly<Record<string, unknown>>;
  /** The audit entries. None: nothing has changed. */
  readonly recorded: readonly RecordedRow[];
}

/** Thrown to roll a transaction back that has done its work. */
const UNDO = new Error('a dry run');

/**
 * Calls the procedure, with all that belongs to the command, in one transaction. Rolls it back
 * unless `commits`, which is asked at its end. Throws what the procedure throws.
 */
export async function perform(
  place: Workplace,
  wanted: Wanted,
  commits: (recorded: readonly RecordedRow[]) => boolean,
): Promise<Performed> {
  let performed: Performed | null = null;
  const work = async (tx: Tx): Promise<void> => {
    const called = await callIn(tx, place, wanted);
    performed = called;
    if (!commits(called.recorded)) throw UNDO;
  };
  try {
    await place.db.forCaller({ share: wanted.teamId }).transaction(work);
  } catch (error) {
    if (error !== UNDO) throw error;
  }
  if (performed === null) throw new Error('the procedure was not called');
  return performed;
}

async function callIn(tx: Tx, place: Workplace, wanted: Wanted): Promise<Performed> {
  const { command, teamId, input, operator } = wanted;
  const requestId = newRequestId();
  const at = new Date();
  const clock: Clock = { ...systemClock, now: () => at, override: () => null };
  const id = operator === null ? 'operator' : `operator:${operator}`;
  const call = callerOf(tx, { place, clock, requestId, id });
  if (command.from !== null) await requireStatus(tx, teamId, command.from);
  const result = await call(command.procedure, input);
  // This waits for all statements of the procedure, so that a dry run is refused by them, too.
  const recorded = await listOfRequest(tx, teamId, { requestId, at });
  return { requestId, result, recorded };
}

type Result = Performed['result'];
type Call = (procedure: string, input: unknown) => Promise<Result>;

/** Returns what calls a procedure of the host application in this transaction. */
function callerOf(
  tx: Tx,
  {
    place,
    clock,
    requestId,
    id,
  }: {
    readonly place: Workplace;
    readonly clock: Clock;
    readonly requestId: string;
    readonly id: string;
  },
): Call {
  const { secrets, publicUrl, keyPerMinute } = place;
  const context: CallerContext = {
    requestId,
    language: 'en',
    actor: { kind: 'platform', id },
    team: null,
    privacy: null,
    enabled: true,
    once: null,
    dbFor: () => tx,
    services: { clock, secrets, keyPerMinute, webhookAllowPrivateTargets: false },
    describeError: (error) =>
      problemBody(toProblem(error, null), { publicUrl, language: 'en', requestId, route: null }),
  };
  const caller: unknown = platform.createCaller(context);
  return (procedure, input) => {
    const found = procedure
      .split('.')
      .reduce((at, step) => (at as Readonly<Record<string, unknown>>)[step], caller);
    return (found as (input: unknown) => Promise<Result>)(input);
  };
}

/** Runs the checks. None stops another one, and none takes longer than its time. */
import { obstacleOf } from '../db/operator/obstacles.ts';
import { findUrlFault } from '../db/database-url.ts';
import { parseConfig } from '../runtime/config.ts';
import { messageOf } from '../runtime/process.ts';
import { readSecretFiles } from '../runtime/secret-files.ts';
import { unknown, warn, type Check, type Finding, type World } from './check.ts';
import { inspect } from './session.ts';

/** What one check has found. */
export interface Examined {
  readonly id: string;
  readonly section: string;
  readonly findings: readonly Finding[];
}

export interface ExamineOptions {
  readonly env: World['env'];
  readonly backup?: string | null;
  /** How long one check may take; 15 s by default. */
  readonly limitMs?: number;
}

const LIMIT_MS = 15_000;
/** Each has a connection. A database that is short of them must not lose more. */
const AT_ONCE = 3;

/** Runs all checks and returns what each has found, in their order. Never rejects. */
export async function examine(
  checks: readonly Check[],
  { env, backup = null, limitMs = LIMIT_MS }: ExamineOptions,
): Promise<readonly Examined[]> {
  const known = { env, backup, ...settingsOf(env) };
  const isThere = await canInspect(known.databaseUrl, limitMs);
  const examined: Examined[] = [];
  const left = checks.map((check, place) => ({ check, place }));
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const { check, place } = next;
      const findings =
        check.needsDatabase && !isThere
          ? [unknown('not looked at, because the database does not answer')]
          : await runWithin(check, known, limitMs);
      examined[place] = { id: check.id, section: check.section, findings };
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return examined;
}

type Known = Omit<World, 'signal' | 'inspect'>;

function settingsOf(env: World['env']): Pick<World, 'config' | 'databaseUrl'> {
  try {
    const config = parseConfig(env);
    return { config, databaseUrl: config.databaseUrl };
  } catch {
    // The check of the configuration tells what is wrong.
    return { config: null, databaseUrl: findUrl(env) };
  }
}

function findUrl(given: World['env']): string | null {
  const { DATABASE_URL: url = '' } = readSecretFiles(given, ['DATABASE_URL']).env;
  return findUrlFault(url) === null ? url : null;
}

async function canInspect(databaseUrl: string | null, limitMs: number): Promise<boolean> {
  if (databaseUrl === null) return false;
  try {
    const signal = AbortSignal.timeout(limitMs);
    await inspect({ databaseUrl, signal }, () => Promise.resolve());
    return true;
  } catch {
    // The check of the database tells why.
    return false;
  }
}

async function runWithin(check: Check, known: Known, limitMs: number): Promise<readonly Finding[]> {
  const signal = AbortSignal.timeout(limitMs);
  const late = Promise.withResolvers<never>();
  const giveUp = (): void => late.reject(new Error(`it took longer than ${limitMs} ms`));
  signal.addEventListener('abort', giveUp);
  const world: World = {
    ...known,
    signal,
    inspect: (work) => {
      if (known.databaseUrl === null) throw new Error('DATABASE_URL is not valid');
      return inspect({ databaseUrl: known.databaseUrl, signal }, work);
    },
  };
  try {
    return await Promise.race([check.run(world), late.promise]);
  } catch (error) {
    return [notSeen(error, signal.aborted)];
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** A check that cannot look says so: that is no fault of what it looks at. */
function notSeen(error: unknown, isLate: boolean): Finding {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === '42501') return unknown(`the role may not see it: ${messageOf(error)}`);
  const reason = isLate ? 'there was no answer in time' : messageOf(error);
  return warn(
    `could not be looked at (${obstacleOf(error)}): ${reason}`,
    'Run it again, and look at the log of Postgres if it stays.',
  );
}

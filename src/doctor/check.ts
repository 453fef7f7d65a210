import type { Ask } from './session.ts';
import type { Config } from '../runtime/config.ts';

/**
 * `ok`: as it should be. `warn`: works, and should be changed. `fail`: does not work, or soon will
 * not. `unknown`: cannot be seen from here, which the text explains.
 */
export type Level = 'ok' | 'warn' | 'fail' | 'unknown';

/** One thing that a check has seen. Nothing in it is secret. */
export interface Finding {
  readonly level: Level;
  readonly text: string;
  /** What to do, in a sentence. Every `warn` and `fail` has one. */
  readonly remedy?: string;
}

/** What a check looks at. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** null: the environment is not valid, which a check of its own tells. */
  readonly config: Config | null;
  /** null: there is none, or it is not valid. */
  readonly databaseUrl: string | null;
  /** A backup, or the folder of backups, that the operator has named. */
  readonly backup: string | null;
  /** Aborts when the time of the check is over. */
  readonly signal: AbortSignal;
  /** Runs `work` on a connection of its own, in a transaction that cannot write. */
  readonly inspect: <T>(work: (ask: Ask) => Promise<T>) => Promise<T>;
}

/** One check of the doctor. Checks know nothing of each other. */
export interface Check {
  /** Lower case, for `--json` and for the runbook's table. */
  readonly id: string;
  /** The heading of the runbook's section with more about the remedy. */
  readonly section: string;
  /** Without a database that answers, the check is left out. */
  readonly needsDatabase: boolean;
  run(world: World): Promise<readonly Finding[]>;
}

export const ok = (text: string): Finding => ({ level: 'ok', text });
export const unknown = (text: string): Finding => ({ level: 'unknown', text });
export const warn = (text: string, remedy: string): Finding => ({ level: 'warn', text, remedy });
export const fail = (text: string, remedy: string): Finding => ({ level: 'fail', text, remedy });

/** SQL: the names of the schemas with tables of ours. */
export const OUR_SCHEMAS = `'public', 'request_days', 'graphile_worker'`;

/** What to say of the nodes of Citus that did not answer. */
export function unseen(silent: readonly string[]): readonly Finding[] {
  return silent.map((node) => unknown(`${node} did not answer: see the line "citus"`));
}

/** Returns the findings, or one that says that there are none. */
export function orOk(findings: readonly Finding[], text: string): readonly Finding[] {
  return findings.length > 0 ? findings : [ok(text)];
}

/** What a check of the database finds. Most have nothing to do but ask. */
export function checkOfDatabase(
  id: string,
  section: string,
  look: (ask: Ask, world: World) => Promise<readonly Finding[]>,
): Check {
  return {
    id,
    section,
    needsDatabase: true,
    run: (world) => world.inspect((ask) => look(ask, world)),
  };
}

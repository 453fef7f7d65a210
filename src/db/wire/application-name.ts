import { basename } from 'node:path';

/**
 * The name of a connection in `pg_stat_activity`: `team-customer-api api 1234`, with what the
 * process runs (`api`, `worker`, `jobs`, `start`, `migrate`) and its id. What it runs is the entry:
 * of a process its script, of a thread the module that it was started with.
 */
export function applicationName(program = basename(process.argv[1] ?? 'node', '.ts')): string {
  return `team-customer-api ${program} ${process.pid}`;
}

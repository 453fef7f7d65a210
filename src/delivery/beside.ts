/** What runs beside the rounds, which wait for none of it. */
import type { Db } from '../db/client.ts';
import type { Loop } from './loop.ts';

/** Each kind, and what is logged if it fails. */
const FAULTS = {
  analyze: 'tables that have grown could not be analyzed',
  look: 'old events could not be looked for yet',
  place: 'events could not be given their places yet',
} as const;

/** Begins the work, unless one of its kind runs. `stop` waits for it. */
export function runBeside(
  { options, state }: Pick<Loop, 'options' | 'state'>,
  kind: keyof typeof FAULTS,
  work: (db: Db) => Promise<void>,
): void {
  if (state.beside.has(kind)) return;
  const running = work(options.beside)
    .catch((err: unknown) => options.logger.warn({ err }, FAULTS[kind]))
    .finally(() => state.beside.delete(kind));
  state.beside.set(kind, running);
}

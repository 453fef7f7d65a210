import type { Tx } from '../../db/client.ts';
import { changeOf, isNothing, weekOf, type Contribution } from './platform-rules.ts';
import * as store from './platform-store.ts';

export type { Contribution } from './platform-rules.ts';

/**
 * Keeps the rollups true to a training that changes from `before` to `after`, in the transaction that changes it. The caller holds the person's lock
 * (`trainings`), so that the old contribution is the one that is in the sums. Waits for nobody; the person's row is written before the week's.
 */
export function changeRollups(
  tx: Tx,
  teamId: string,
  training: { readonly user_id: string; readonly created_at: string },
  { before, after }: { readonly before: Contribution; readonly after: Contribution },
): void {
  const change = changeOf(before, after);
  if (!change) return;
  store.addToPerson(tx, teamId, training.user_id, change);
  if (!isNothing(change.total))
    store.addToWeek(tx, teamId, { userId: training.user_id, ...weekOf(training.created_at) }, change.total);
}

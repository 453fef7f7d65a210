import type { Tx } from '../../db/client.ts';
import { changeOf, isNothing, weekOf, type Contribution } from './platform-rules.ts';
import * as store from './platform-store.ts';

export type { Contribution } from './platform-rules.ts';

/**
 * Updates the rollups for a training that changes from `before` to `after`, in the transaction of
 * that change. The caller must hold the person's lock (`trainings`), so that `before` is what the
 * sums contain. Does not wait. Writes the person's row before the week's, the fixed lock order.
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
    store.addToWeek(
      tx,
      teamId,
      { userId: training.user_id, ...weekOf(training.created_at) },
      change.total,
    );
}

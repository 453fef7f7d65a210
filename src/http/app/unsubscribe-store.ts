import type { Db } from '../../db/client.ts';
import type { Subscriber } from '../../core/unsubscribe-token.ts';

/** Ends the alerts of a member. The row goes later (prisma/migrations). */
export async function endAlerts(db: Db, { teamId, memberId }: Subscriber): Promise<void> {
  await db.prisma.alertSubscription.updateMany({
    where: { teamId, memberId },
    data: { kinds: [] },
  });
}

import type { Db } from '../../db/client.ts';
import type { VerifiedToken } from './token.ts';

/** Marks a token as spent. False: it was spent before. */
export async function spendToken(
  db: Db,
  teamId: string,
  { id, expiresAt }: Pick<VerifiedToken, 'id' | 'expiresAt'>,
): Promise<boolean> {
  const { count } = await db.prisma.spentToken.createMany({
    data: [{ teamId, id, expiresAt }],
    skipDuplicates: true,
  });
  return count > 0;
}

import { statement, type Db } from '../../db/client.ts';
import type { VerifiedToken } from './token.ts';

const SPEND = statement<{ readonly id: string }>(
  'http.spendToken',
  `insert into spent_token (team_id, id, expires_at)
   values ($1, $2, $3)
   on conflict do nothing
   returning id`,
);

/** Marks a token as spent. False: it was spent before. */
export async function spendToken(
  db: Db,
  teamId: string,
  { id, expiresAt }: Pick<VerifiedToken, 'id' | 'expiresAt'>,
): Promise<boolean> {
  const rows = await db.query(SPEND, [teamId, id, expiresAt]);
  return rows.length > 0;
}

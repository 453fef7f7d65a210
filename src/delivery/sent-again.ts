/**
 * What a delivery holds that somebody has sent again. It was allowed when the event happened, and
 * the URL may be another one by now. So it must be allowed now, too. It is asked at the attempt,
 * because a delivery may wait in hand. The schedule sends the same bytes at every attempt until
 * somebody asks.
 */
import { privacyOf, redactEventData } from '../core/privacy.ts';
import type { Db } from '../db/client.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import { readShownNow } from './sent-again-store.ts';
import { causeOf } from './schedule.ts';

/** Whether somebody has asked for this attempt, or for an earlier one. */
export function isSentAgain(row: ClaimedDelivery): boolean {
  return causeOf(row) !== 'scheduled' || row.attempt > row.scheduled_attempts;
}

/** Returns the event's data as far as it may be shown now. */
export async function readShownData(db: Db, row: ClaimedDelivery): Promise<string> {
  const data = JSON.parse(row.event_data) as { readonly user_id?: string | null };
  const now = await readShownNow(db, row.team_id, data.user_id ?? null);
  const memberDetailEnabled = now !== null && now.member_detail_enabled && now.is_known;
  const privacy = privacyOf({ memberDetailEnabled, leaderboardEnabled: false });
  return JSON.stringify(redactEventData(privacy, row.event_type, data));
}

/** The CRM of a sandbox, as if it had been connected and read. */
import { encrypt } from '../../core/encryption.ts';
import { SANDBOX_PEOPLE } from '../../core/sandbox.ts';
import { credentialsContext } from './connections/rules.ts';
import { simulatedAccount } from './providers/simulated.ts';
import { preparePage } from './sync/apply-page.ts';
import { describeDeal } from './sync/deals.ts';
import { nextRegular } from './sync/schedule.ts';

const CONNECTION_ID = 'crm_sandbox';
const MARKER = 'Einwand:';
const DAY_MS = 86_400_000;

/**
 * The rows of the sandbox's own connection, and what a round at this time has read by it. The rows
 * have fixed ids, and the next round finds each of them again.
 */
export async function simulatedRows(
  teamId: string,
  { at, appSecret }: { at: Date; appSecret: string },
) {
  const daysAgo = (days: number): string => new Date(at.getTime() - days * DAY_MS).toISOString();
  const { owners, deals, notes } = simulatedAccount(at);
  const userOf = new Map(
    [...owners].map(([id, email]) => [id, SANDBOX_PEOPLE.userOf(email.replace(/@.*/, ''))]),
  );
  const dealIdOf = new Map(
    deals.map(({ externalId }, index) => [externalId, `deal_sandbox_${index + 1}`]),
  );
  const read = { connection_id: CONNECTION_ID, synced_at: at.toISOString() };
  const page = await preparePage({ deals, notes, deletedDealIds: [] }, MARKER);
  const objections = [...(page.notes?.objections ?? []), ...page.lostReasons];
  const credentials = encrypt('sandbox', appSecret, credentialsContext(teamId, CONNECTION_ID));
  return {
    connections: [
      {
        id: CONNECTION_ID,
        provider: 'hubspot',
        status: 'active',
        failure_streak: 0,
        // As Postgres reads bytes from JSON.
        credentials_encrypted: `\\x${credentials.toString('hex')}`,
        objection_marker: MARKER,
        base_url: null,
        sync_state: null,
        sync_token: null,
        sync_lease_until: null,
        sync_requested_at: null,
        last_error: null,
        created_at: daysAgo(90),
        last_synced_at: at.toISOString(),
        next_sync_at: nextRegular(at, 0.5, 'test').toISOString(),
      },
    ],
    deals: deals.map((deal, index) => ({
      ...read,
      id: dealIdOf.get(deal.externalId),
      ...describeDeal(deal),
      industry_id: null,
      owner_user_id: userOf.get(deal.ownerId ?? ''),
      created_at: daysAgo(60 - index * 5),
    })),
    objections: objections.map(({ dealId, ...objection }, index) => ({
      ...read,
      ...objection,
      id: `obj_sandbox_${index + 1}`,
      deal_id: dealIdOf.get(dealId),
      created_at: daysAgo(12 - index),
    })),
  };
}

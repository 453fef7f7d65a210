import { statement, type Db, type Tx } from '../../db/client.ts';
import type { Prisma } from '../../db/generated/client.ts';

/** An endpoint without its secret, which is read only where it signs. */
export interface EndpointRow {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: string;
  readonly api_version: string;
  readonly description: string | null;
  readonly created_at: string;
  readonly last_success_at: string | null;
}

const SELECT = {
  id: true,
  url: true,
  events: true,
  status: true,
  apiVersion: true,
  description: true,
  createdAt: true,
  lastSuccessAt: true,
} as const;

/** All of the team's, newest first: there are few enough for one answer. */
export async function listEndpoints(db: Db, teamId: string): Promise<EndpointRow[]> {
  const found = await db.prisma.webhookEndpoint.findMany({
    where: { teamId },
    select: SELECT,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
  return found.map(toRow);
}

export async function findEndpoint(db: Db, teamId: string, endpointId: string): Promise<EndpointRow | null> {
  const found = await db.prisma.webhookEndpoint.findFirst({ where: { teamId, id: endpointId }, select: SELECT });
  return found && toRow(found);
}

const LOCK_TEAM = statement('webhooks.lockTeam', 'select from team where id = $1 for no key update');

/** How many endpoints the team has; no other creation counts or adds until this transaction ends. */
export async function countEndpointsLocked(tx: Tx, teamId: string): Promise<number> {
  tx.send(LOCK_TEAM, [teamId]);
  return tx.prisma.webhookEndpoint.count({ where: { teamId } });
}

export async function insertEndpoint(tx: Tx, teamId: string, row: EndpointRow, secretEncrypted: Buffer): Promise<void> {
  const { id, url, events, status, api_version, description, created_at } = row;
  await tx.prisma.webhookEndpoint.createMany({
    data: {
      teamId,
      id,
      url,
      events: [...events],
      status,
      apiVersion: api_version,
      description,
      secretEncrypted: Uint8Array.from(secretEncrypted),
      createdAt: created_at,
    },
  });
}

/** What an endpoint can be given anew; undefined leaves a value as it is, null clears it. */
export interface EndpointChange {
  readonly url?: string | undefined;
  readonly description?: string | null | undefined;
  readonly events?: readonly string[] | undefined;
  readonly status?: 'active' | 'disabled' | undefined;
}

/** The endpoint as it is after the change, null when there is none. `active` ends the count of the days without success. */
export async function updateEndpoint(
  tx: Tx,
  teamId: string,
  endpointId: string,
  change: EndpointChange,
): Promise<EndpointRow | null> {
  const { url, description, events, status } = change;
  const [changed] = await tx.prisma.webhookEndpoint.updateManyAndReturn({
    where: { teamId, id: endpointId },
    data: {
      ...(url !== undefined && { url }),
      ...(description !== undefined && { description }),
      ...(events !== undefined && { events: [...events] }),
      ...(status !== undefined && { status }),
      ...(status === 'active' && { failingSince: null }),
    },
    select: SELECT,
  });
  return changed ? toRow(changed) : null;
}

/** Whether there was one to remove. Its deliveries go with it (foreign key). */
export async function removeEndpoint(tx: Tx, teamId: string, endpointId: string): Promise<boolean> {
  const { count } = await tx.prisma.webhookEndpoint.deleteMany({ where: { teamId, id: endpointId } });
  return count > 0;
}

/** Prisma's names and `Date` end here. */
function toRow(found: Prisma.WebhookEndpointGetPayload<{ select: typeof SELECT }>): EndpointRow {
  const { id, url, events, status, apiVersion, description, createdAt, lastSuccessAt } = found;
  return {
    id,
    url,
    events,
    status,
    api_version: apiVersion,
    description,
    created_at: createdAt.toISOString(),
    last_success_at: lastSuccessAt?.toISOString() ?? null,
  };
}

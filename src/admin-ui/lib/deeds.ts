/**
 * What the search over everything can do. Some deeds are dialogs of a page: they are asked for
 * here, and the page opens its dialog when it stands.
 */
import { useEffect, useSyncExternalStore } from 'react';
import { makeChanges } from './changes.ts';

/** The deeds, with the page of each. `search`: as the page reads its address. */
export const DEEDS = {
  invite: { to: '/members', hasDialog: true },
  newKey: { to: '/keys/new' },
  newWebhook: { to: '/webhooks/new' },
  resend: { to: '/deliveries', hasDialog: true },
  connectCrm: { to: '/crm', hasDialog: true },
  failedDeliveries: { to: '/deliveries', search: { status: 'failed', past: '24h' } },
  failedRequests: { to: '/requests', search: { status: 'errors' } },
  revokeKey: { to: '/keys' },
  mailAlerts: { to: '/alerts' },
  memberData: { to: '/privacy' },
} as const satisfies Readonly<
  Record<string, { readonly to: string; readonly search?: object; readonly hasDialog?: true }>
>;

export type Deed = keyof typeof DEEDS;

let asked: Deed | null = null;
const changes = makeChanges();

export function askFor(deed: Deed): void {
  asked = 'hasDialog' in DEEDS[deed] ? deed : null;
  changes.tell();
}

/** Begins the deed as soon as it is asked for and `isReady`. */
export function useDeed(deed: Deed, begin: () => void, isReady = true): void {
  const isAsked = useSyncExternalStore(changes.subscribe, () => asked === deed);
  useEffect(() => {
    if (!isAsked || !isReady) return;
    asked = null;
    begin();
  });
}

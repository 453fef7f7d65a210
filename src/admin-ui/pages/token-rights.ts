import type { RouterInputs } from '../lib/api.ts';

export type Provider = RouterInputs['admin']['crm']['connect']['provider'];
export const PROVIDERS: readonly Provider[] = ['hubspot', 'pipedrive'];

/** The rights that a token needs, as the CRM names them. `notes`: for objections only. */
const RIGHTS: Readonly<Record<Provider, Readonly<Record<'always' | 'notes', readonly string[]>>>> =
  {
    hubspot: {
      always: ['crm.objects.deals.read', 'crm.objects.owners.read'],
      notes: ['crm.objects.contacts.read'],
    },
    // A token of Pipedrive has the rights of its user.
    pipedrive: { always: [], notes: [] },
  };

export function rightsOfToken(provider: Provider, readsNotes: boolean): readonly string[] {
  const { always, notes } = RIGHTS[provider];
  return readsNotes ? [...always, ...notes] : always;
}

/** The CRM that a choice names. */
export function providerChosen(text: string): Provider {
  return PROVIDERS.find((one) => one === text) ?? 'hubspot';
}

/** A token and a marker as they are sent. */
export function enteredToken(token: string, marker: string) {
  return { credentials: token.trim(), objection_marker: marker.trim() || undefined };
}

/**
 * The CRM of every sandbox, whichever one is connected: an account that is always the same and
 * exists nowhere else. It opens no socket. `registry.ts` chooses it by the id of the team.
 *
 * Any credentials open it, but these words in the place of a token let a failure be rehearsed:
 *  * `reject`: refused as soon as it is tried, as a token that the CRM does not accept.
 *  * `fail`: accepted, and then every synchronization fails, until it is replaced.
 */
import { SANDBOX_PEOPLE } from '../../../core/sandbox.ts';
import { providerError } from './errors.ts';
import type { ClientOptions, ProviderClient, ProviderDeal, ProviderNote } from './provider.ts';

const DAY_MS = 86_400_000;

/** What the account holds. */
export interface SimulatedAccount {
  /** id → email. They are members of the scenarios. */
  readonly owners: ReadonlyMap<string, string>;
  readonly deals: readonly ProviderDeal[];
  readonly notes: readonly ProviderNote[];
}

const OWNERS = new Map(
  ['clara', 'david', 'elif', 'felix', 'greta'].map((name, index) => [
    String(101 + index),
    SANDBOX_PEOPLE.emailOf(name),
  ]),
);

const DEALS = [
  { title: 'Nordwind GmbH', outcome: 'open', probability: 40 },
  { title: 'Auer AG', outcome: 'open', probability: 50 },
  { title: 'Kiosk 24', outcome: 'won', probability: null },
  { title: 'Stahl & Sohn', outcome: 'lost', probability: null },
  { title: 'Papierhaus', outcome: 'open', probability: 80 },
] as const;

/** In both languages, for both marks of objections that the admin page suggests. */
const NOTES = [
  'Einwand: Das ist uns zu teuer.',
  'Einwand: Das kommt für uns zu früh.',
  'Einwand: Wir sprechen auch mit einem anderen Anbieter.',
  'Objection: The price is too high.',
  'Objection: It comes too early for us.',
  'Rückruf am Montag.',
];

/** The account at this time, from which its days are counted. */
export function simulatedAccount(at: Date): SimulatedAccount {
  const daysAgo = (days: number): string => new Date(at.getTime() - days * DAY_MS).toISOString();
  const idOf = (index: number): string => String(9001 + index);
  return {
    owners: OWNERS,
    deals: DEALS.map(({ title, outcome, probability }, index) => ({
      externalId: idOf(index),
      outcome,
      title,
      amount: String(12_000 + index * 3500),
      currency: 'EUR',
      closeDate: daysAgo(index * 12 - 20).slice(0, 10),
      probability,
      pipelineId: 'sales',
      stageId: outcome,
      lostReason: outcome === 'lost' ? 'Der Preis war zu hoch.' : null,
      ownerId: String(101 + index),
      lastActivityAt: daysAgo(index + 1),
    })),
    notes: NOTES.map((html, index) => ({
      id: String(501 + index),
      dealIds: [idOf(index % DEALS.length)],
      html,
    })),
  };
}

/** Opens the account. Each round reads all of it. */
export function openSimulated(
  credentials: string,
  { at, readsNotes }: Pick<ClientOptions, 'readsNotes'> & { readonly at: Date },
): ProviderClient {
  const { owners, deals, notes } = simulatedAccount(at);
  const page = { deals: [], deletedDealIds: [], notes: [], next: null, modifiedUntil: null };
  const read = <Answer>(answer: Answer): Answer => {
    if (credentials === 'reject') throw providerError('unauthorized');
    if (credentials === 'fail') throw providerError('provider_error');
    return answer;
  };
  return {
    lists: readsNotes ? ['deals', 'notes'] : ['deals'],
    check: async () => {
      if (credentials === 'reject') throw providerError('unauthorized');
    },
    listOwners: async () => read(owners),
    readPage: async (list) => read(list === 'notes' ? { ...page, notes } : { ...page, deals }),
    close: () => undefined,
  };
}

import { invalidField } from '../../../core/problem.ts';
import type { CrmProvider } from '../../../core/vocabularies.ts';
import { isSandbox } from '../../../core/sandbox.ts';
import { withEndingLists } from './answers.ts';
import { hubspot } from './hubspot.ts';
import { pipedrive } from './pipedrive.ts';
import type { ClientOptions, Provider, ProviderClient } from './provider.ts';
import { openSimulated } from './simulated.ts';

/** Every CRM that can be connected, by its name in the API, in seed files and in the database. */
export const PROVIDERS = {
  hubspot,
  pipedrive,
} satisfies Record<CrmProvider, Provider>;

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as [ProviderName, ...ProviderName[]];

/**
 * The name in a row of the database, which checks its form only. Throws for one that is not
 * registered: a connection must never be read from another CRM than its own.
 */
export function requireProviderName(name: string): ProviderName {
  const known = PROVIDER_NAMES.find((candidate) => candidate === name);
  if (known === undefined) throw new Error(`no CRM provider is registered as "${name}"`);
  return known;
}

/** A page of 500 deals with long texts has a tenth of it. */
const ANSWER_MAX_BYTES = 50_000_000;

export interface ProviderSettings {
  /** Of each network call. */
  readonly timeoutMs: number;
  /** Whether a connection may name another address than the provider's own. Never in production. */
  readonly allowBaseUrl: boolean;
  /** The largest answer; smaller in tests. */
  readonly answerMaxBytes?: number;
}

/**
 * Opens a client of the provider, without a network call. `storedCredentials` is what
 * `serializeCredentials` returned. This is the only place that decides about `baseUrl`: throws
 * `validation_error` (field `base_url`) if the process does not allow one, and for a sandbox. It is
 * also the only one that opens a CRM at all, and a sandbox gets the simulated one.
 */
export async function openProvider(
  { timeoutMs, allowBaseUrl, answerMaxBytes = ANSWER_MAX_BYTES }: ProviderSettings,
  connection: Omit<ClientOptions, 'timeoutMs' | 'answerMaxBytes'> & {
    /** The team of the connection. */
    readonly teamId: string;
    readonly provider: ProviderName;
    readonly storedCredentials: string;
    /** The time of now, from which a simulated CRM counts its days. */
    readonly at: Date;
  },
): Promise<ProviderClient> {
  const { teamId, provider, storedCredentials, baseUrl, readsNotes, at } = connection;
  if (baseUrl !== null && !allowBaseUrl)
    throw invalidField('base_url', 'Only for development and tests.');
  if (isSandbox(teamId)) {
    if (baseUrl !== null)
      throw invalidField('base_url', 'The CRM of a sandbox is simulated and has no address.');
    return openSimulated(storedCredentials, { at, readsNotes });
  }
  const options = { baseUrl, timeoutMs, answerMaxBytes, readsNotes };
  return withEndingLists(await PROVIDERS[provider].open(storedCredentials, options));
}

import { openHubspot } from './hubspot.ts';
import { openPipedrive } from './pipedrive.ts';
import type { Provider } from './provider.ts';

export const PROVIDERS = ['hubspot', 'pipedrive'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export interface ProviderSettings {
  /** Of each call. */
  readonly timeoutMs: number;
  /** Whether a connection may name another address than the provider's own: in development and tests. In production it is ignored. */
  readonly allowBaseUrl: boolean;
}

export const PROVIDER_TIMEOUT_MS = 20_000;

/** Opens no connection yet. */
export function openProvider(
  { timeoutMs, allowBaseUrl }: ProviderSettings,
  {
    provider,
    token,
    baseUrl,
    readsNotes,
  }: { provider: ProviderName; token: string; baseUrl: string | null; readsNotes: boolean },
): Provider {
  const options = { token, baseUrl: allowBaseUrl ? baseUrl : null, timeoutMs, readsNotes };
  return provider === 'hubspot' ? openHubspot(options) : openPipedrive(options);
}

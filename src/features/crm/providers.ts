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

/** Opens no connection yet. The package is loaded when it is first needed: both take a tenth of a second and 20 MB of each process. */
export async function openProvider(
  { timeoutMs, allowBaseUrl }: ProviderSettings,
  {
    provider,
    token,
    baseUrl,
    readsNotes,
  }: { provider: ProviderName; token: string; baseUrl: string | null; readsNotes: boolean },
): Promise<Provider> {
  const options = { token, baseUrl: allowBaseUrl ? baseUrl : null, timeoutMs, readsNotes };
  if (provider === 'hubspot') return (await import('./hubspot.ts')).openHubspot(options);
  return (await import('./pipedrive.ts')).openPipedrive(options);
}

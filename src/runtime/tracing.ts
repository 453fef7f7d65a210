import type { Logger } from 'pino';
import type { Tracing } from '../core/trace.ts';
import type { Config } from './config.ts';

/**
 * Starts the traces of a process. Returns null if there is no address for them; then OpenTelemetry
 * is not even loaded.
 */
export async function startTracing(
  { tracing: settings }: Config,
  kind: 'api' | 'worker',
  logger: Logger,
): Promise<Tracing | null> {
  if (settings === null) return null;
  const { createTracing } = await import('./open-telemetry.ts');
  const serviceName = settings.serviceName ?? `team-customer-${kind}`;
  return createTracing({ ...settings, serviceName }, logger);
}

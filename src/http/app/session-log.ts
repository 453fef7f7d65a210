import { networkForLog } from '../../core/network.ts';
import type { AppExchange } from './admission.ts';

/** What a log line says besides. Never a token, nor what it was made of. */
export interface SessionFacts {
  readonly team?: string | undefined;
  readonly member?: string | undefined;
  readonly way?: 'token' | 'link';
  /** Why a link was refused. */
  readonly reason?: string;
}

/** Writes one log line about a session. */
export function logSession(
  { options, request, requestId }: AppExchange,
  what: 'signed in' | 'signed out' | 'link refused',
  facts: SessionFacts,
): void {
  options.logger.info(
    { request_id: requestId, ...facts, network: networkForLog(options.addressOf(request).ip) },
    what,
  );
}

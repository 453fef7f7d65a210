import type { TrpcOptions } from './admission.ts';
import { isSessionToken, verifySessionToken } from './session-token.ts';
import { createTokenVerifier, type VerifyToken } from './token.ts';

/** Returns the function that reads every token: of the host application, or the service's own. */
export function createVerifier({
  tokenKey,
  services,
  logger,
}: Pick<TrpcOptions, 'tokenKey' | 'services' | 'logger'>): VerifyToken {
  const verifyOfHost = tokenKey
    ? createTokenVerifier(tokenKey, services.clock, logger)
    : async () => null;
  return async (token, wanted) => {
    const verified = await (isSessionToken(token)
      ? verifySessionToken(token, services)
      : verifyOfHost(token));
    return verified?.opens === wanted ? verified : null;
  };
}

import { randomBytes } from 'node:crypto';
import type { ClientAddress } from '../../../core/network.ts';
import {
  readAgainBy,
  toAuthentication,
  type Authentication,
  type CreateAuthenticator,
} from './authenticator.ts';
import { readCredential, type Credential } from './credential.ts';
import { authenticateRequest } from './key-store.ts';
import { toTenant } from './tenant.ts';

/**
 * Asks the database for each request alone, remembers nothing and has no guess. It defines what the
 * fast authenticator must do; the tests run with both.
 */
export const createPlainAuthenticator: CreateAuthenticator = ({ db, limits, clock }) => {
  const nonce = randomBytes(16);
  const ask = async (credential: Credential, address: ClientAddress): Promise<Authentication> => {
    const terms = { nonce, ...limits, now: clock.override() };
    const row = await authenticateRequest(db, {
      ...credential,
      ...terms,
      ...address,
      teamId: null,
    });
    return toAuthentication(row, row.key_id === null ? null : toTenant(row));
  };
  return {
    authenticate: ({ authorization, address }) => ({
      guess: null,
      result: ask(readCredential(authorization, nonce), address),
    }),
    readAgain: readAgainBy(db, clock),
  };
};

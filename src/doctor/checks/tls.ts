import { isLoopbackHost } from '../../core/loopback.ts';
import { checkOfDatabase, ok, warn } from '../check.ts';

/** Whether others can read or change what goes to the database and back. */
export const tls = checkOfDatabase('tls', 'ApiUnavailable', (ask) => {
  const { host } = ask;
  const isNear = host.startsWith('/') || isLoopbackHost(host);
  if (ask.tls === 'verified')
    return Promise.resolve([ok('the connection is encrypted, and its certificate is verified')]);
  if (isNear) return Promise.resolve([ok('the database, or its pooler, is on this machine')]);
  const remedy =
    'Let DATABASE_URL have sslmode=verify-full, with sslrootcert for an own authority.';
  return Promise.resolve([
    ask.tls === 'none'
      ? warn(`the connection to ${host} is not encrypted`, remedy)
      : warn(`the certificate of ${host} is not verified`, remedy),
  ]);
});

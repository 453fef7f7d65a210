import { isLoopbackHost } from '../../core/loopback.ts';
import { checkOfDatabase, ok, warn, type Finding } from '../check.ts';
import type { Ask } from '../session.ts';

const REMEDY = 'Let DATABASE_URL have sslmode=verify-full, with sslrootcert for an own authority.';

/** Whether others can read or change what goes to the database and back. */
export const tls = checkOfDatabase('tls', 'ApiUnavailable', (ask) =>
  Promise.resolve([findingOfTls(ask.tls, ask.host)]),
);

/** Says what a connection to this host is worth. */
export function findingOfTls(kind: Ask['tls'], host: string): Finding {
  if (kind === 'verified') return ok('the connection is encrypted, its certificate is verified');
  if (host.startsWith('/') || isLoopbackHost(host))
    return ok('the database, or its pooler, is on this machine');
  return kind === 'none'
    ? warn(`the connection to ${host} is not encrypted`, REMEDY)
    : warn(`the certificate of ${host} is not verified`, REMEDY);
}

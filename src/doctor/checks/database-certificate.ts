import { parseDatabaseUrl } from '../../db/database-url.ts';
import { PrimaryClient } from '../../db/wire/primary-client.ts';
import { messageOf } from '../../runtime/process.ts';
import { findingOfEnd, readCertificateOfPostgres } from '../certificate.ts';
import { fail, ok, unknown, warn, type Check, type Finding } from '../check.ts';

/**
 * When the certificates of the database's hosts end. It shakes hands by itself, so that it tells
 * the end of a certificate that the processes refuse already, and those of standbys.
 */
export const databaseCertificate: Check = {
  id: 'database_certificate',
  section: 'ApiUnavailable',
  needsDatabase: false,
  run: async ({ databaseUrl, signal }) => {
    if (databaseUrl === null) return [unknown('DATABASE_URL is not valid')];
    const { url, hosts } = parseDatabaseUrl(databaseUrl);
    const { host, port, ssl } = new PrimaryClient({ connectionString: url });
    if (!ssl || host.startsWith('/')) return [ok('DATABASE_URL asks for no TLS')];
    const all = hosts.length > 0 ? hosts : [{ host, port }];
    return Promise.all(all.map((one) => look(one, signal)));
  },
};

async function look(
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Finding> {
  const name = `${host}:${port}`;
  try {
    const shown = await readCertificateOfPostgres({ host, port }, signal);
    return shown
      ? findingOfEnd(name, shown.endsAt, new Date())
      : fail(`${name} does not speak TLS`, 'Set ssl = on in Postgres, with a certificate.');
  } catch (error) {
    return warn(
      `${name} does not answer: ${messageOf(error)}`,
      'See what the line "database" says, and whether this node should run.',
    );
  }
}

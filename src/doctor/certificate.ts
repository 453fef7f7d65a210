import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { fail, ok, warn, type Finding } from './check.ts';

/** A server whose certificate is looked at. */
export interface TlsServer {
  readonly host: string;
  readonly port: number;
}

/** What a server has shown. */
export interface Shown {
  readonly endsAt: Date;
  /** Why this process would not trust it, by the name that Node has for it. null: it would. */
  readonly distrust: string | null;
}

/** The message of Postgres's protocol that asks for TLS. */
const REQUEST_TLS = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const ACCEPTS_TLS = 'S';

const DAY_MS = 86_400_000;
const WARN_DAYS = 21;
const FAIL_DAYS = 3;

/** Shakes hands with a server that begins with TLS, and returns what it shows. */
export function readCertificate(server: TlsServer, signal: AbortSignal): Promise<Shown> {
  return withConnection(server, signal, (tcp) => shakeHands(tcp, server, signal));
}

/** The same of a Postgres, which waits for a request before TLS begins; null if it has no TLS. */
export function readCertificateOfPostgres(
  server: TlsServer,
  signal: AbortSignal,
): Promise<Shown | null> {
  return withConnection(server, signal, async (tcp) =>
    (await acceptsTls(tcp, signal)) ? shakeHands(tcp, server, signal) : null,
  );
}

async function withConnection<T>(
  { host, port }: TlsServer,
  signal: AbortSignal,
  work: (tcp: Socket) => Promise<T>,
): Promise<T> {
  // Without the signal, whose error would find nobody who listens.
  const tcp = connectTcp({ host, port });
  try {
    await once(tcp, 'connect', { signal });
    return await work(tcp);
  } finally {
    tcp.destroy();
  }
}

async function shakeHands(tcp: Socket, { host }: TlsServer, signal: AbortSignal): Promise<Shown> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const tls = connectTls({ socket: tcp, host, ...name, rejectUnauthorized: false });
  try {
    await once(tls, 'secureConnect', { signal });
    const { valid_to: validTo } = tls.getPeerCertificate();
    const reason: unknown = tls.authorizationError;
    const code = reason instanceof Error && 'code' in reason ? reason.code : reason;
    return { endsAt: new Date(validTo), distrust: tls.authorized ? null : String(code) };
  } finally {
    tls.destroy();
  }
}

async function acceptsTls(tcp: Socket, signal: AbortSignal): Promise<boolean> {
  tcp.write(REQUEST_TLS);
  const [answer] = (await once(tcp, 'data', { signal })) as [Buffer];
  return answer.toString('latin1') === ACCEPTS_TLS;
}

/** Says when the certificate ends. */
export function findingOfEnd(name: string, endsAt: Date, now: Date): Finding {
  const days = (endsAt.getTime() - now.getTime()) / DAY_MS;
  const text = `the certificate of ${name} ends at ${endsAt.toISOString()}`;
  const remedy = 'Renew it, and let what serves it load the new one.';
  if (days < FAIL_DAYS) return fail(days < 0 ? text.replace('ends', 'has ended') : text, remedy);
  return days < WARN_DAYS ? warn(text, remedy) : ok(text);
}

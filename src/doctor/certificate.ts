import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { fail, ok, warn, type Finding } from './check.ts';

/** A server whose certificate is looked at. */
export interface TlsServer {
  readonly host: string;
  readonly port: number;
  /** Postgres waits for a request before TLS begins. */
  readonly protocol: 'https' | 'postgres';
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

/** Shakes hands and returns what the server shows; null if it does not speak TLS. */
export async function readCertificate(
  { host, port, protocol }: TlsServer,
  signal: AbortSignal,
): Promise<Shown | null> {
  // Without the signal, whose error would find nobody who listens.
  const tcp = connectTcp({ host, port });
  let tls: TLSSocket | null = null;
  try {
    await once(tcp, 'connect', { signal });
    if (protocol === 'postgres' && !(await acceptsTls(tcp, signal))) return null;
    const name = isIP(host) === 0 ? { servername: host } : {};
    tls = connectTls({ socket: tcp, host, ...name, rejectUnauthorized: false });
    await once(tls, 'secureConnect', { signal });
    const { valid_to: validTo } = tls.getPeerCertificate();
    const reason: unknown = tls.authorizationError;
    const code = reason instanceof Error && 'code' in reason ? reason.code : reason;
    return { endsAt: new Date(validTo), distrust: tls.authorized ? null : String(code) };
  } finally {
    tls?.destroy();
    tcp.destroy();
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

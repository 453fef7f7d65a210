/**
 * DATABASE_URL, with one host or, as libpq has it, with several (`host1:5432,host2:5432`), of which
 * one is the primary. The service writes, so it goes to the primary in any case, and
 * `target_session_attrs` can say nothing else.
 */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';

/** One host of several. */
export interface Host {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** What DATABASE_URL says about hosts. */
export interface DatabaseUrl {
  /** A connection string with one host: the only one, or the first. */
  readonly url: string;
  /** All hosts, if there are several. Otherwise empty: `url` says it. */
  readonly hosts: readonly Host[];
}

const DEFAULT_PORT = 5432;
const PARTS = /^(?<start>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#@]*)(?<rest>[/?#].*)?$/;
const HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+))(?::(?<port>\d{1,5}))?$/i;

const NO_URL = 'is required, and must be a postgres:// URL';
const WRONG_HOSTS =
  'must list several hosts once, after the user and before the database: ' +
  'postgres://user:password@host1:5432,host2:5432/name';

/** Parameters that take any value. The others would be ignored, so they are refused. */
const FREE = ['host', 'port', 'user', 'password', 'application_name'];
/** Parameters that name files. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];
/** Parameters with the values that are understood, or that say what the service does anyway. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  ssl: ['true', '1', '0', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  uselibpqcompat: ['true'],
  channel_binding: ['disable', 'prefer'],
  target_session_attrs: ['read-write', 'primary'],
  load_balance_hosts: ['disable'],
  schema: ['public'],
  pgbouncer: ['true'],
};

const OWN_LIMITS = 'the processes limit time themselves';
const OWN_SESSION = 'a session has settings of its own';
/** What to do instead of a parameter of libpq or Prisma. */
const INSTEAD: Readonly<Record<string, string>> = {
  hostaddr: 'name the address as the host',
  connection_limit: 'DATABASE_POOL_MAX is the limit',
  connect_timeout: OWN_LIMITS,
  pool_timeout: OWN_LIMITS,
  socket_timeout: OWN_LIMITS,
  statement_timeout: OWN_LIMITS,
  lock_timeout: OWN_LIMITS,
  options: OWN_SESSION,
  client_encoding: OWN_SESSION,
};

/** Parses DATABASE_URL. Throws an error that names it, and never what it says. */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const fault = findUrlFault(text);
  if (fault !== null) throw new Error(`DATABASE_URL ${fault}`);
  const hosts = readHosts(text);
  const [first] = hosts;
  if (!first || hosts.length === 1) return { url: text, hosts: [] };
  const { start, rest = '' } = PARTS.exec(text)?.groups ?? {};
  return { url: `${start}${formatHost(first)}${rest}`, hosts };
}

/** Returns the connection string of another node, for the same user and database. */
export function urlOfNode(databaseUrl: string, node: Host): string {
  const { start = '', rest = '' } = PARTS.exec(databaseUrl)?.groups ?? {};
  const own = rest.replace(/(?<=[?&])(?:host|port)=[^&#]*&?/g, '');
  return `${start}${formatHost(node)}${own}`;
}

function formatHost({ host, port }: Host): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns what is wrong with DATABASE_URL, to be read after its name. null: nothing. */
export function findUrlFault(text: string): string | null {
  const groups = PARTS.exec(text)?.groups;
  if (!groups) return NO_URL;
  const { start = '', hosts = '', rest = '' } = groups;
  const hasSeveral = hosts.includes(',');
  // Another `@` before a comma: every host was given a user.
  if (/@[^,]*,/.test(start)) return WRONG_HOSTS;
  if (hasSeveral && hosts.split(',').some((part) => readHost(part) === null)) return WRONG_HOSTS;
  const single = URL.parse(hasSeveral ? `${start}host${rest}` : text);
  if (single === null) return NO_URL;
  if (!canDecode(text)) return 'must be percent-encoded: % is %25';
  const port = single.searchParams.get('port') || single.port;
  return findParameterFault(single.searchParams, hasSeveral) ?? findPortFault(port);
}

/** Where one `%` begins no code, pg takes all for themselves but those before two digits. */
const STRAY = / |%[^\da-f]|%[\da-f][^\da-f]/i;

/** Whether pg, which decodes all before the parameters, can do that. */
function canDecode(text: string): boolean {
  const [encoded = ''] = text.split(/[?#]/, 1);
  const read = STRAY.test(text) ? encoded.replaceAll(/%(?!\d\d)/g, '%25') : encoded;
  try {
    decodeURIComponent(read);
    return true;
  } catch {
    return false;
  }
}

/** An empty one is the default. */
function findPortFault(port: string): string | null {
  const isPort = /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
  return port === '' || isPort ? null : 'must have a port from 1 to 65535';
}

function findParameterFault(parameters: URLSearchParams, hasSeveral: boolean): string | null {
  for (const name of ['host', 'port']) {
    const value = parameters.get(name);
    if (value !== null && (hasSeveral || value.includes(','))) return WRONG_HOSTS;
  }
  for (const [name, values] of Object.entries(ALLOWED)) {
    const value = parameters.get(name);
    if (value !== null && !values.includes(value))
      return `must not have another ${name} than ${values.join(' or ')}`;
  }
  for (const [name, instead] of Object.entries(INSTEAD))
    if (parameters.has(name)) return `must not have ${name}: ${instead}`;
  const known = [...FREE, ...FILES, ...Object.keys(ALLOWED)];
  // What stands there may be a piece of a password.
  if ([...parameters.keys()].some((name) => !known.includes(name)))
    return `must have no parameters but ${known.join(', ')}`;
  return findFileFault(parameters);
}

function findFileFault(parameters: URLSearchParams): string | null {
  const texts: Record<string, string> = {};
  for (const name of FILES) {
    try {
      const path = parameters.get(name);
      if (path) texts[name] = readFileSync(path, 'utf8');
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      return `must be right about its files: ${name} names a file that cannot be read (${code})`;
    }
  }
  try {
    const { sslrootcert, sslcert, sslkey } = texts;
    createSecureContext({ ca: sslrootcert, cert: sslcert, key: sslkey });
    return null;
  } catch {
    return `must be right about its files: TLS refuses ${Object.keys(texts).join(' or ')}`;
  }
}

function readHosts(text: string): Host[] {
  const { hosts = '' } = PARTS.exec(text)?.groups ?? {};
  return hosts.split(',').flatMap((part) => readHost(part) ?? []);
}

function readHost(part: string): Host | null {
  const { v6, name, port } = HOST.exec(part)?.groups ?? {};
  const host = v6 ?? name;
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  return host === undefined || number < 1 || number > 65_535 ? null : { host, port: number };
}

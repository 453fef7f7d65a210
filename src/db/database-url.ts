/**
 * DATABASE_URL, with one host or, as libpq has it, with several (`host1:5432,host2:5432`), of which
 * one is the primary. The service writes, so it goes to the primary in any case, and
 * `target_session_attrs` can say nothing else.
 */

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

/** Values of parameters that say what the service does anyway. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  target_session_attrs: ['read-write', 'primary'],
  load_balance_hosts: ['disable'],
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
  if (parameters.has('hostaddr')) return 'must not use hostaddr: name the address as the host';
  for (const name of ['host', 'port']) {
    const value = parameters.get(name);
    if (value !== null && (hasSeveral || value.includes(','))) return WRONG_HOSTS;
  }
  for (const [name, values] of Object.entries(ALLOWED)) {
    const value = parameters.get(name);
    if (value !== null && !values.includes(value))
      return `must not have another ${name} than ${values.join(' or ')}`;
  }
  return null;
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

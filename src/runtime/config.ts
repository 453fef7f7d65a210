import { isIP } from 'node:net';
import parseAddresses from 'nodemailer/lib/addressparser';
import { z } from 'zod';
import { NOTHING_ENDS } from '../core/deprecation.ts';
import { isMailAddress } from '../core/email-address.ts';
import type { AppSecrets } from '../core/encryption.ts';
import { isLoopbackHost, loopbackOfAll, urlHostOf } from '../core/loopback.ts';
import { isNetwork } from '../core/network.ts';
import { findUrlFault } from '../db/database-url.ts';
import { deprecationsFile } from './deprecations-file.ts';
import { warn } from './output.ts';
import { fail } from './process.ts';
import { fileNameOf, readSecretFiles, type Environment } from './secret-files.ts';
import { SAMPLERS, tracingOf } from './tracing-settings.ts';
import { whyNotWritable } from './writable-folder.ts';

/** The configuration of a process. Only {@link parseConfig} reads the environment. */
export type Config = Readonly<Omit<z.output<typeof environment>, 'publicUrl'>> & {
  readonly publicUrl: string;
};

/**
 * The proxies that are trusted to report the address of a client: none, the last `hops` proxies, or
 * the proxies with these addresses.
 */
export type TrustProxy =
  | { kind: 'none' }
  | { kind: 'hops'; hops: number }
  | { kind: 'cidrs'; cidrs: readonly string[] };

/** The error of an invalid environment. Its texts go to logs, so they never contain a value. */
export interface ConfigError extends Error {
  name: 'ConfigError';
  /** One message per invalid variable, which begins with its name. */
  faults: readonly string[];
}

/** What a process does that needs more of the environment. */
export interface Uses {
  /** Whether it sends mails. */
  readonly mail?: boolean;
  /** Whether it listens on PORT. */
  readonly port?: boolean;
}

/**
 * Parses the environment. An empty variable counts as not set. Throws a {@link ConfigError} that
 * names every invalid variable, not only the first.
 */
export function parseConfig(given: Environment, uses: Uses = {}): Config {
  const { env, fromFile, faults: ofFiles } = readSecretFiles(given, SECRETS);
  const set = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const result = environment.safeParse(set);
  const faults = (result.error?.issues ?? []).map(({ path, message }) => {
    const name = String(path[0]);
    return fromFile.has(name)
      ? `${name}, from ${fileNameOf(name)}, ${message}`
      : `${name} ${message}`;
  });
  // Not in the schema, because zod skips rules over several fields if a field is invalid.
  if (set['NODE_ENV'] === 'production') faults.push(...faultsInProduction(set, uses));
  if (uses.mail && set['SMTP_URL'] === undefined && result.success) {
    const code = whyNotWritable(result.data.mailDir);
    if (code !== null) faults.push(`MAIL_DIR cannot be written (${code})`);
  }
  if (uses.port && isPortTaken(set)) faults.push('METRICS_PORT must not be PORT');
  const all = [
    ...Object.values(ofFiles),
    // A setting whose file is at fault has no value, which is no second fault.
    ...faults.filter((fault) => !(fault.replace(/[ ,].*/, '') in ofFiles)),
  ];
  if (!result.success || all.length > 0) throw configError([...new Set(all)]);
  return { ...result.data, publicUrl: result.data.publicUrl ?? ownUrl(result.data) };
}

/** Like {@link parseConfig}, and warns of what is likely to be wrong. */
export function readConfig(
  env: Environment,
  uses: Uses,
  onWarning: (text: string) => void,
): Config {
  for (const { name, meant } of findMisspelt(env))
    onWarning(`${name} is no setting and changes nothing. Is ${meant} meant?`);
  const config = parseConfig(env, uses);
  if ((uses.port || uses.mail) && lacksPublicUrl(config)) onWarning(describeLack(config));
  return config;
}

/** Like {@link readConfig}, for entries: writes the faults to standard error and exits 1. */
export function loadConfig(env: Environment, uses: Uses = {}): Config {
  try {
    return readConfig(env, uses, warn);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ConfigError') throw error;
    fail(error);
  }
}

/** Whether it is production, and customers are told the address at which the process listens. */
export function lacksPublicUrl(config: Config): boolean {
  return config.nodeEnv === 'production' && config.publicUrl === ownUrl(config);
}

/** What a missing PUBLIC_URL does. */
export function describeLack({ publicUrl }: Config): string {
  return (
    `PUBLIC_URL is not set: mails link to ${publicUrl}, ` +
    'and the cookie of a session is not limited to https'
  );
}

/**
 * Returns the environment with the secrets that are in files, for entries that do not parse all of
 * it. `names`: those that the entry uses. Throws a {@link ConfigError}.
 */
export function withSecretFiles(
  given: Environment,
  names: readonly (keyof typeof secretSettings)[],
): Environment {
  const { env, faults } = readSecretFiles(given, names);
  if (Object.keys(faults).length > 0) throw configError(Object.values(faults));
  return env;
}

/** Whether the metrics would ask for the port of the API, at its address. 0 is any free port. */
function isPortTaken(set: Environment): boolean {
  const { data } = addresses.safeParse(set);
  if (!data) return false;
  return data.PORT !== 0 && data.PORT === data.METRICS_PORT && data.HOST === metricsHostOf(data);
}

const HTTPS_IN_PRODUCTION = [
  'PUBLIC_URL',
  'APP_AUTH_JWKS_URL',
  'ADMIN_HOST_ORIGINS',
  'ADMIN_REFRESH_URL',
  'INVITATION_URL',
];

function faultsInProduction(set: Environment, uses: Uses): string[] {
  const faults: string[] = [];
  if (flag.safeParse(set['WEBHOOK_ALLOW_PRIVATE_TARGETS']).data)
    faults.push('WEBHOOK_ALLOW_PRIVATE_TARGETS must not be on when NODE_ENV is production');
  if (flag.safeParse(set['DEVELOPMENT_LOGIN']).data)
    faults.push('DEVELOPMENT_LOGIN must not be on when NODE_ENV is production');
  for (const name of HTTPS_IN_PRODUCTION) {
    if (set[name]?.split(',').some(isOpenHttp))
      faults.push(`${name} must be https when NODE_ENV is production, or a loopback address`);
  }
  if (uses.mail && set['SMTP_URL'] === undefined && set['MAIL_DIR'] === undefined) {
    faults.push(
      'SMTP_URL is required when NODE_ENV is production, ' +
        'or MAIL_DIR to write mails into files there instead of sending them',
    );
  }
  return faults;
}

/**
 * Returns the variables that are no settings and look like one: at most two letters are wrong. The
 * environment has many variables of others, so these are named and not refused. Names without an
 * underscore, such as PORT, are too short to be told apart.
 */
export function findMisspelt(
  env: Environment,
): readonly { readonly name: string; readonly meant: string }[] {
  const settings = new Set([...Object.keys(environment.in.shape), ...SECRETS.map(fileNameOf)]);
  const long = [...settings].filter((name) => name.includes('_'));
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || settings.has(name)) return [];
    const meant = long.find((setting) => areNear(name, setting));
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** Whether two added, left out or exchanged letters at most make one of the other. */
function areNear(one: string, other: string, edits = 2): boolean {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const [rest, otherRest] = [one.slice(same), other.slice(same)];
  if (rest === otherRest) return true;
  if (edits === 0) return false;
  return (
    areNear(rest.slice(1), otherRest, edits - 1) ||
    areNear(rest, otherRest.slice(1), edits - 1) ||
    areNear(rest.slice(1), otherRest.slice(1), edits - 1)
  );
}

/** Whether a URL leaves this machine without encryption. */
function isOpenHttp(value: string): boolean {
  const url = URL.parse(value.trim());
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname);
}

/** Returns the secrets that this process encrypts and decrypts with. */
export function appSecretsOf({ appSecret, appSecretPrevious }: Config): AppSecrets {
  return { current: appSecret, previous: appSecretPrevious ?? null };
}

function configError(faults: readonly string[]): ConfigError {
  const error = new Error(
    ['The environment is not valid:', ...faults.map((fault) => `  ${fault}`)].join('\n'),
  );
  return Object.assign(error, { name: 'ConfigError' as const, faults });
}

function originOf(url: string): string {
  return new URL(url).origin;
}

const NOT_OPENABLE = 'must not be at 0.0.0.0 or [::], which nobody can open';

function isOpenable(url: string): boolean {
  return loopbackOfAll(new URL(url).hostname) === null;
}

const NO_PORT = 'must have a port from 1 to 65535';

/** Nobody listens on port 0. */
function hasPort(url: string): boolean {
  return URL.parse(url)?.port !== '0';
}

function hrefOf(url: string): string {
  return new URL(url).href;
}

/** The address at which a process can be reached from its own machine. */
export function ownUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  return `http://${urlHostOf(host)}:${port}`;
}

function integer(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,10}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

function integers(min: number, max: number) {
  const message = `must be whole numbers from ${min} to ${max}, separated by commas`;
  return z
    .string()
    .regex(/^\d{1,10}(,\d{1,10})*$/, message)
    .transform((value) => value.split(',').map(Number))
    .refine((values) => values.every((value) => value >= min && value <= max), message);
}

/**
 * In the spelling that the parser gives it, because it is used as text: it accepts `HTTPS://`,
 * spaces around it and letters beyond ASCII.
 */
const httpUrl = z
  .string()
  .refine(
    (value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''),
    'must be an http or https URL',
  )
  .refine(hasPort, NO_PORT)
  .transform(hrefOf);

/** A URL that `fetch` reads, which takes none with a user. */
const fetchedUrl = httpUrl.refine((value) => {
  const { username, password } = new URL(value);
  return username === '' && password === '';
}, 'must be an http or https URL without a user');

/** A URL that people open. */
const linkUrl = httpUrl.refine(isOpenable, NOT_OPENABLE);

/** Paths are put behind it, and callers see the result. One spelling, like the other URLs. */
const publicUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:\/\/[^/?#@]+(?:\/[^?#]*)?$/i.test(value),
    'must be an http or https URL without user, query or fragment',
  )
  .refine(hasPort, NO_PORT)
  .transform((value) => hrefOf(value).replace(/\/+$/, ''))
  .refine(isOpenable, NOT_OPENABLE);

const ratio = z
  .string()
  .regex(/^[01]?(?:\.\d{1,9})?$/, 'must be a number from 0 to 1')
  .transform(Number)
  .refine((value) => value <= 1, 'must be a number from 0 to 1');

const databaseUrl = z.unknown().transform((value, ctx): string => {
  const text = typeof value === 'string' ? value : '';
  const fault = findUrlFault(text);
  if (fault !== null) ctx.addIssue(fault);
  return text;
});

const origins = z.string().transform((value, ctx): readonly string[] => {
  const given = value.split(',').map((part) => part.trim());
  if (given.every((one) => /^https?:\/\/[\w.:[\]-]+$/.test(one) && URL.parse(one)?.origin === one))
    return given;
  ctx.addIssue('must be origins such as https://app.example.com, separated by commas');
  return z.NEVER;
});

const refreshUrls = z.string().transform((value, ctx): readonly string[] => {
  const urls = value.split(',').map((part) => fetchedUrl.safeParse(part.trim()).data);
  const given = urls.filter((one) => one !== undefined);
  if (!given.every(isOpenable)) ctx.addIssue(NOT_OPENABLE);
  if (given.length === urls.length && new Set(given.map(originOf)).size === given.length)
    return given;
  ctx.addIssue('must be http or https URLs, separated by commas, one for each origin');
  return z.NEVER;
});

const flag = z
  .enum(['1', 'true', '0', 'false'], 'must be 1, true, 0 or false')
  .transform((value) => value === '1' || value === 'true');

const secret = z
  .string('is required, with at least 32 characters')
  .min(32, 'must have at least 32 characters');

const trustProxy = z.string().transform((value, ctx): TrustProxy => {
  if (/^\d{1,3}$/.test(value))
    return Number(value) === 0 ? { kind: 'none' } : { kind: 'hops', hops: Number(value) };
  const cidrs = value.split(',').map((part) => part.trim());
  if (cidrs.every(isCidr)) return { kind: 'cidrs', cidrs };
  ctx.addIssue('must be a number of proxies or a list of CIDR ranges, separated by commas');
  return z.NEVER;
});

/**
 * Whether the text is an address or a range of addresses, for instance 10.0.0.0/8. All addresses,
 * 0.0.0.0/0, are no range: the proxies could not be told from the clients.
 */
function isCidr(value: string): boolean {
  return isNetwork(value) && !value.endsWith('/0');
}

/**
 * As the mails have it, and with their parser. Of a text that is no address it makes a mail without
 * a sender: a server that refuses it would seem to refuse the recipient.
 */
const mailFrom = z.string().refine((value) => {
  const [sender, ...others] = parseAddresses(value);
  if (sender === undefined || !('address' in sender) || others.length > 0) return false;
  // The name of a mail server may have no point, as localhost.
  return isMailAddress(`${sender.address}.test`);
}, 'must be one address, or a name and an address: Acme <no-reply@example.com>');

const smtpUrl = z.string().transform((value, ctx): string => {
  const fault = smtpFault(URL.parse(value));
  if (fault !== null) ctx.addIssue(fault);
  return value;
});

/** The mail client decodes user and password, and takes a missing host for its own machine. */
function smtpFault(given: URL | null): string | null {
  if (given === null || !['smtp:', 'smtps:'].includes(given.protocol))
    return 'must be an smtp:// or smtps:// URL';
  // The mail client reads the name as browsers do.
  if (!URL.canParse(`http://${given.hostname}`)) return 'must name the mail server';
  if (given.port === '0') return NO_PORT;
  if (isDecodable(given.username) && isDecodable(given.password)) return null;
  return 'must have user and password percent-encoded: % is %25';
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** An address or a name at which a process listens, without a port. */
const host = z
  .string()
  .refine(
    (value) => isIP(value) > 0 || /^[a-z\d](?:[\w.-]*[a-z\d])?$/i.test(value),
    'must be an address or a name, without a port',
  );

/** A pair of what OpenTelemetry's exporter reads. It drops others without a word. */
const TRACE_HEADER = /^\s*[\w-]+\s*=\s*(?:[^\s%;]|%[\da-f]{2})(?:[^%;]|%[\da-f]{2})*$/i;

const traceHeaders = z
  .string()
  .refine(
    (value) => value.split(',').every((pair) => pair.trim() === '' || TRACE_HEADER.test(pair)),
    'must be pairs such as name=value, separated by commas and percent-encoded',
  );

/** The settings that hold a secret. Each may be given as a file instead: DATABASE_URL_FILE. */
const secretSettings = {
  DATABASE_URL: databaseUrl,
  APP_SECRET: secret,
  APP_SECRET_PREVIOUS: secret.optional(),
  APP_AUTH_SECRET: secret.optional(),
  SMTP_URL: smtpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: traceHeaders.optional(),
};

const SECRETS = Object.keys(secretSettings) as readonly (keyof typeof secretSettings)[];

/** Where a process listens. */
const addresses = z.object({
  PORT: integer(0, 65_535).prefault('3000'),
  HOST: host.default('127.0.0.1'),
  METRICS_PORT: integer(0, 65_535).optional(),
  METRICS_HOST: host.optional(),
});

function metricsHostOf({ HOST, METRICS_HOST }: z.output<typeof addresses>): string {
  return METRICS_HOST ?? HOST;
}

const environment = z
  .object({
    ...secretSettings,
    ...addresses.shape,
    DATABASE_POOL_MAX: integer(4, 1000).prefault('16'),
    PUBLIC_URL: publicUrl.optional(),
    DRAIN_DELAY_MS: integer(0, 600_000).optional(),
    APP_AUTH_JWKS_URL: fetchedUrl.optional(),
    ADMIN_HOST_ORIGINS: origins.optional(),
    ADMIN_REFRESH_URL: refreshUrls.optional(),
    INVITATION_URL: linkUrl.optional(),
    DEVELOPMENT_LOGIN: flag.prefault('false'),
    DEPRECATIONS_FILE: deprecationsFile.optional(),
    TRUST_PROXY: trustProxy.prefault('0'),
    API_KEY_RATE_LIMIT_PER_MIN: integer(1, 2_000_000_000).prefault('120'),
    // At least ten, because a request of the app may hold ten calls.
    PERSON_RATE_LIMIT_PER_MIN: integer(10, 2_000_000_000).prefault('300'),
    REQUEST_LOG_SAMPLE: ratio.prefault('1'),
    REQUEST_LOG_DAYS: integer(1, 7).prefault('7'),
    WEBHOOK_RETRY_DELAYS_S: integers(0, 31_536_000).prefault('60,300,1800,7200,21600,43200,86400'),
    WEBHOOK_TIMEOUT_MS: integer(1, 600_000).prefault('10000'),
    WEBHOOK_PAUSE_AFTER_S: integer(0, 315_360_000).prefault('259200'),
    WEBHOOK_ALLOW_PRIVATE_TARGETS: flag.prefault('false'),
    WEBHOOK_MAX_IN_FLIGHT_PER_ENDPOINT: integer(1, 10_000).prefault('8'),
    WORKER_CONCURRENCY: integer(1, 10_000).prefault('200'),
    MAIL_FROM: mailFrom.optional(),
    MAIL_DIR: z.string().default('.data/mail'),
    LOG_LEVEL: z
      .enum(
        ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
        'must be fatal, error, warn, info, debug, trace or silent',
      )
      .default('info'),
    OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
    OTEL_EXPORTER_OTLP_PROTOCOL: z.literal('http/protobuf', 'must be http/protobuf').optional(),
    OTEL_SERVICE_NAME: z.string().optional(),
    OTEL_TRACES_SAMPLER: z
      .enum(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`)
      .default('parentbased_always_on'),
    OTEL_TRACES_SAMPLER_ARG: ratio.prefault('1'),
    NODE_ENV: z
      .enum(['production', 'development', 'test'], 'must be production, development or test')
      .default('development'),
  })
  .transform((env) => ({
    databaseUrl: env.DATABASE_URL,
    databasePoolMax: env.DATABASE_POOL_MAX,
    port: env.PORT,
    host: env.HOST,
    publicUrl: env.PUBLIC_URL,
    metricsPort: env.METRICS_PORT,
    metricsHost: metricsHostOf(env),
    drainDelayMs: env.DRAIN_DELAY_MS ?? (env.NODE_ENV === 'production' ? 5000 : 0),
    appSecret: env.APP_SECRET,
    appSecretPrevious: env.APP_SECRET_PREVIOUS,
    appAuthSecret: env.APP_AUTH_SECRET,
    appAuthJwksUrl: env.APP_AUTH_JWKS_URL,
    adminHostOrigins: env.ADMIN_HOST_ORIGINS ?? [],
    adminRefreshUrls: env.ADMIN_REFRESH_URL ?? [],
    invitationUrl: env.INVITATION_URL,
    developmentLogin: env.DEVELOPMENT_LOGIN,
    deprecations: env.DEPRECATIONS_FILE ?? NOTHING_ENDS,
    trustProxy: env.TRUST_PROXY,
    apiKeyRateLimitPerMinute: env.API_KEY_RATE_LIMIT_PER_MIN,
    personRateLimitPerMinute: env.PERSON_RATE_LIMIT_PER_MIN,
    requestLogSample: env.REQUEST_LOG_SAMPLE,
    requestLogDays: env.REQUEST_LOG_DAYS,
    webhookRetryDelaysS: env.WEBHOOK_RETRY_DELAYS_S,
    webhookTimeoutMs: env.WEBHOOK_TIMEOUT_MS,
    webhookPauseAfterS: env.WEBHOOK_PAUSE_AFTER_S,
    webhookAllowPrivateTargets: env.WEBHOOK_ALLOW_PRIVATE_TARGETS,
    webhookMaxInFlightPerEndpoint: env.WEBHOOK_MAX_IN_FLIGHT_PER_ENDPOINT,
    workerConcurrency: env.WORKER_CONCURRENCY,
    smtpUrl: env.SMTP_URL,
    mailFrom: env.MAIL_FROM,
    mailDir: env.MAIL_DIR,
    logLevel: env.LOG_LEVEL,
    tracing: tracingOf(env),
    nodeEnv: env.NODE_ENV,
  }));

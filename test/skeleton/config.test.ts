import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requireOperations } from '../../src/core/deprecation.ts';
import { parseDatabaseUrl } from '../../src/db/database-url.ts';
import { cookieOptions } from '../../src/http/app/session-cookie.ts';
import {
  findMisspelt,
  lacksPublicUrl,
  parseConfig,
  type Config,
  withSecretFiles,
} from '../../src/runtime/config.ts';
import { makeFolder } from '../support/folder.ts';

const valid = { DATABASE_URL: 'postgres://u:p@db/x', APP_SECRET: 's'.repeat(32) };

function faultsOf(env: Record<string, string>): string[] {
  try {
    parseConfig({ ...valid, ...env });
  } catch (error) {
    if (error instanceof Error && 'faults' in error) return error.faults as string[];
    throw error;
  }
  return [];
}

describe('DATABASE_URL', () => {
  const url = (hosts: string, rest = '/app') => `postgres://u:hunter2@${hosts}${rest}`;

  const READ_WRITE = '/app?target_session_attrs=read-write';
  const SOCKET = 'postgres:///app?host=/var/run/postgresql&port=5433';

  it.each([
    [url('a'), url('a'), []],
    [url('a:1', READ_WRITE), url('a:1', READ_WRITE), []],
    [SOCKET, SOCKET, []],
    [url('a:1,b:2'), url('a:1'), ['a 1', 'b 2']],
    [url('a,b', READ_WRITE), url('a:5432', READ_WRITE), ['a 5432', 'b 5432']],
    ['postgresql://a,b', 'postgresql://a:5432', ['a 5432', 'b 5432']],
    [url('[::1]:1,10.0.0.1,[fe80::2]'), url('[::1]:1'), ['::1 1', '10.0.0.1 5432', 'fe80::2 5432']],
    ['postgres://u:100%@a/app', 'postgres://u:100%@a/app', []],
    ['postgres://u:1%zz%ab%40@a/%C3%A4', 'postgres://u:1%zz%ab%40@a/%C3%A4', []],
    [url('a:1', '/app?port='), url('a:1', '/app?port='), []],
    [url('a:1', '/?schema=public'), url('a:1', '/?schema=public'), []],
    [url('a:1', '/?pgbouncer=true'), url('a:1', '/?pgbouncer=true'), []],
    [url('a:1', '/?sslmode=no-verify'), url('a:1', '/?sslmode=no-verify'), []],
    ['postgres://u:p%40,%3A@a,b/x', 'postgres://u:p%40,%3A@a:5432/x', ['a 5432', 'b 5432']],
  ])('accepts %s', (text, first, hosts) => {
    expect(faultsOf({ DATABASE_URL: text })).toEqual([]);
    const parsed = parseDatabaseUrl(text);
    expect(parsed.hosts.map(({ host, port }) => `${host} ${port}`)).toEqual(hosts);
    expect(parsed.url).toBe(first);
  });

  it.each([
    [url('a:1,'), /several hosts/],
    [url(',a'), /several hosts/],
    [url('a,b:0'), /several hosts/],
    [url('a,b:65536'), /several hosts/],
    [url('a,b:hunter2'), /several hosts/],
    [url('a,%2Ftmp'), /several hosts/],
    [url('a:1,u:hunter2@b:2'), /several hosts/],
    ['postgres:///app?host=a,b&password=hunter2', /several hosts/],
    [url('a', '/app?port=1,2'), /several hosts/],
    [url('a,b', '/app?host=c'), /several hosts/],
    [url('a', '/app?hostaddr=10.0.0.1'), /hostaddr: name the address as the host/],
    [url('a', '/app?schema=hunter2'), /must not have another schema than public/],
    [url('a', '/app?pgbouncer=false'), /another pgbouncer than true/],
    [url('a', '/app?connection_limit=5'), /connection_limit: DATABASE_POOL_MAX/],
    [url('a', '/app?pool_timeout=5'), /pool_timeout: the processes limit time themselves/],
    [url('a', '/app?connect_timeout=300'), /connect_timeout: /],
    [url('a', '/app?options=-c%20search_path%3Dapp'), /options: a session has/],
    [url('a', '/app?client_encoding=LATIN1'), /client_encoding: a session has/],
    [url('a', '/app?channel_binding=require'), /another channel_binding than disable or prefer/],
    [url('a', '/app?sslmode=allow'), /another sslmode than /],
    [url('a', '/app?ssl=false'), /another ssl than /],
    [
      url('a', '/app?sslrootcert=/hunter2'),
      /sslrootcert names a file that cannot be read \(ENOENT/,
    ],
    [url('a', '/app?sslcert=/etc/hostname'), /TLS refuses/],
    [url('a', '/app?hunter2=1'), /must have no parameters but host, /],
    [
      url('a,b', '/app?target_session_attrs=any'),
      /target_session_attrs than read-write or primary/,
    ],
    [url('a', '/app?target_session_attrs=standby'), /target_session_attrs/],
    [url('a,b', '/app?load_balance_hosts=random'), /load_balance_hosts than disable/],
    ['host=a,b password=hunter2', /postgres:\/\/ URL/],
    [url('a:hunter2'), /postgres:\/\/ URL/],
    ['postgres://u:hunter2%ab@a/app', /percent-encoded: % is %25/],
    ['postgres://u:hunter2%ff@a,b/app', /percent-encoded/],
    ['postgres://u%e4:hunter2@a/app', /percent-encoded/],
    ['postgres://u:%zz%99hunter2@a/app', /percent-encoded/],
    [url('%ab'), /percent-encoded/],
    [url('a', '/%c3'), /percent-encoded/],
    [url('a', '/app%'), /percent-encoded/],
    [url('a', '/app%2'), /percent-encoded/],
    [url('a', '/app?port=hunter2'), /must have a port from 1 to 65535/],
    [url('a', '/app?port=70000'), /must have a port/],
    [url('a', '/app?port=0'), /must have a port/],
    [url('a:0'), /must have a port/],
  ])('refuses %s, naming the setting and not the password', (text, reason) => {
    const faults = faultsOf({ DATABASE_URL: text });
    expect(faults).toEqual([expect.stringMatching(/^DATABASE_URL (?:must|is)/)]);
    expect(faults[0]).toMatch(reason);
    expect(faults[0]).not.toContain('hunter2');
    expect(() => parseDatabaseUrl(text)).toThrow(faults[0]);
  });
});

describe('the environment', () => {
  it('has the documented defaults', () => {
    expect(parseConfig(valid)).toEqual({
      databaseUrl: valid.DATABASE_URL,
      databasePoolMax: 16,
      port: 3000,
      host: '127.0.0.1',
      publicUrl: 'http://127.0.0.1:3000',
      metricsPort: undefined,
      metricsHost: '127.0.0.1',
      drainDelayMs: 0,
      appSecret: valid.APP_SECRET,
      appSecretPrevious: undefined,
      appAuthSecret: undefined,
      appAuthJwksUrl: undefined,
      adminHostOrigins: [],
      adminRefreshUrls: [],
      invitationUrl: undefined,
      developmentLogin: false,
      deprecations: { version: null, operations: {} },
      trustProxy: { kind: 'none' },
      apiKeyRateLimitPerMinute: 120,
      personRateLimitPerMinute: 300,
      requestLogSample: 1,
      requestLogDays: 7,
      webhookRetryDelaysS: [60, 300, 1800, 7200, 21_600, 43_200, 86_400],
      webhookTimeoutMs: 10_000,
      webhookPauseAfterS: 259_200,
      webhookAllowPrivateTargets: false,
      webhookMaxInFlightPerEndpoint: 8,
      workerConcurrency: 200,
      smtpUrl: undefined,
      mailFrom: undefined,
      mailDir: '.data/mail',
      logLevel: 'info',
      tracing: null,
      nodeEnv: 'development',
    });
  });

  it('reports every fault at once, by name, and never a value', () => {
    const wrong = {
      DATABASE_URL: 'mysql://hunter2@db',
      APP_SECRET: 'hunter2',
      PORT: 'hunter2',
      PUBLIC_URL: 'hunter2',
      TRUST_PROXY: 'hunter2',
      WEBHOOK_RETRY_DELAYS_S: '1,hunter2',
      WEBHOOK_ALLOW_PRIVATE_TARGETS: 'hunter2',
      SMTP_URL: 'hunter2',
      MAIL_FROM: 'hunter2',
      LOG_LEVEL: 'hunter2',
      NODE_ENV: 'hunter2',
      APP_AUTH_JWKS_URL: 'file:///hunter2',
      DEPRECATIONS_FILE: '/hunter2',
      ADMIN_HOST_ORIGINS: 'https://app.example.com,hunter2',
      ADMIN_REFRESH_URL: 'javascript:hunter2',
      INVITATION_URL: 'javascript:hunter2',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'hunter2',
      OTEL_EXPORTER_OTLP_HEADERS: 'hunter2',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'hunter2',
      OTEL_TRACES_SAMPLER: 'hunter2',
      OTEL_TRACES_SAMPLER_ARG: '0.hunter2',
    };
    const faults = faultsOf(wrong);
    expect(faults.map((fault) => fault.replace(/ .*/, '')).toSorted()).toEqual(
      Object.keys(wrong).toSorted(),
    );
    expect(() => parseConfig(wrong)).not.toThrow(/hunter2/);
  });

  it.each(['https://app.example.com/', '*', "'self'", 'https://*.example.com', 'ftp://a.example'])(
    'refuses %j as an origin that may show the admin page',
    (value) => {
      expect(faultsOf({ ADMIN_HOST_ORIGINS: value })).toHaveLength(1);
    },
  );

  it('allows frames in the listed origins', () => {
    const value = 'https://app.example.com, http://localhost:5173';
    expect(parseConfig({ ...valid, ADMIN_HOST_ORIGINS: value }).adminHostOrigins).toEqual([
      'https://app.example.com',
      'http://localhost:5173',
    ]);
  });

  it.each([
    [{}, 1, true],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, 0, false],
    [
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' },
      0.01,
      true,
    ],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '.5' }, 0.5, false],
    [{ OTEL_TRACES_SAMPLER: 'always_on', OTEL_TRACES_SAMPLER_ARG: '0.01' }, 1, false],
  ])('reads the sampling of traces from %j', (env, ratio, followsCallers) => {
    const endpoint = 'http://collector:4318';
    const set = {
      ...valid,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_SERVICE_NAME: 'own',
      ...env,
    };
    const sampling = { ratio, followsCallers };
    const others = { endpoint: `${endpoint}/`, headers: null, serviceName: 'own' };
    expect(parseConfig(set).tracing).toEqual({ ...others, sampling });
  });

  it.each(['1.1', '-0.1', '1e-2', '2', '.', '0,1'])('refuses %j as a ratio of traces', (value) => {
    expect(faultsOf({ OTEL_TRACES_SAMPLER_ARG: value })).toHaveLength(1);
  });

  it.each(['authorization=Basic aGk6aG8=', 'a=Bearer%20x, x-team = b%2Cc ,'])(
    'takes %j as headers of traces',
    (headers) => {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_HEADERS: headers };
      expect(parseConfig({ ...valid, ...env }).tracing).toMatchObject({ headers });
    },
  );

  it.each(['hunter2', 'a=', '=hunter2', 'a=b;hunter2', 'a=hunter2%', 'a b=hunter2', 'a=b,hunter2'])(
    'refuses %j as headers of traces',
    (headers) => {
      expect(faultsOf({ OTEL_EXPORTER_OTLP_HEADERS: headers })).toEqual([
        expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS must be pairs such as name=value/),
      ]);
    },
  );

  it('names what is missing', () => {
    expect(() => parseConfig({})).toThrow(/DATABASE_URL is required[^]*APP_SECRET is required/);
  });

  it('treats a variable set to nothing as not set', () => {
    expect(parseConfig({ ...valid, PORT: '', SMTP_URL: ' ' })).toMatchObject({
      port: 3000,
      smtpUrl: undefined,
    });
  });

  it.each(['3', '65536', '-1', '3.5', '1e3', '0x10', ' 80', '99999999999'])(
    'refuses %j as a pool size',
    (value) => {
      expect(faultsOf({ DATABASE_POOL_MAX: value })).toHaveLength(1);
    },
  );

  it.each([
    ['2', { kind: 'hops', hops: 2 }],
    ['0', { kind: 'none' }],
    [
      '10.0.0.0/8, ::1/128,192.168.0.1',
      { kind: 'cidrs', cidrs: ['10.0.0.0/8', '::1/128', '192.168.0.1'] },
    ],
  ])('reads TRUST_PROXY=%s', (value, expected) => {
    expect(parseConfig({ ...valid, TRUST_PROXY: value }).trustProxy).toEqual(expected);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '10.0.0/8',
    'true',
    '-1',
    '10.0.0.0/8,',
    '0.0.0.0/0',
    '::/0',
  ])('refuses TRUST_PROXY=%s, for a wrong one lets anybody choose an address', (value) =>
    expect(faultsOf({ TRUST_PROXY: value })).toHaveLength(1),
  );

  it.each([
    ['1', true],
    ['true', true],
    ['0', false],
    ['false', false],
  ])('reads %s as a switch', (value, expected) => {
    expect(
      parseConfig({ ...valid, WEBHOOK_ALLOW_PRIVATE_TARGETS: value }).webhookAllowPrivateTargets,
    ).toBe(expected);
  });

  it('refuses private webhook targets in production, together with the other faults', () => {
    const faults = faultsOf({
      NODE_ENV: 'production',
      WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
      PORT: 'x',
    });
    expect(faults.map((fault) => fault.replace(/ .*/, ''))).toEqual([
      'PORT',
      'WEBHOOK_ALLOW_PRIVATE_TARGETS',
    ]);
    expect(faultsOf({ NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE_TARGETS: '0' })).toEqual([]);
  });

  it('needs a mail server in production, or a folder on purpose, where mails are sent', () => {
    const parse = (env: Record<string, string>, mail: boolean) => () =>
      parseConfig({ ...valid, NODE_ENV: 'production', ...env }, { mail });
    expect(parse({}, true)).toThrow(/SMTP_URL is required.*MAIL_DIR/);
    expect(parse({ MAIL_DIR: ' ' }, true)).toThrow(/SMTP_URL is required/);
    expect(parse({ MAIL_DIR: '.data/mail' }, true)).not.toThrow();
    expect(parse({ SMTP_URL: 'smtp://mail' }, true)).not.toThrow();
    expect(parse({}, false)).not.toThrow();
    expect(parse({ NODE_ENV: 'development' }, true)).not.toThrow();
  });

  it('refuses a folder of mails that cannot be written, where mails are sent', async () => {
    const parse = (MAIL_DIR: string, env: Record<string, string> = {}, mail = true) =>
      parseConfig({ ...valid, ...env, MAIL_DIR }, { mail }).mailDir;
    const file = await write('no folder');
    for (const dir of [file, join(file, 'mail'), '/dev/null/mail'])
      expect(() => parse(dir)).toThrow('MAIL_DIR cannot be written (ENOTDIR)');
    const link = join(await makeFolder('config'), 'link');
    await symlink(link, link);
    expect(() => parse(link)).toThrow('MAIL_DIR cannot be written (ELOOP)');
    expect(parse(file, { SMTP_URL: 'smtp://mail' })).toBe(file);
    expect(parse(file, {}, false)).toBe(file);
    const folder = join(await makeFolder('config'), 'not', 'yet', 'made');
    expect(parse(folder)).toBe(folder);
  });

  it('refuses one port for the API and its metrics, unless at two addresses', () => {
    const faults = (env: Record<string, string>, port = true): readonly string[] => {
      try {
        parseConfig({ ...valid, PORT: '3000', METRICS_PORT: '3000', ...env }, { port });
        return [];
      } catch (error) {
        return (error as { faults: readonly string[] }).faults;
      }
    };
    expect(faults({})).toEqual(['METRICS_PORT must not be PORT']);
    expect(faults({ PORT: '' })).toHaveLength(1);
    expect(faults({ LOG_LEVEL: 'loud' })).toHaveLength(2);
    expect(faults({ METRICS_PORT: 'x' })).toHaveLength(1);
    expect(faults({ METRICS_PORT: '3001' })).toEqual([]);
    expect(faults({ PORT: '0', METRICS_PORT: '0' })).toEqual([]);
    expect(faults({ HOST: '10.0.0.1', METRICS_HOST: '127.0.0.1' })).toEqual([]);
    // A worker does not listen on PORT.
    expect(faults({}, false)).toEqual([]);
  });

  it('refuses the development login in production', () => {
    expect(faultsOf({ NODE_ENV: 'production', DEVELOPMENT_LOGIN: '1' })).toEqual([
      'DEVELOPMENT_LOGIN must not be on when NODE_ENV is production',
    ]);
    expect(faultsOf({ DEVELOPMENT_LOGIN: '1' })).toEqual([]);
  });

  it.each([
    'PUBLIC_URL',
    'APP_AUTH_JWKS_URL',
    'ADMIN_HOST_ORIGINS',
    'ADMIN_REFRESH_URL',
    'INVITATION_URL',
  ])('refuses http for %s in production', (name) => {
    const faults = (url: string) => faultsOf({ NODE_ENV: 'production', [name]: url }).length;
    for (const url of ['http://api.example.com', 'http://127.0.0.1.example.com', 'http://10.0.0.1'])
      expect(faults(url)).toBe(1);
    for (const url of [
      'https://api.example.com',
      'http://localhost:3000',
      'http://127.0.0.1',
      'http://[::1]:81',
    ])
      expect(faults(url)).toBe(0);
    expect(faultsOf({ [name]: 'http://api.example.com' })).toEqual([]);
  });

  it.each([
    'no-reply@example.com',
    'Acme <no-reply@example.com>',
    'Team Customer API <no-reply@localhost>',
    'Käse & Söhne (EU) <a@käse.example>',
    '"Acme, Inc." <a@b.c>',
    'a@b.c (Acme)',
  ])('takes %s as the sender of mails', (value) => {
    expect(parseConfig({ ...valid, MAIL_FROM: value }).mailFrom).toBe(value);
  });

  it.each([
    'Acme',
    '"Acme <a@b.c>"',
    '"Acme <a@b.c>',
    'Acme <>',
    'Acme <a@>',
    'Acme: <a@b.c>',
    'a@b.c, d@e.f',
    'a@b@c',
  ])('refuses %s as the sender of mails, for which servers refuse each of them', (value) => {
    expect(faultsOf({ MAIL_FROM: value })).toEqual([
      'MAIL_FROM must be one address, or a name and an address: Acme <no-reply@example.com>',
    ]);
  });

  it('misses PUBLIC_URL in production alone', () => {
    const lacks = (env: Record<string, string>) =>
      lacksPublicUrl(parseConfig({ ...valid, NODE_ENV: 'production', ...env }));
    expect(lacks({})).toBe(true);
    expect(lacks({ HOST: '0.0.0.0' })).toBe(true);
    expect(lacks({ PUBLIC_URL: 'https://api.example.com' })).toBe(false);
    expect(lacks({ PUBLIC_URL: 'http://127.0.0.1:8080' })).toBe(false);
    expect(lacks({ NODE_ENV: 'development' })).toBe(false);
  });

  it('takes one address to sign in at for each host application', () => {
    const urlsOf = (given: string) =>
      parseConfig({ ...valid, ADMIN_REFRESH_URL: given }).adminRefreshUrls;
    const [one, two] = ['https://one.test/link', 'https://two.test/link?from=admin'];
    expect(urlsOf(one)).toEqual([one]);
    expect(urlsOf(`${one}, ${two}`)).toEqual([one, two]);
    for (const wrong of [`${one},`, `${one},https://one.test/other`, `${one},file:///two`])
      expect(faultsOf({ ADMIN_REFRESH_URL: wrong })).toEqual([
        'ADMIN_REFRESH_URL must be http or https URLs, separated by commas, one for each origin',
      ]);
    expect(
      faultsOf({ NODE_ENV: 'production', ADMIN_REFRESH_URL: `${one},http://two.test` }),
    ).toHaveLength(1);
  });

  it('gives load balancers five seconds in production to notice a stop', () => {
    const delayOf = (env: Record<string, string>) => parseConfig({ ...valid, ...env }).drainDelayMs;
    expect(delayOf({ NODE_ENV: 'production' })).toBe(5000);
    expect(delayOf({ NODE_ENV: 'production', DRAIN_DELAY_MS: '0' })).toBe(0);
    expect(delayOf({ DRAIN_DELAY_MS: '20000' })).toBe(20_000);
  });

  it('serves metrics at the address of the API, or at one of their own', () => {
    const hostOf = (env: Record<string, string>) => parseConfig({ ...valid, ...env }).metricsHost;
    expect(hostOf({ HOST: '0.0.0.0' })).toBe('0.0.0.0');
    expect(hostOf({ HOST: '0.0.0.0', METRICS_HOST: '10.0.0.11' })).toBe('10.0.0.11');
  });

  it.each([
    'https://user:hunter2@api.example.com',
    'https://hunter2@api.example.com',
    'https://api.example.com/path?hunter2',
    'https://api.example.com/#hunter2',
    'https://api.example.com?',
    'https://api.example.com#',
  ])('refuses %s as the public URL: paths are put behind it, and callers see it', (url) => {
    expect(faultsOf({ PUBLIC_URL: url })).toEqual([
      'PUBLIC_URL must be an http or https URL without user, query or fragment',
    ]);
  });

  it.each([
    ['0.0.0.0', '127.0.0.1'],
    ['0', '127.0.0.1'],
    ['0x0', '127.0.0.1'],
    ['::ffff:0.0.0.0', '127.0.0.1'],
    ['::', '[::1]'],
    ['::0', '[::1]'],
    ['0:0:0:0:0:0:0:0', '[::1]'],
    ['10.0.0.11', '10.0.0.11'],
    ['0.0.0.1', '0.0.0.1'],
    ['fe80::1%eth0', '[fe80::1]'],
    ['api-1', 'api-1'],
  ])('with HOST=%s and no PUBLIC_URL, links go to %s', (host, linked) => {
    const { publicUrl } = parseConfig({ ...valid, HOST: host });
    expect(publicUrl).toBe(`http://${linked}:3000`);
    expect(new URL(publicUrl).hostname).toBe(linked);
  });

  it.each(['PUBLIC_URL', 'INVITATION_URL', 'ADMIN_REFRESH_URL'])(
    'refuses a %s at all addresses of a machine, which no reader can open',
    (name) => {
      for (const host of ['0.0.0.0:3000', '0', '[::]:3000', '[0:0::0]', '[::ffff:0.0.0.0]'])
        expect(faultsOf({ [name]: `http://${host}/link` })).toEqual([
          `${name} must not be at 0.0.0.0 or [::], which nobody can open`,
        ]);
      expect(faultsOf({ [name]: 'http://0.0.0.0.example/link' })).toEqual([]);
    },
  );

  it.each([
    ['HOST', 'localhost:3000', /without a port/],
    ['HOST', 'http://0.0.0.0', /without a port/],
    ['HOST', '[::1]', /without a port/],
    ['HOST', '*', /an address or a name/],
    ['METRICS_HOST', '0.0.0.0 ', /an address or a name/],
    ['SMTP_URL', 'smtp://', /mail server/],
    ['SMTP_URL', 'smtp:mail', /mail server/],
    ['SMTP_URL', 'smtp://mail:0', /port/],
    ['SMTP_URL', 'smtp://mail%20server', /mail server/],
    ['PUBLIC_URL', 'https://api.example.com:0', /port/],
    ['INVITATION_URL', 'https://app.example.com:0/join', /port/],
    ['APP_AUTH_JWKS_URL', 'https://sso.example:0/jwks', /port/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:0', /port/],
    ['MAIL_FROM', 'Acme <a@b..example>', /one address/],
    ['MAIL_FROM', 'a@[127.0.0', /one address/],
    ['MAIL_FROM', 'a@b,c', /one address/],
    ['SMTP_URL', 'smtp://user:100%@mail', /% is %25/],
    ['SMTP_URL', 'smtps://us%ffer:x@mail', /% is %25/],
    ['APP_AUTH_JWKS_URL', 'https://user:hunter2@sso.example/jwks', /without a user/],
    ['ADMIN_REFRESH_URL', 'https://user@app.example/token', /http or https URLs/],
  ])('refuses what the first use of %s would: %s', (name, value, reason) => {
    expect(faultsOf({ [name]: value })).toEqual([expect.stringMatching(reason)]);
  });

  it('builds the public URL from host and port, and cuts the slash of a given one', () => {
    expect(parseConfig({ ...valid, HOST: '::1', PORT: '81' }).publicUrl).toBe('http://[::1]:81');
    expect(parseConfig({ ...valid, PUBLIC_URL: 'https://api.example.com/' }).publicUrl).toBe(
      'https://api.example.com',
    );
  });

  it.each([
    ['HTTPS://API.example.com', 'https://api.example.com'],
    ['https://api.example.com ', 'https://api.example.com'],
    ['https://api.example.com:443/tools//', 'https://api.example.com/tools'],
    ['https://köln.example/für', 'https://xn--kln-sna.example/f%C3%BCr'],
  ])('spells the public URL %j as callers will see it', (given, spelt) => {
    const { publicUrl } = parseConfig({ ...valid, PUBLIC_URL: given });
    expect(publicUrl).toBe(spelt);
    // The cookie of a session is limited to https by the same text.
    expect(cookieOptions(publicUrl).secure).toBe(true);
  });

  it.each([
    ['INVITATION_URL', (config: Config) => config.invitationUrl],
    ['ADMIN_REFRESH_URL', (config: Config) => config.adminRefreshUrls[0]],
    ['APP_AUTH_JWKS_URL', (config: Config) => config.appAuthJwksUrl],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', (config: Config) => config.tracing?.endpoint],
  ])('gives %s in one spelling, because paths and texts are made of it', (name, of) => {
    const spelt = (given: string) => of(parseConfig({ ...valid, [name]: given }));
    for (const given of ['HTTPS://Köln.example/a', 'https://köln.example/a '])
      expect(spelt(given)).toBe('https://xn--kln-sna.example/a');
  });
});

/** Writes a file and resolves with its path. */
async function write(contents: string): Promise<string> {
  const file = join(await makeFolder('config'), 'file');
  await writeFile(file, contents);
  return file;
}

describe('the file of deprecations', () => {
  const dates = { since: '2027-01-01', sunset: '2028-01-01' };

  it('says what ends, and when', async () => {
    const own = { ...dates, link: 'https://a.test/users' };
    const file = await write(JSON.stringify({ version: dates, operations: { 'GET /users': own } }));
    expect(parseConfig({ ...valid, DEPRECATIONS_FILE: file }).deprecations).toEqual({
      version: dates,
      operations: { 'GET /users': own },
    });
    expect(parseConfig({ ...valid, DEPRECATIONS_FILE: await write('{}') }).deprecations).toEqual({
      version: null,
      operations: {},
    });
  });

  it('gives links as a header can hold them', async () => {
    const version = { ...dates, link: 'HTTPS://a.test/old–new ' };
    const file = await write(JSON.stringify({ version }));
    const { deprecations } = parseConfig({ ...valid, DEPRECATIONS_FILE: file });
    expect(deprecations.version?.link).toBe('https://a.test/old%E2%80%93new');
  });

  it.each([
    ['no JSON', '{', 'names a file without JSON'],
    ['no object', '[]', 'its top'],
    ['another field', { versions: null }, 'its top'],
    [
      'a day that does not exist',
      { version: { ...dates, since: '2027-02-29' } },
      'version > since',
    ],
    ['a date with a time', { version: { ...dates, sunset: '2028-01-01T00:00Z' } }, 'sunset'],
    [
      'less than a year',
      { operations: { 'GET /me': { ...dates, since: '2027-01-02' } } },
      'GET /me',
    ],
    ['a link to nowhere', { version: { ...dates, link: '/docs' } }, 'version > link'],
    [
      'a name that objects have',
      `{"operations":{"__proto__":${JSON.stringify(dates)}}}`,
      '__proto__',
    ],
    ['it at the top', '{"__proto__":{}}', '__proto__'],
    ['it in a deprecation', '{"operations":{"GET /me":{"__proto__":{}}}}', '__proto__'],
  ])('is refused with %s', async (_what, contents, says) => {
    const file = await write(typeof contents === 'string' ? contents : JSON.stringify(contents));
    expect(faultsOf({ DEPRECATIONS_FILE: file })).toEqual([
      expect.stringMatching(new RegExp(`^DEPRECATIONS_FILE .*${says}`)),
    ]);
  });

  it.each(['constructor', 'toString', 'hasOwnProperty', 'GET /users ', '', '0'])(
    'is refused with the operation %j, which does not exist',
    async (name) => {
      const file = await write(`{"operations":{${JSON.stringify(name)}:${JSON.stringify(dates)}}}`);
      const { deprecations } = parseConfig({ ...valid, DEPRECATIONS_FILE: file });
      const existing = [{ method: 'GET', path: '/users' }];
      expect(() => requireOperations(deprecations, existing)).toThrow(/no operation of v1/);
    },
  );
});

describe('secrets in files', () => {
  const [secret, other, third] = ['a', 'b', 'c'].map((letter) => letter.repeat(40));
  const url = 'postgres://u:p@host/app';
  const without = (env: Record<string, string>): string[] => {
    try {
      parseConfig(env);
    } catch (error) {
      return (error as { faults: string[] }).faults;
    }
    return [];
  };

  it('are read for each setting that holds one, without the newline at the end', async () => {
    const config = parseConfig({
      DATABASE_URL_FILE: await write(`${url}\n`),
      APP_SECRET_FILE: await write(`${secret}\r\n`),
      APP_SECRET_PREVIOUS_FILE: await write(`${other}`),
      APP_AUTH_SECRET_FILE: await write(`${third} \n\n`),
      SMTP_URL_FILE: await write('smtps://user:password@mail'),
      OTEL_EXPORTER_OTLP_HEADERS_FILE: await write('authorization=Bearer%20token\n'),
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      APP_SECRET: '',
    });
    expect(config).toMatchObject({
      databaseUrl: url,
      appSecret: secret,
      appSecretPrevious: other,
      appAuthSecret: `${third} \n`,
      smtpUrl: 'smtps://user:password@mail',
      tracing: { headers: 'authorization=Bearer%20token' },
    });
  });

  it('stand in for the setting where production requires it', async () => {
    const env = { ...valid, NODE_ENV: 'production', SMTP_URL_FILE: await write('smtp://mail') };
    expect(parseConfig(env, { mail: true }).smtpUrl).toBe('smtp://mail');
  });

  it('are no second value of the setting', async () => {
    const faults = faultsOf({ APP_SECRET_FILE: await write(String(secret)) });
    expect(faults).toEqual(['APP_SECRET must not be set together with APP_SECRET_FILE']);
  });

  it.each([
    ['no file', () => '/nowhere/hunter2', 'cannot be read (ENOENT)'],
    ['a folder', () => import.meta.dirname, 'cannot be read (EISDIR)'],
    ['an empty file', () => write(''), 'is empty'],
    ['a blank file', () => write(' \n'), 'is empty'],
  ])('are refused with %s, by name and only once', async (_what, find, says) => {
    const path = await find();
    expect(without({ DATABASE_URL: url, APP_SECRET_FILE: path })).toEqual([
      `APP_SECRET_FILE names a file that ${says}`,
    ]);
    const mail = { ...valid, NODE_ENV: 'production', SMTP_URL_FILE: path };
    expect(() => parseConfig(mail, { mail: true })).toThrow(/SMTP_URL_FILE names a file/);
    expect(() => parseConfig(mail, { mail: true })).not.toThrow(/SMTP_URL is required|hunter2/);
    const migrating = () => withSecretFiles({ DATABASE_URL_FILE: path }, ['DATABASE_URL']);
    expect(migrating).toThrow(`DATABASE_URL_FILE names a file that ${says}`);
  });

  it('are held to the rules of the setting, and not shown', async () => {
    const env = {
      DATABASE_URL_FILE: await write('mysql://hunter2'),
      APP_SECRET_FILE: await write('hunter2'),
    };
    expect(without(env)).toEqual([
      expect.stringMatching(/^DATABASE_URL, from DATABASE_URL_FILE, is required/),
      'APP_SECRET, from APP_SECRET_FILE, must have at least 32 characters',
    ]);
  });

  it('are read only as far as an entry needs them', async () => {
    const env = { DATABASE_URL_FILE: await write(url), APP_SECRET_FILE: '/nowhere' };
    expect(withSecretFiles(env, ['DATABASE_URL'])['DATABASE_URL']).toBe(url);
  });
});

it.each([
  ['APP_SECRET_FIEL', 'APP_SECRET_FILE'],
  ['DATABASE_URL_FILES', 'DATABASE_URL_FILE'],
  ['DATABASE_POOL_MXA', 'DATABASE_POOL_MAX'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['SMTP_URLS', 'SMTP_URL'],
  ['APP_SECRTE_PREVIOUS', 'APP_SECRET_PREVIOUS'],
])('%s is named as a misspelt %s', (name, meant) => {
  expect(findMisspelt({ PATH: '/bin', [name]: '1' })).toEqual([{ name, meant }]);
});

it.each([
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'APP_SECRET_PREVIOUS_FILE',
  'HOSTS',
  'PORTS',
  'PATH',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'POSTGRES_PASSWORD',
  'NODE_OPTIONS',
  'LOG_FORMAT',
])('%s is not taken for a misspelt setting', (name) => {
  expect(findMisspelt({ [name]: '1' })).toEqual([]);
});

// What the command prints, and which options it takes.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { API_PATH } from '../../src/client/base-url.ts';
import { PLAY_FIELDS, readOptions, UsageError } from '../../src/client/command-options.ts';
import { forward, isAccepted } from '../../src/client/forward.ts';
import { secretFile } from '../../src/client/kept-secret.ts';
import { hasColors, toJson, toLine } from '../../src/client/output.ts';
import { toText } from '../../src/client/play.ts';
import { PLAY_FIELDS as FIELDS } from '../../src/features/sandbox/play-rules.ts';
import { simulateInput } from '../../src/features/sandbox/play-schema.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';

const EVENT = { id: 'evt_1', type: 'ping', created_at: '2026-11-02T09:22:00.000Z' };
const forwarded = (status: number | null, response = '') => ({
  event: EVENT,
  status,
  error: status === null ? 'ECONNREFUSED' : null,
  ms: 12,
  response,
});

test('a redirect of the receiver is its answer: what it leads to gets nothing', async () => {
  const paths: unknown[] = [];
  const receiver = createServer(({ url }, response) => {
    paths.push(url);
    response.writeHead(307, { location: '/elsewhere' }).end('moved');
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  onTestFinished(() => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const forwarded = await forward(EVENT, `http://127.0.0.1:${port}/hook`, 'whsec_x');
  expect(forwarded).toMatchObject({ status: 307, response: 'moved', error: null });
  expect(isAccepted(forwarded)).toBe(false);
  expect(paths).toEqual(['/hook']);
});

describe('a line', () => {
  it('has the time, type, id, status and milliseconds', () => {
    const line = '2026-11-02T09:22:00.000Z ping evt_1 -> 204 in 12 ms';
    expect(toLine(forwarded(204), false)).toBe(line);
    expect(toLine(forwarded(null), false)).toContain('-> ECONNREFUSED in');
    expect(toLine(forwarded(500, 'a\nb'), false)).toMatch(/ ms\n {4}a\n {4}b$/);
  });

  it.each([
    [204, 32],
    [418, 33],
    [500, 31],
    [null, 31],
  ])('shows %s in colour %s', (status, color) => {
    const line = toLine(forwarded(status), true);
    expect(line).toContain(`-> \u001b[${color}m${status ?? 'ECONNREFUSED'}\u001b[0m in`);
  });

  it('has nothing that a terminal obeys, whatever the API and the receiver say', () => {
    const event = { id: '\u001b[2J', type: '\u0007p\u202eing', created_at: '\u001b]0;x' };
    const line = toLine({ ...forwarded(200, '\u001b[31mred\u009b'), event }, false);
    expect(line).toBe(']0;x ping [2J -> 200 in 12 ms\n    [31mred');
  });

  it('of JSON is one line', () => {
    const text = toJson(forwarded(500, 'a\nb'));
    expect(text).not.toContain('\n');
    expect(JSON.parse(text)).toEqual({
      ...EVENT,
      status: 500,
      error: null,
      ms: 12,
      response: 'a\nb',
    });
  });

  it('has colours only on a terminal that wants them', () => {
    expect(hasColors(true, {})).toBe(true);
    expect(hasColors(false, {})).toBe(false);
    expect(hasColors(true, { NO_COLOR: '1' })).toBe(false);
    expect(hasColors(true, { TERM: 'dumb' })).toBe(false);
  });
});

describe('--api-url', () => {
  const apiUrlOf = (url: string) =>
    readOptions(['trigger', 'ping', '--forward-to', 'http://localhost:9', '--api-url', url], {})
      .apiUrl;

  it.each([
    ['https://api.example.com', 'https://api.example.com/api/public/v1'],
    ['https://api.example.com/', 'https://api.example.com/api/public/v1'],
    ['https://api.example.com/api/public/v1', 'https://api.example.com/api/public/v1'],
    ['https://api.example.com/api/public/v1/', 'https://api.example.com/api/public/v1'],
    ['https://example.com/team/v1', 'https://example.com/team/v1'],
  ])('%s means %s', (given, meant) => {
    expect(apiUrlOf(given)).toBe(meant);
  });

  it('has the path of the service', () => {
    expect(API_PATH).toBe(BASE_PATH);
  });
});

describe.each(['--api-url', '--forward-to'])('a wrong %s', (option) => {
  const read = (url: string) => {
    const others = option === '--api-url' ? ['--forward-to', 'http://localhost:9'] : [];
    return () => readOptions(['trigger', 'ping', ...others, option, url], {});
  };

  it('is shown', () => {
    const message = `${option} must be an http or https URL, not: localhost:3000`;
    expect(read('localhost:3000')).toThrow(new UsageError(message));
  });

  it.each([
    'https://kim:sec/ret@api.example.com',
    'kim:secret@api.example.com/v1',
    'ftp://kim:secret@api.example.com',
    'https://kim:secret@api.example.com/hook',
  ])('is not shown if it may have a password: %s', (url) => {
    expect(read(url)).toThrow(UsageError);
    expect(read(url)).toThrow(option);
    expect(read(url)).not.toThrow(/kim|sec|ret/);
  });
});

describe('--api-key', () => {
  it('that no key can be is refused, and is not shown', () => {
    const args = ['listen', '--forward-to', 'http://localhost:9'];
    const read = () => readOptions(args, { API_KEY: 'svck_live_x_SECRET\nOTHER=1' });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(/^--api-key has a space, a line break/);
    expect(read).not.toThrow('SECRET');
  });
});

it.each([
  ['1h', 3_600_000],
  ['90s', 90_000],
  ['30d', 2_592_000_000],
])('--replay %s is %s ms', (text, ms) => {
  const args = ['listen', '--api-key', 'k', '--forward-to', 'http://localhost:9'];
  expect(readOptions([...args, '--replay', text], {})).toMatchObject({ replayMs: ms });
});

it.each([{}, { WEBHOOK_SECRET: '' }])('signs with the kept secret by %j', (env) => {
  const args = ['trigger', 'ping', '--forward-to', 'http://localhost:9'];
  expect(readOptions(args, env)).toMatchObject({ secret: null });
  expect(readOptions([...args, '--secret', ''], env)).toMatchObject({ secret: null });
});

it('keeps the secret where the system keeps settings', () => {
  const end = 'team-customer-api/webhook-secret';
  expect(secretFile({ HOME: '/home/kim' }, 'linux')).toBe(`/home/kim/.config/${end}`);
  expect(secretFile({ HOME: '/home/kim', XDG_CONFIG_HOME: '/c' }, 'linux')).toBe(`/c/${end}`);
  expect(secretFile({ APPDATA: '/appdata' }, 'win32')).toBe(`/appdata/${end}`);
});

describe('trigger with a test key', () => {
  const key = { API_KEY: 'svck_test_t0_x' };
  const options = (args: string[], env: Record<string, string> = key) =>
    readOptions(['trigger', ...args], env);

  it('plays, with the fields that are given', () => {
    const given = ['training_completed', '--score', '71', '--member-id', 'mem_1', '--delay-s', '0'];
    expect(options(given)).toMatchObject({
      command: 'play',
      apiKey: key.API_KEY,
      play: 'training_completed',
      fields: { score: 71, member_id: 'mem_1', delay_s: 0 },
      isJson: false,
    });
  });

  it('has an option for each field of the API', () => {
    expect(Object.keys(PLAY_FIELDS)).toEqual([...FIELDS]);
    expect(Object.keys(simulateInput.shape)).toEqual(['play', ...FIELDS]);
    for (const [field, kind] of Object.entries(PLAY_FIELDS)) {
      const takesNumbers = simulateInput.shape[field as 'score'].safeParse(1).success;
      expect([field, takesNumbers ? 'number' : 'text']).toEqual([field, kind]);
    }
  });

  it('still posts an example where it is told to', () => {
    const args = ['evaluation.completed', '--forward-to', 'http://localhost:9'];
    expect(options(args)).toMatchObject({ command: 'trigger', events: ['evaluation.completed'] });
    expect(options(args, { API_KEY: 'svck_live_x_y' })).toMatchObject({ command: 'trigger' });
  });

  it.each([
    [['training_completed'], { API_KEY: 'svck_live_x_y' }, 'svck_test_'],
    [['training_completed'], {}, '--forward-to'],
    [['training_completed', '--score', 'high'], key, '--score must be a whole number'],
    [['training_completed', '--scores', '3'], key, '--scores'],
    [['ping', '--forward-to', 'http://localhost:9', '--score', '3'], key, '--score is for trigger'],
    [[], key, 'takes one event or play'],
  ])('refuses %j', (args, env, message) => {
    expect(() => options(args, env as Record<string, string>)).toThrow(message);
  });

  it('says what was played, in lines or in one', () => {
    const played = {
      play: 'training_completed',
      training_id: 'trn_1',
      member_id: 'mem_1',
      connection_id: null,
      events: ['training.completed', 'evaluation.completed'],
      evaluation_at: '2026-11-26T09:00:10.000Z',
      until: null,
    };
    expect(toText(played)).toBe(
      [
        'training_completed -> training.completed, evaluation.completed',
        '    training_id trn_1',
        '    member_id mem_1',
        '    evaluation_at 2026-11-26T09:00:10.000Z',
      ].join('\n'),
    );
  });
});

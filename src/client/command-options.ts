/** The options of the command for development. */
import { parseArgs } from 'node:util';
import { API_PATH, requireBaseUrl, shownOf, withApiPath } from './base-url.ts';
import { modeOf, requireApiKey } from './client.ts';
import { COMMAND } from './package-name.ts';

const DEFAULT_API_URL = 'http://localhost:3000';
const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
/** Events are kept for so long. */
const REPLAY_MAX_MS = 30 * 86_400_000;

/** The fields of a play, as `POST /sandbox/simulate` has them. */
export const PLAY_FIELDS = {
  member_id: 'text',
  user_id: 'text',
  training_id: 'text',
  assignment_id: 'text',
  situation_id: 'text',
  connection_id: 'text',
  score: 'number',
  duration_s: 'number',
  delay_s: 'number',
  for_s: 'number',
  remaining: 'number',
  reason: 'text',
  at: 'text',
} as const;
type PlayField = keyof typeof PLAY_FIELDS;
const PLAY_NAMES = Object.keys(PLAY_FIELDS) as readonly PlayField[];
const optionOf = (field: PlayField): string => field.replaceAll('_', '-');
const PLAY_OPTIONS = PLAY_NAMES.map((field) => `--${optionOf(field)}`);

export const USAGE = `Usage:
  ${COMMAND} listen --forward-to URL [--event TYPE]... [--replay TIME]
      Posts the events of your team to URL as they happen, signed like webhooks. --event chooses
      types. --replay 1h also posts those of the last hour (s, m, h or d); --since does so from a
      moment on (ISO 8601, for instance 2026-11-02T09:00:00Z). Events are kept for 30 days.
  ${COMMAND} trigger EVENT --forward-to URL
      Posts an example of the event to URL.
  ${COMMAND} trigger PLAY [--score 71]...
      With a test key: plays something in your sandbox, for instance training_completed. Your
      webhook endpoints, and listen, get its events. It takes:
      ${wrapped(PLAY_OPTIONS)}.

Options of all:
  --api-url URL    the API, with or without ${API_PATH}; or API_URL.
                   Default: ${DEFAULT_API_URL}
  --api-key KEY    or API_KEY. listen needs the scope webhooks:manage; trigger PLAY a test key
                   (svck_test_...) with sandbox:write; trigger EVENT none.
  --secret SECRET  signs what is posted; or WEBHOOK_SECRET. Default: one of your own, which is
                   shown, and kept in a file that only you can read.
  --json           prints one JSON object for each event, and everything else to stderr.

It exits with 1 if anything failed: the API, or a receiver that did not answer 2xx.`;

/** A wrong call of the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** `trigger` in a sandbox. */
export interface PlayOptions {
  readonly command: 'play';
  /** Without a slash at the end. */
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly play: string;
  readonly fields: Readonly<Partial<Record<PlayField, string | number>>>;
  readonly isJson: boolean;
}

export interface Options {
  readonly command: 'listen' | 'trigger';
  /** Without a slash at the end. */
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly forwardTo: string;
  /** null: the kept one. */
  readonly secret: string | null;
  /** The types to forward. Empty: all. */
  readonly events: readonly string[];
  /** null: what happens from now on, and in `replayMs` before. */
  readonly since: Date | null;
  readonly replayMs: number;
  readonly isJson: boolean;
}

/** Throws a {@link UsageError}. */
export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Options | PlayOptions {
  const { values, positionals } = parse(args);
  const [command, ...named] = positionals;
  if (command !== 'listen' && command !== 'trigger')
    throw new UsageError('Expected the command listen or trigger.');
  if (command === 'trigger' ? named.length !== 1 : named.length > 0)
    throw new UsageError(
      `${command} takes ${command === 'trigger' ? 'one event or play' : 'no argument'}.`,
    );
  const apiKey = readApiKey(values['api-key'] ?? env['API_KEY'] ?? '');
  const apiUrl = requireApiUrl(values['api-url'] ?? env['API_URL'] ?? DEFAULT_API_URL);
  const isJson = values.json ?? false;
  const fields = readFields(values);
  if (command === 'trigger' && values['forward-to'] === undefined) {
    if (modeOf(apiKey) !== 'test')
      throw new UsageError(
        'trigger needs --forward-to, or a test key (svck_test_...) to play in a sandbox.',
      );
    return { command: 'play', apiUrl, apiKey, play: named[0] ?? '', fields, isJson };
  }
  const [field] = PLAY_NAMES.filter((name) => fields[name] !== undefined);
  if (field !== undefined)
    throw new UsageError(`--${optionOf(field)} is for trigger with a test key.`);
  if (command === 'listen' && apiKey === '')
    throw new UsageError('listen needs an API key: --api-key or API_KEY.');
  if (values.since !== undefined && values.replay !== undefined)
    throw new UsageError('--since and --replay exclude each other.');
  return {
    command,
    apiUrl,
    apiKey,
    forwardTo: requireUrl(values['forward-to'], '--forward-to'),
    secret: values.secret || env['WEBHOOK_SECRET'] || null,
    events: command === 'trigger' ? named : (values.event ?? []),
    since: values.since === undefined ? null : requireTime(values.since),
    replayMs: values.replay === undefined ? 0 : requireDuration(values.replay),
    isJson,
  };
}

const PLAY_ARGUMENTS = Object.fromEntries(
  PLAY_NAMES.map((field) => [optionOf(field), { type: 'string' } as const]),
);

/** Throws a {@link UsageError} for a number that is none. */
function readFields(values: Readonly<Record<string, unknown>>): PlayOptions['fields'] {
  const fields: Partial<Record<PlayField, string | number>> = {};
  for (const field of PLAY_NAMES) {
    const text = values[optionOf(field)];
    if (typeof text !== 'string') continue;
    if (PLAY_FIELDS[field] === 'number' && !/^\d{1,9}$/.test(text))
      throw new UsageError(`--${optionOf(field)} must be a whole number, not: ${text}`);
    fields[field] = PLAY_FIELDS[field] === 'number' ? Number(text) : text;
  }
  return fields;
}

/** The options in lines of the usage. */
function wrapped(options: readonly string[]): string {
  const lines = [''];
  for (const option of options) {
    const last = lines.at(-1) ?? '';
    if (last.length + option.length > 80) lines.push(option);
    else lines[lines.length - 1] = last === '' ? option : `${last}, ${option}`;
  }
  return lines.join(',\n      ');
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'api-url': { type: 'string' },
        'api-key': { type: 'string' },
        'forward-to': { type: 'string' },
        secret: { type: 'string' },
        event: { type: 'string', multiple: true },
        since: { type: 'string' },
        replay: { type: 'string' },
        json: { type: 'boolean' },
        ...PLAY_ARGUMENTS,
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** An empty one is none, which `trigger EVENT` does not need. */
function readApiKey(text: string): string {
  if (text !== '') asOption('--api-key', 'apiKey', () => requireApiKey(text));
  return text;
}

function requireApiUrl(text: string): string {
  const url = requireUrl(text, '--api-url');
  return asOption('--api-url', 'baseUrl', () => requireBaseUrl(withApiPath(url)));
}

/** Refuses what `createClient` would, by the name that the command has for it. */
function asOption<T>(option: string, name: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new UsageError((error as Error).message.replace(name, option));
  }
}

function requireUrl(text: string | undefined, option: string): string {
  if (text === undefined) throw new UsageError(`${option} is missing.`);
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${option} must be an http or https URL${shownOf(text)}`);
  const { username, password, host } = new URL(text);
  if (username !== '' || password !== '')
    throw new UsageError(`${option} must not have a user or a password (${host}).`);
  return text;
}

function requireTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError('--since must be a time, ISO 8601.');
  return time;
}

function requireDuration(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? 0);
  if (ms === 0) throw new UsageError(`--replay must be a time such as 90s, 15m, 1h or 2d.`);
  if (ms > REPLAY_MAX_MS)
    throw new UsageError('--replay must be 30d at most: so long are they kept.');
  return ms;
}

/** The options of the command for development. */
import { parseArgs } from 'node:util';
import { API_PATH, requireBaseUrl, withApiPath } from './base-url.ts';
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

export const USAGE = `Usage:
  ${COMMAND} listen --forward-to URL [--event TYPE]... [--replay TIME]
      Posts the events of your team to URL as they happen, signed like webhooks. --event chooses
      types. --replay 1h also posts those of the last hour (s, m, h or d); --since does so from a
      moment on (ISO 8601, for instance 2026-11-02T09:00:00Z). Events are kept for 30 days.
  ${COMMAND} trigger EVENT --forward-to URL
      Posts an example of the event to URL.

Options of both:
  --api-url URL    the API, with or without ${API_PATH}; or API_URL.
                   Default: ${DEFAULT_API_URL}
  --api-key KEY    a key with the scope webhooks:manage; or API_KEY. trigger needs none.
  --secret SECRET  signs what is posted; or WEBHOOK_SECRET. Default: one of your own, which is
                   shown, and kept in a file that only you can read.
  --json           prints one JSON object for each event, and everything else to stderr.

It exits with 1 if anything failed: the API, or a receiver that did not answer 2xx.`;

/** A wrong call of the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
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
): Options {
  const { values, positionals } = parse(args);
  const [command, ...named] = positionals;
  if (command !== 'listen' && command !== 'trigger')
    throw new UsageError('Expected the command listen or trigger.');
  if (command === 'trigger' ? named.length !== 1 : named.length > 0)
    throw new UsageError(
      `${command} takes ${command === 'trigger' ? 'one event' : 'no'} argument.`,
    );
  const apiKey = values['api-key'] ?? env['API_KEY'] ?? '';
  if (command === 'listen' && apiKey === '')
    throw new UsageError('listen needs an API key: --api-key or API_KEY.');
  if (values.since !== undefined && values.replay !== undefined)
    throw new UsageError('--since and --replay exclude each other.');
  return {
    command,
    apiUrl: requireApiUrl(values['api-url'] ?? env['API_URL'] ?? DEFAULT_API_URL),
    apiKey,
    forwardTo: requireUrl(values['forward-to'], '--forward-to'),
    secret: values.secret ?? env['WEBHOOK_SECRET'] ?? null,
    events: command === 'trigger' ? named : (values.event ?? []),
    since: values.since === undefined ? null : requireTime(values.since),
    replayMs: values.replay === undefined ? 0 : requireDuration(values.replay),
    isJson: values.json ?? false,
  };
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
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function requireApiUrl(text: string): string {
  const url = requireUrl(text, '--api-url');
  try {
    return requireBaseUrl(withApiPath(url));
  } catch (error) {
    throw new UsageError((error as Error).message.replace('baseUrl', '--api-url'));
  }
}

function requireUrl(text: string | undefined, option: string): string {
  if (text === undefined) throw new UsageError(`${option} is missing.`);
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${option} must be an http or https URL, not: ${text}`);
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

/** The options of the command for development. */
import { parseArgs } from 'node:util';

export const USAGE = `Usage:
  team-customer-api listen --forward-to URL [--event TYPE]... [--since TIME]
      Posts the events of your team to URL as they happen, signed like webhooks. --event chooses
      types. --since also posts past events from then on (ISO 8601, for instance
      2026-11-02T09:00:00Z; events are kept for 30 days).
  team-customer-api trigger EVENT --forward-to URL
      Posts an example of the event to URL.

Options of both:
  --api-url URL    the API; or API_URL. Default: http://localhost:3000/api/public/v1
  --api-key KEY    a key with the scope webhooks:manage; or API_KEY. trigger needs none.
  --secret SECRET  signs what is posted; or WEBHOOK_SECRET. Default: a new one, which is shown.`;

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
  /** null: make one. */
  readonly secret: string | null;
  /** The types to forward. Empty: all. */
  readonly events: readonly string[];
  /** null: only what happens from now on. */
  readonly since: Date | null;
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
  const apiUrl = values['api-url'] ?? env['API_URL'] ?? 'http://localhost:3000/api/public/v1';
  return {
    command,
    apiUrl: requireUrl(apiUrl, '--api-url').replace(/\/+$/, ''),
    apiKey,
    forwardTo: requireUrl(values['forward-to'], '--forward-to'),
    secret: values.secret ?? env['WEBHOOK_SECRET'] ?? null,
    events: command === 'trigger' ? named : (values.event ?? []),
    since: values.since === undefined ? null : requireTime(values.since),
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
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function requireUrl(text: string | undefined, option: string): string {
  if (text === undefined) throw new UsageError(`${option} is missing.`);
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${option} must be an http or https URL.`);
  return text;
}

function requireTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError('--since must be a time, ISO 8601.');
  return time;
}

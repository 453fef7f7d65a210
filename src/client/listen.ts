/**
 * Follows the events of a team and posts each of them to a local receiver. It asks the API every
 * two seconds.
 */
import { refusalOf } from './ask.ts';
import { createClient } from './client.ts';
import type { Options } from './command-options.ts';
import { followEvents } from './follow-events.ts';
import { forward, isAccepted, type Forwarded } from './forward.ts';
import { toJson, toLine } from './output.ts';

/** What `listen` needs besides the options. */
export interface Terminal {
  /** A line about an event. */
  readonly print: (line: string) => void;
  /** A line about the command itself. Default: `print`. */
  readonly note?: (line: string) => void;
  readonly isColored?: boolean;
  /** Ends the loop. */
  readonly signal: AbortSignal;
  /** Between two looks. Only tests set it. */
  readonly intervalMs?: number;
}

/** Prints what became of an event. */
export function show(
  forwarded: Forwarded,
  { isJson }: Pick<Options, 'isJson'>,
  { print, isColored = false }: Terminal,
): void {
  print(isJson ? toJson(forwarded) : toLine(forwarded, isColored));
}

/**
 * Forwards events until the signal. Returns whether the receiver accepted all of them. Throws an
 * {@link ApiError} if the API refuses to list them.
 */
export async function listen(
  options: Options,
  secret: string,
  terminal: Terminal,
): Promise<boolean> {
  const { print, note = print, signal, intervalMs } = terminal;
  const { events, replayMs } = options;
  const since = options.since ?? (replayMs > 0 ? new Date(Date.now() - replayMs) : null);
  const [only, ...others] = events;
  let isWaiting = false;
  let areAccepted = true;
  const noteWait = ({ error, waitMs }: { readonly error: Error; readonly waitMs: number }): void =>
    note(`${error.message.replace(/\.$/, '')}; asking again in ${Math.ceil(waitMs / 1000)} s`);
  const { apiKey, apiUrl: baseUrl } = options;
  const client = createClient({ apiKey, baseUrl, onRetry: noteWait });
  const followed = followEvents(client, {
    signal,
    ...(intervalMs !== undefined && { intervalMs }),
    ...(since !== null && { since }),
    ...(only !== undefined && others.length === 0 && { type: only }),
    onPlace: async () => {
      if (isWaiting) return;
      isWaiting = true;
      // The API takes one type. Of several it is asked for none, and would refuse none either.
      if (others.length > 0)
        for (const type of events) await client.events.list({ type, limit: 1 }, { signal });
      note(`Waiting for events since ${since?.toISOString() ?? 'now'}`);
    },
    onOutage: noteWait,
  });
  try {
    for await (const event of followed) {
      if (events.length > 0 && !events.includes(event.type)) continue;
      const forwarded = await forward(event, options.forwardTo, secret);
      areAccepted &&= isAccepted(forwarded);
      show(forwarded, options, terminal);
    }
  } catch (error) {
    throw refusalOf(error);
  }
  return areAccepted;
}

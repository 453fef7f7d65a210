/** Plays something in a sandbox, with a test key. */
import { ask } from './ask.ts';
import type { PlayOptions } from './command-options.ts';
import type { Terminal } from './listen.ts';
import { printable } from './output.ts';

/** Prints what was played. Throws an {@link ApiError}: the API does not answer, or refuses. */
export async function play(options: PlayOptions, { print, signal }: Terminal): Promise<void> {
  const { apiKey, apiUrl, isJson } = options;
  const { body } = await ask(`${apiUrl}/sandbox/simulate`, {
    headers: { authorization: `Bearer ${apiKey}` },
    // The API checks what the play takes.
    post: { play: options.play, ...options.fields },
    signal,
  });
  print(isJson ? JSON.stringify(body) : printable(toText(body)));
}

/** The play with its events, and a line for whatever else has a value. */
export function toText({
  play: name,
  events,
  ...others
}: Readonly<Record<string, unknown>>): string {
  const raised = Array.isArray(events) && events.length > 0 ? events.join(', ') : 'no event';
  const lines = Object.entries(others)
    .filter(([, value]) => value !== null)
    .map(([field, value]) => `    ${field} ${String(value)}`);
  return [`${String(name)} -> ${raised}`, ...lines].join('\n');
}

/** Plays something in a sandbox, with a test key. */
import { refusalOf } from './ask.ts';
import { createClient } from './client.ts';
import type { PlayOptions } from './command-options.ts';
import type { Terminal } from './listen.ts';
import { printable } from './output.ts';

/** Prints what was played. Throws an {@link ApiError}: the API does not answer, or refuses. */
export async function play(options: PlayOptions, { print, signal }: Terminal): Promise<void> {
  const { apiKey, apiUrl: baseUrl, isJson } = options;
  const { sandbox } = createClient({ apiKey, baseUrl });
  // The API checks the name of the play, and what it takes.
  const input = { play: options.play, ...options.fields } as Parameters<typeof sandbox.simulate>[0];
  try {
    const played = await sandbox.simulate(input, { signal });
    print(isJson ? JSON.stringify(played) : printable(toText(played)));
  } catch (error) {
    throw refusalOf(error);
  }
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

/** Plays something in a sandbox, with a test key. */
import { ApiError } from './ask.ts';
import { createClient } from './client.ts';
import type { PlayOptions } from './command-options.ts';
import { ApiError as Refusal, ConnectionError } from './errors.ts';
import type { Terminal } from './listen.ts';
import type { SandboxSimulate } from './operations.ts';
import { printable } from './output.ts';

/** Prints what was played. Throws an {@link ApiError}: the API does not answer, or refuses. */
export async function play(options: PlayOptions, { print }: Terminal): Promise<void> {
  const { apiKey, apiUrl, isJson } = options;
  const client = createClient({ apiKey, baseUrl: apiUrl });
  // The API checks what the play takes.
  const wanted = { play: options.play, ...options.fields } as SandboxSimulate;
  const played = await client.sandbox.simulate(wanted).catch((error: unknown) => {
    if (!(error instanceof Refusal) && !(error instanceof ConnectionError)) throw error;
    throw new ApiError(error.message);
  });
  print(isJson ? JSON.stringify(played) : printable(toText(played)));
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

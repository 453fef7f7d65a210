/** The limits of what a CRM may answer, the same for all providers. */
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { providerError, type ProviderError } from './errors.ts';
import type { ProviderClient, ProviderPage } from './provider.ts';

/** The most pages of a list that is read as a whole. */
const PAGES_MAX = 200;

/** An agent that breaks off answers of more than `maxBytes` with `invalid_response`. */
export function limitedAgent(baseUrl: string | null, maxBytes: number): HttpAgent | HttpsAgent {
  const Agent = baseUrl?.startsWith('http:') ? HttpAgent : HttpsAgent;
  const agent = new Agent({ keepAlive: true });
  // The only place that sees each request of an agent. Packages that are agents use it, too.
  const open = agent as unknown as { addRequest(request: ClientRequest, ...rest: unknown[]): void };
  const addRequest = open.addRequest.bind(agent);
  open.addRequest = (request, ...rest) => {
    request.once('response', (answer: IncomingMessage) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) answer.destroy(tooLarge());
      });
    });
    addRequest(request, ...rest);
  };
  return agent;
}

/** The error for an answer that is larger than a CRM's answers are. */
export function tooLarge(): ProviderError {
  return providerError('invalid_response', { cause: 'the answer is too large' });
}

/**
 * Reads all pages of a list. `read` adds a page to what it has read and returns the next cursor.
 * Throws `invalid_response` for a cursor that comes again, and if there are too many pages.
 */
export async function readAll(
  read: (cursor: string | undefined) => Promise<string | undefined>,
): Promise<void> {
  const cursors = newCursors();
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    cursor = await read(cursor);
    if (cursor === undefined) return;
    cursors.add(cursor);
  }
  throw providerError('invalid_response', { cause: 'a list has no end' });
}

/** The client, which refuses a page whose next one it has read already: a round would not end. */
export function withEndingLists(client: ProviderClient): ProviderClient {
  const cursorsOf = new Map<string, ReturnType<typeof newCursors>>();
  const readPage: ProviderClient['readPage'] = async (list, place): Promise<ProviderPage> => {
    const page = await client.readPage(list, place);
    const cursors = cursorsOf.get(list) ?? newCursors();
    cursorsOf.set(list, cursors);
    // Where another run has stopped.
    if (place.cursor !== null) cursors.note(place.cursor);
    if (page.next !== null) cursors.add(page.next);
    return page;
  };
  return { ...client, readPage };
}

function newCursors() {
  const seen = new Set<string>();
  return {
    note: (cursor: string): void => void seen.add(cursor),
    add: (cursor: string): void => {
      if (seen.has(cursor))
        throw providerError('invalid_response', {
          refusedPlace: true,
          cause: 'a cursor comes again',
        });
      seen.add(cursor);
    },
  };
}

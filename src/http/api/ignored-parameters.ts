/**
 * The query parameters that an operation does not know. They are no error, so that v1 may add
 * some, but a misspelt filter must not be lost in silence: the header names them.
 *
 * A name is the caller's text. In the header it is percent-encoded, so it holds no line break, no
 * comma and nothing beyond ASCII. Names are bounded in number and length.
 */
import type { CompiledRoute } from './routes.ts';

export const IGNORED_HEADER = 'Svc-Ignored-Parameters';

const NAMES_MAX = 10;
const NAME_MAX_BYTES = 100;

/** Returns the names, each once, at most ten. A write knows no parameters in its query. */
export function ignoredParameters(query: string, { endpoint }: CompiledRoute): readonly string[] {
  const isKnown = (name: string): boolean =>
    (endpoint.method === 'GET' || endpoint.method === 'DELETE') &&
    Object.hasOwn(endpoint.input.shape, name) &&
    !endpoint.pathParameters.includes(name);
  const names = new Set<string>();
  for (const pair of query.split('&')) {
    const [rawName = ''] = pair.split('=', 1);
    const name = decode(rawName.replaceAll('+', ' '));
    if (name !== '' && !isKnown(name)) names.add(name);
    if (names.size === NAMES_MAX) break;
  }
  return [...names];
}

/** The text of the header. A long name is cut. */
export function ignoredHeader(names: readonly string[]): string {
  return names.map(encodeName).join(', ');
}

function encodeName(name: string): string {
  let encoded = '';
  for (const character of name) {
    const next = encoded + encodeURIComponent(character);
    if (next.length > NAME_MAX_BYTES) break;
    encoded = next;
  }
  return encoded;
}

/** What cannot be decoded stays as it is: an operation that reads it refuses it. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

import { invalidInput } from '../../core/problem.ts';
import type { CompiledRoute } from './routes.ts';

/** What is wrong with a text that cannot be decoded. */
export const UNDECODED = 'Malformed percent-encoding.';

const DIGITS = /^\d{1,9}$/;

/**
 * Puts the path parameters together with the query or the body into one object, as the input
 * schema of the procedure expects. Throws a `ZodError` for what cannot be parsed, and the errors of
 * `readBody`.
 */
export async function readInput(
  readBody: () => Promise<unknown>,
  route: CompiledRoute,
  rawParameters: readonly string[],
  query: string,
): Promise<unknown> {
  const parameters = decodeParameters(route, rawParameters);
  if (route.endpoint.method === 'GET' || route.endpoint.method === 'DELETE')
    return { ...parseQuery(query, route), ...parameters };
  const body = await readBody();
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return body === undefined && !route.endpoint.needsBody
      ? parameters
      : refuse([], 'The body must be a JSON object.', 'invalid_type');
  }
  // The body must not overwrite a path parameter.
  const smuggled = route.pathParameters.find((name) => Object.hasOwn(body, name));
  if (smuggled !== undefined)
    return refuse(['', smuggled], `Unknown field: ${smuggled}`, 'unrecognized_keys');
  // Into the body itself: a copy of one with thousands of fields would take longer than parsing it.
  return Object.assign(body, parameters);
}

function decodeParameters(
  route: CompiledRoute,
  rawParameters: readonly string[],
): Record<string, string> {
  const parameters: Record<string, string> = {};
  route.pathParameters.forEach((name, index) => {
    parameters[name] = decode(rawParameters[index] ?? '', [name]);
  });
  return parameters;
}

/**
 * Reads the declared parameters and refuses repeated ones. Other parameters are ignored, so that v1
 * may add some.
 */
function parseQuery(query: string, route: CompiledRoute): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  if (query === '') return values;
  const { shape } = route.endpoint.input;
  for (const pair of query.split('&')) {
    const [rawName = '', rawValue = ''] = pair.split(/=(.*)/s);
    const name = decode(rawName.replaceAll('+', ' '), [rawName]);
    if (!Object.hasOwn(shape, name) || route.pathParameters.includes(name)) continue;
    if (Object.hasOwn(values, name))
      return refuse([name], 'The parameter was given more than once.', 'repeated');
    const text = decode(rawValue.replaceAll('+', ' '), [name]);
    values[name] = route.numericQuery.has(name) && DIGITS.test(text) ? Number(text) : text;
  }
  return values;
}

function decode(text: string, path: readonly string[]): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text;
  } catch {
    // decodeURIComponent throws nothing but URIError.
    return refuse(path, UNDECODED, 'invalid_encoding');
  }
}

function refuse(path: readonly string[], message: string, code: string): never {
  throw invalidInput(path, message, code);
}

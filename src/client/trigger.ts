/** Posts an example of an event, which the API's own document has, to a local receiver. */
import type { Options } from './command-options.ts';
import { forward, reasonOf, type ApiEvent } from './forward.ts';
import { ApiError, type Terminal } from './listen.ts';

const TIMEOUT_MS = 30_000;

interface OpenApi {
  readonly webhooks?: Readonly<
    Record<
      string,
      {
        readonly post?: {
          readonly requestBody?: {
            readonly content?: { readonly 'application/json'?: { readonly example?: ApiEvent } };
          };
        };
      }
    >
  >;
}

/** Throws an {@link ApiError} for an event that the API does not know. */
export async function trigger(
  options: Options,
  secret: string,
  { print }: Terminal,
): Promise<void> {
  const [type = ''] = options.events;
  const { webhooks = {} } = await readDocument(options.apiUrl);
  const operation = Object.hasOwn(webhooks, type) ? webhooks[type]?.post : undefined;
  const example = operation?.requestBody?.content?.['application/json']?.example;
  if (!example)
    throw new ApiError(`No event ${type}. There are: ${Object.keys(webhooks).join(', ')}.`);
  // Receivers skip ids that they have seen.
  const id = `evt_example_${Date.now()}`;
  const event = { ...example, id, created_at: new Date().toISOString() };
  print(await forward(event, options.forwardTo, secret));
}

async function readDocument(apiUrl: string): Promise<OpenApi> {
  const response = await fetch(`${apiUrl}/openapi.v1.json`, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new ApiError(`The API does not answer (${reasonOf(error)}).`);
  });
  if (!response.ok) throw new ApiError(`The API responded with ${response.status}.`);
  return (await response.json()) as OpenApi;
}

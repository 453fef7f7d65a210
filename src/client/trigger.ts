/** Posts an example of an event, which the API's own document has, to a local receiver. */
import type { Options } from './command-options.ts';
import { ask, ApiError } from './ask.ts';
import { forward, isAccepted, type ApiEvent } from './forward.ts';
import { show, type Terminal } from './listen.ts';

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

/**
 * Returns whether the receiver accepted the event. Throws an {@link ApiError}: the API does not
 * answer, or does not know the event.
 */
export async function trigger(
  options: Options,
  secret: string,
  terminal: Terminal,
): Promise<boolean> {
  const [type = ''] = options.events;
  const body = await ask(`${options.apiUrl}/openapi.v1.json`, { signal: terminal.signal });
  const { webhooks = {} } = body as OpenApi;
  const operation = Object.hasOwn(webhooks, type) ? webhooks[type]?.post : undefined;
  const example = operation?.requestBody?.content?.['application/json']?.example;
  if (!example)
    throw new ApiError(`No event ${type}. There are: ${Object.keys(webhooks).join(', ')}.`);
  // Receivers skip ids that they have seen.
  const id = `evt_example_${Date.now()}`;
  const event = { ...example, id, created_at: new Date().toISOString() };
  const forwarded = await forward(event, options.forwardTo, secret);
  show(forwarded, options, terminal);
  return isAccepted(forwarded);
}

/**
 * Requests to a CRM without its package. They are for the check of credentials, which API processes
 * do. To load a package stops the process for up to 0.4 s, with every request in it, and takes 50
 * to 120 MB for good. So only workers do that, when they read a list.
 */
import { once } from 'node:events';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { tooLarge } from './answers.ts';
import { errorOfNetwork, isProviderError, providerError } from './errors.ts';
import type { ClientOptions } from './provider.ts';

/** The response to `send`. */
export interface PlainAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/**
 * Sends one request and reads the whole response, whatever its status. Follows no redirect: whoever
 * it leads to would get the credentials. Throws `ProviderError` only. A `body` makes it a POST.
 */
export async function send(
  url: string,
  headers: Readonly<Record<string, string>>,
  {
    timeoutMs,
    answerMaxBytes,
    body,
  }: Pick<ClientOptions, 'timeoutMs' | 'answerMaxBytes'> & { readonly body?: object },
): Promise<PlainAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const open = url.startsWith('http:') ? requestHttp : requestHttps;
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  try {
    const request = open(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', ...json, ...headers },
      signal,
    });
    request.end(body && JSON.stringify(body));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const text = await readText(response, answerMaxBytes);
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  } catch (error) {
    if (isProviderError(error)) throw error;
    throw signal.aborted ? providerError('timeout') : errorOfNetwork(error);
  }
}

/** To leave the loop by an error destroys the response. */
async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
  }
  return Buffer.concat(chunks).toString();
}

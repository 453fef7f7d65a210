import type { Request, Response } from 'express';
import { ENCODINGS, etagOf, type Resource } from './resource.ts';

/**
 * Sends the resource, or 304 if the reader has it. Browsers ask each time, because a page may
 * change with a release. They keep a file for a year if its address (`?v=`) names its content.
 */
export async function sendResource(
  request: Request,
  response: Response,
  resource: Resource,
  status = 200,
): Promise<void> {
  response.vary('Accept-Encoding');
  response.set({
    ETag: etagOf(resource),
    'Cache-Control':
      resource.isImmutable || request.query['v'] === resource.version
        ? 'public, max-age=31536000, immutable'
        : 'public, no-cache',
  });
  if (status === 200 && request.fresh) {
    response.status(304).end();
    return;
  }
  const accepted = ENCODINGS.find((one) => request.acceptsEncodings(one)) ?? 'identity';
  const encoding = resource.isShared ? accepted : 'identity';
  const body = await resource.bodyAs(encoding);
  if (encoding !== 'identity') response.set('Content-Encoding', encoding);
  response.status(status).type(resource.type).send(body);
}

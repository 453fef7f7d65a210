import type { RequestHandler } from 'express';
import helmet, { type HelmetOptions } from 'helmet';

/**
 * Sets the headers that protect a browser. There is no Strict-Transport-Security anywhere: it would
 * cover the whole host with its subdomains, so the owner of the host decides about it.
 */
export function securityHeaders(
  options: Pick<HelmetOptions, 'contentSecurityPolicy' | 'xFrameOptions'> = {},
): RequestHandler {
  return helmet({ ...options, strictTransportSecurity: false });
}

import type { RequestHandler } from 'express';
import { securityHeaders } from './security-headers.ts';

/**
 * Sets the headers of pages that load nothing from another host. Without `hostOrigins`, no page of
 * another host may show them in a frame.
 */
export function pageHeaders({
  formAction,
  hostOrigins = [],
  asked = [],
  hasFonts = false,
}: {
  readonly formAction: "'self'" | "'none'";
  readonly hostOrigins?: readonly string[];
  /** Origins of which the page asks whether they answer. */
  readonly asked?: readonly string[];
  readonly hasFonts?: boolean;
}): RequestHandler {
  return securityHeaders({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'img-src': ["'self'"],
        ...(hasFonts ? { 'font-src': ["'self'"] } : {}),
        'connect-src': ["'self'", ...asked],
        'base-uri': ["'none'"],
        'form-action': [formAction],
        'frame-ancestors': hostOrigins.length === 0 ? ["'none'"] : [...hostOrigins],
        'require-trusted-types-for': ["'script'"],
      },
    },
    // It cannot name origins. Browsers that know `frame-ancestors` do not need it.
    xFrameOptions: hostOrigins.length === 0,
  });
}

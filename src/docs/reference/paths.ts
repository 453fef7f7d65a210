/** The addresses of reference pages. They are permanent. */
import { slugOf } from '../slug.ts';

export const REFERENCE_PATH = '/docs/reference';

export function pathOfOperation(slug: string): string {
  return `${REFERENCE_PATH}/${slug}`;
}

/** `WebhookEndpoint` → `/docs/objects/webhook-endpoint`. */
export function pathOfObject(name: string): string {
  return `/docs/objects/${slugOf(name.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`))}`;
}

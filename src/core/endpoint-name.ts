/**
 * What mails call a webhook endpoint: its description, otherwise its host. Never the whole URL: its
 * path or query may hold a secret, and mails are forwarded and kept.
 */
export function endpointName({
  url,
  description,
}: {
  readonly url: string;
  readonly description: string | null;
}): string {
  return description ?? new URL(url).host;
}

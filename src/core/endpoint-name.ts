/** Nothing of it can be seen: spaces, control characters, and what has no width. */
const BLANK = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}]*$/u;

/** The text without spaces around it; null if nothing of it can be seen. */
export function visibleText(text: string | null): string | null {
  return text === null || BLANK.test(text) ? null : text.trim();
}

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

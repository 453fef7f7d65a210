/** What a text that is searched for becomes when the reader has typed it. */
export function typedFilter(
  draft: string | null,
  before: string,
): { readonly value: string | undefined } | null {
  const typed = draft?.trim();
  return typed === undefined || typed === before ? null : { value: typed || undefined };
}

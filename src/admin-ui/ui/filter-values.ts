/** What a text that is searched for becomes when the reader has typed it. */
export function typedFilter(
  draft: string | null,
  before: string,
): { readonly value: string | undefined } | null {
  const typed = draft?.trim();
  return typed === undefined || typed === before ? null : { value: typed || undefined };
}

type Option<Value extends string> = readonly [value: Value, text: string];

/** The options, and what is chosen if it is none of them: it may have been removed since. */
export function withChosen<Value extends string>(
  options: readonly Option<Value>[],
  chosen: Value | undefined,
): readonly Option<Value>[] {
  const isKnown = chosen === undefined || options.some(([one]) => one === chosen);
  return isKnown ? options : [...options, [chosen, chosen]];
}

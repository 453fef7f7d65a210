/**
 * Reads the comment below a paragraph, an entry of a list or a table of a guide that says what
 * checks a claim: the first comment is that of the first claim, and so on. A comment names one or
 * more checks:
 *
 *     <!-- test: features/webhook-connections "%i is a failure and is not followed" -->
 *
 * A check is a test (its file and its title), `run` with a function of `checks.ts`, which asks the
 * running service, or `explained`, which says why nothing can check the claim. A claim with the
 * checks of the one before has `<!-- as above -->`.
 */
export type Check =
  | { readonly kind: 'test'; readonly file: string; readonly title: string }
  | { readonly kind: 'run'; readonly name: string }
  | { readonly kind: 'explained'; readonly reason: string };

export function checksIn(comment: string): Check[] {
  if (comment === 'as above') return [];
  return comment.split(/ (?=(?:test|run|explained): )/).map((text) => {
    const [, kind, words = ''] = /^(test|run|explained): (.+)$/.exec(text) ?? [];
    if (kind === 'run') return { kind, name: words };
    if (kind === 'explained') return { kind, reason: words };
    const [, file, title] = /^([\w/.-]+) "(.+)"$/.exec(words) ?? [];
    if (kind === undefined || file === undefined || title === undefined)
      throw new Error(`Not a check: ${text}`);
    return { kind: 'test', file: `${file}.test.ts`, title };
  });
}

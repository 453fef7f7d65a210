/**
 * Reads the list of claims: `lists/<guide>.md`. An entry quotes one or more sentences of the guide
 * and says in the lines below what checks them:
 *
 *     > Redirects are not followed.
 *
 *     - features/webhook-connections: `%i is a failure and is not followed`
 *
 * A check is a test (its file and its title), `run` with a function of `checks.ts`, which asks the
 * running service, or `explained`, which says why nothing can check it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Marked, type Tokens } from 'marked';
import { withoutMarks } from './sentences.ts';

export interface Entry {
  readonly sentences: readonly string[];
  readonly checks: readonly Check[];
}

export type Check =
  | { readonly kind: 'test'; readonly file: string; readonly title: string }
  | { readonly kind: 'run'; readonly name: string }
  | { readonly kind: 'explained'; readonly reason: string };

export function readList(guide: string): Entry[] {
  const file = new URL(`lists/${guide}.md`, import.meta.url);
  // A new guide has none yet, so all of its claims lack a check.
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const tokens = new Marked().lexer(text).filter(({ type }) => type !== 'space');
  const entries: Entry[] = [];
  for (let at = 0; at < tokens.length; at += 2) {
    const [quote, list] = [tokens[at], tokens[at + 1]];
    if (quote?.type !== 'blockquote' || list?.type !== 'list')
      throw new Error(`lists/${guide}.md: a quote and a list expected at: ${quote?.raw}`);
    entries.push({
      sentences: (quote as Tokens.Blockquote).tokens.flatMap((one) =>
        one.type === 'paragraph' ? [withoutMarks((one as Tokens.Paragraph).text)] : [],
      ),
      checks: (list as Tokens.List).items.map((item) => readCheck(guide, item.text)),
    });
  }
  return entries;
}

function readCheck(guide: string, text: string): Check {
  const [, word = '', rest = ''] = /^([\w/.-]+): (.+)$/s.exec(text) ?? [];
  const words = rest.replaceAll(/\s+/g, ' ').trim();
  if (words === '') throw new Error(`lists/${guide}.md: not a check: ${text}`);
  if (word === 'run') return { kind: 'run', name: words };
  if (word === 'explained') return { kind: 'explained', reason: words };
  return { kind: 'test', file: `${word}.test.ts`, title: words.replaceAll(/^`+ ?|`+$/g, '') };
}

// The documentation, the admin page, the mails and the errors use one word for one thing.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it, test } from 'vitest';
import { LANGUAGES, type Language } from '../../src/core/language.ts';
import { PROBLEMS } from '../../src/core/problem.ts';
import { GLOSSARY } from './glossary.ts';

interface Text {
  readonly file: string;
  readonly text: string;
}

const SOURCE = join(import.meta.dirname, '../../src');
/** Names of catalog entries and of people, which a customer would have written. */
const INVENTED = /^seed\/|^features\/sandbox\/scenario|^features\/crm\/providers\/simulated/;
/** Whole files in one language. */
const LANGUAGE_OF: Readonly<Record<string, Language>> = {
  'admin-ui/i18n/de.ts': 'de',
  'admin-ui/i18n/en.ts': 'en',
  'docs/reference/german-events.ts': 'de',
};

/** Code, addresses and directives are the same in all languages. */
function proseOf(markdown: string): string {
  return (
    markdown
      // What readers ask for, in front matter.
      .replaceAll(/^search[\w ./-]*:.*(?:\n {2}.*)*$/gm, '')
      .replaceAll(/^```[\s\S]*?^```$/gm, '')
      .replaceAll(/<!--[\s\S]*?-->/g, '')
      .replaceAll(/^\{\{.*\}\}$/gm, '')
      .replaceAll(/\{\{[^}]*\}\}|`[^`]*`|\]\([^)]*\)/g, ' ')
      .replaceAll(/\s+/g, ' ')
  );
}

/** Literals below a property `de` or `en`, and all of a file in `LANGUAGE_OF`. */
function literalsOf(file: string): readonly (readonly [Language, string])[] {
  const found: (readonly [Language, string])[] = [];
  const visit = (node: ts.Node, language: Language | undefined): void => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node);
    if (isText && language && !(ts.isPropertyAssignment(node.parent) && isName(node)))
      found.push([language, node.text]);
    const name = ts.isPropertyAssignment(node) ? node.name.getText() : '';
    // What readers may ask the search for.
    if (name === 'words') return;
    const inner = LANGUAGES.find((one) => one === name) ?? language;
    node.forEachChild((child) => visit(child, inner));
  };
  const text = readFileSync(join(SOURCE, file), 'utf8');
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), LANGUAGE_OF[file]);
  return found;
}

const isName = (node: ts.Node): boolean =>
  ts.isPropertyAssignment(node.parent) && node.parent.name === node;

function textsOf(language: Language): Text[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).toSorted();
  const guides = files
    .filter((file) => /^docs\/(?:guides|pages)\/.*\.md$/.test(file))
    .filter((file) => file.includes('/de/') === (language === 'de'))
    .map((file) => ({ file, text: proseOf(readFileSync(join(SOURCE, file), 'utf8')) }));
  const programs = files
    .filter((file) => file.endsWith('.ts') && !file.includes('generated') && !INVENTED.test(file))
    .map((file) => ({
      file,
      text: literalsOf(file)
        .flatMap(([one, text]) => (one === language ? [proseOf(text)] : []))
        .join('\n'),
    }));
  const problems = Object.values(PROBLEMS).map(({ title }) => title[language]);
  return [...guides, ...programs, { file: 'core/problem.ts', text: problems.join('\n') }];
}

const whole = (words: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\w/-])(?:${words})(?![\\p{L}])`, 'giu');

describe.each(LANGUAGES)('the texts in %s', (language) => {
  const texts = textsOf(language);

  it.each(GLOSSARY.filter(({ not }) => not?.[language] !== undefined))(
    `say $${language} for $en, and none of the words that mean the same`,
    ({ not }) => {
      const others = whole(not?.[language] ?? '');
      const found = texts.flatMap(({ file, text }) =>
        [...text.matchAll(others)].map(
          ({ index }) => `${file}: ${text.slice(Math.max(0, index - 30), index + 40)}`,
        ),
      );
      expect(found).toEqual([]);
    },
  );

  it('use each word of the glossary', () => {
    const all = texts.map(({ text }) => text.toLowerCase()).join('\n');
    expect(GLOSSARY.filter((term) => !all.includes(term[language].toLowerCase()))).toEqual([]);
  });
});

test('an entry forbids none of the words of the glossary', () => {
  for (const language of LANGUAGES)
    for (const { not } of GLOSSARY)
      for (const term of GLOSSARY)
        expect(term[language]).not.toMatch(whole(not?.[language] ?? '(?!)'));
});

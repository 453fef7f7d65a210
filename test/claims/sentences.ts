/**
 * Finds the sentences of the guides that claim something that can be true or false, and the
 * comments below them that say what checks it (`comments.ts`).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Marked, type Token, type Tokens } from 'marked';

const FOLDER = new URL('../../src/docs/guides/', import.meta.url);

/** The names of the guides, without `.md`. */
export const GUIDES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -'.md'.length))
  .toSorted();

/** A paragraph, an entry of a list or a table, with the comments that follow it. */
export interface Block {
  readonly claims: readonly string[];
  readonly comments: readonly string[];
}

const NUMBERS = 'one two three four five six seven eight nine ten twelve'.split(' ');
/** Words that allow no exception. */
const STRICT = (
  'all always cannot each every exactly must never no nobody none not nothing once only same ' +
  'twice unless until while within without'
).split(' ');
/**
 * What makes a sentence a claim: a number, something in code marks (a header, a code, a field), or
 * one of these words. Other sentences explain.
 */
const CLAIM = new RegExp(`[0-9\`]|\\b(?:${[...NUMBERS, ...STRICT].join('|')})\\b`, 'i');

/** A sentence that tells the reader what to do begins like this. */
const VERBS = (
  'add ask await begin build call combine compare compute continue deploy do encode fix generate ' +
  'give handle ignore keep let log make match note pass put read refuse register reject repeat ' +
  'retry rotate see send set start store take tell to treat use wait write'
).split(' ');
const INSTRUCTION = new RegExp(`^(?:then |so )?(?:${VERBS.join('|')}) `, 'i');

export function blocksOf(guide: string): Block[] {
  const source = readFileSync(new URL(`${guide}.md`, FOLDER), 'utf8');
  return blocksIn(source.replace(/^---\n.*?\n---\n/s, ''));
}

export function blocksIn(markdown: string): Block[] {
  // A line that is a directive is no text.
  const text = markdown.replaceAll(/^\{\{\w+ ?.*\}\}$/gm, '');
  const blocks: { claims: string[]; comments: string[] }[] = [];
  const read = (tokens: readonly Token[]): void => {
    for (const token of tokens) {
      if (token.type === 'list') for (const item of (token as Tokens.List).items) read(item.tokens);
      else if (token.type === 'html')
        blocks.at(-1)?.comments.push(...commentsIn((token as Tokens.HTML).text));
      else
        blocks.push({ claims: textsOf(token).flatMap(sentencesOf).filter(isClaim), comments: [] });
    }
  };
  read(new Marked({ gfm: true }).lexer(text).filter(({ type }) => type !== 'space'));
  return blocks;
}

function commentsIn(html: string): string[] {
  return [...html.matchAll(/<!--([\s\S]*?)-->/g)].map(([, text = '']) => oneLine(text));
}

/** An instruction claims nothing, unless it has a number; nor does a question. */
function isClaim(sentence: string): boolean {
  if (!CLAIM.test(sentence) || sentence.endsWith('?')) return false;
  return !INSTRUCTION.test(sentence) || /\b\d/.test(sentence);
}

/** The text of a paragraph, or those of the rows of a table. Other tests run the samples. */
function textsOf(token: Token): string[] {
  if (token.type === 'table') return (token as Tokens.Table).rows.map(rowOf);
  return token.type === 'paragraph' || token.type === 'text' ? [(token as Tokens.Text).text] : [];
}

function rowOf(cells: readonly Tokens.TableCell[]): string {
  return cells.map(({ text }) => text).join(' – ');
}

/** A point within code marks ends no sentence. */
function sentencesOf(text: string): string[] {
  const line = withoutMarks(text);
  const ends = [...line.matchAll(/`[^`]*`|[.?!] (?=[A-Z`{“"])/g)]
    .filter(([found]) => !found.startsWith('`'))
    .map(({ index }) => index + 1);
  return [0, ...ends]
    .map((start, index) => line.slice(start, ends[index]).trim())
    .filter((sentence) => !/^\d\.$/.test(sentence));
}

/** Removes links, bold and italic marks, and line breaks. */
function withoutMarks(text: string): string {
  return oneLine(
    text
      .replaceAll(/\[([^\]]*)\]\([^)]*\)|\*\*/g, '$1')
      .replaceAll(/(?<![\w`])_([^_`]+)_(?![\w`])/g, '$1'),
  );
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

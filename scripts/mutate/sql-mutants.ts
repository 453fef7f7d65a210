// Mutants of SQL: drops one condition of a statement, turns one order around, moves one limit, or
// takes away a lock.
// Postgres's own scanner reads the text, so what stands in quotes or comments misleads nobody.
import { parseSync, scanSync } from 'libpg-query';

export interface SqlMutant {
  /** What it does, with numbered parameters all alike, so that variants of one list agree on it. */
  readonly change: string;
  readonly text: string;
}

interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const OPENING: ReadonlySet<string> = new Set(['(', '[', 'case']);
const CLOSING: ReadonlySet<string> = new Set([')', ']', 'end']);

/** Where an expression ends, unless brackets did before. */
const BORDERS: ReadonlySet<string> = new Set(
  `select distinct all from where on having when then else as join left right full inner cross
   natural group order limit offset fetch for window union except intersect returning set values do
   using filter over partition with , ;`.split(/\s+/),
);

/** What a condition follows. */
const STARTS: ReadonlySet<string> = new Set(['where', 'on', 'having', 'when']);

/** `loadModule` of libpg-query must have been awaited. */
export function findSqlMutants(text: string): SqlMutant[] {
  const tokens = scan(text);
  const edits = [...conditions(tokens), ...orders(tokens), ...limits(tokens), ...locks(tokens)];
  const seen = new Map<string, number>();
  return edits.flatMap(({ from, to, edit, kind }) => {
    const [start, end] = [tokens[from]?.start ?? 0, tokens[to - 1]?.end ?? 0];
    const original = text.slice(start, end);
    const mutated = text.slice(0, start) + edit(original) + text.slice(end);
    if (!parses(mutated)) return [];
    const change = `${kind}: ${original.replace(/\s+/g, ' ').replace(/\$\d+/g, '$n')}`;
    const count = (seen.get(change) ?? 0) + 1;
    seen.set(change, count);
    return [{ change: count === 1 ? change : `${change} (${count})`, text: mutated }];
  });
}

interface Edit extends Span {
  readonly kind: string;
  readonly edit: (original: string) => string;
}

// Not just left out: this way the parameters keep their types.
const dropFromAnd = (original: string): string => `(${original} or true)`;
const dropFromOr = (original: string): string => `(${original} and false)`;

function scan(text: string): Token[] {
  // The scanner counts bytes.
  const bytes = Buffer.from(text);
  const at = (offset: number): number => bytes.subarray(0, offset).toString().length;
  return scanSync(text)
    .tokens.filter(({ tokenName }) => !tokenName.endsWith('COMMENT'))
    .map(({ text: word, start, end }) => ({
      word: word.toLowerCase(),
      start: at(start),
      end: at(end),
    }));
}

function conditions(tokens: readonly Token[]): Edit[] {
  const found: Edit[] = [];
  for (const span of expressions(tokens)) {
    const before = tokens[span.from - 1]?.word ?? '';
    const alternatives = split(tokens, span, 'or');
    for (const alternative of alternatives) {
      const parts = split(tokens, alternative, 'and');
      if (parts.length > 1) {
        for (const part of parts.filter((each) => !isTrue(tokens, each)))
          found.push({ ...part, kind: 'drop', edit: dropFromAnd });
      }
      if (alternatives.length > 1) found.push({ ...alternative, kind: 'never', edit: dropFromOr });
    }
    const isSingle = alternatives.length === 1 && split(tokens, span, 'and').length === 1;
    if (isTrue(tokens, span)) continue;
    if (isSingle && STARTS.has(before)) found.push({ ...span, kind: 'drop', edit: dropFromAnd });
    if (isSingle && before === 'when') found.push({ ...span, kind: 'never', edit: dropFromOr });
  }
  return found;
}

/** `on true` cannot become truer. */
function isTrue(tokens: readonly Token[], { from, to }: Span): boolean {
  return to === from + 1 && tokens[from]?.word === 'true';
}

/** Conditions: spans between borders, after `where` and the like or with `and`, `or` in them. */
function expressions(tokens: readonly Token[]): Span[] {
  const found: Span[] = [];
  const begins: number[] = [0];
  const close = (to: number): void => {
    const from = begins.pop() ?? 0;
    const isCondition = STARTS.has(tokens[from - 1]?.word ?? '') && !isConflict(tokens, from);
    if (to > from && (isCondition || hasLogic(tokens, { from, to }))) found.push({ from, to });
  };
  tokens.forEach(({ word }, place) => {
    if (OPENING.has(word)) begins.push(place + 1);
    else if (CLOSING.has(word)) close(place);
    else if (BORDERS.has(word) && !isPartOfOperator(tokens, place)) {
      close(place);
      begins.push(place + 1);
    }
  });
  close(tokens.length);
  return found;
}

/** `on conflict (…) do` is no condition. */
function isConflict(tokens: readonly Token[], from: number): boolean {
  return tokens[from - 1]?.word === 'on' && tokens[from]?.word === 'conflict';
}

/** `is distinct from`, `= all (…)`, `left(…)`: words that here are no border. */
function isPartOfOperator(tokens: readonly Token[], place: number): boolean {
  const [before, here, after] = [place - 1, place, place + 1].map(
    (each) => tokens[each]?.word ?? '',
  );
  if (here === 'distinct') return before === 'is' || before === 'not';
  if (here === 'from')
    return before === 'distinct' && ['is', 'not'].includes(tokens[place - 2]?.word ?? '');
  return after === '(' && ['all', 'left', 'right'].includes(here ?? '');
}

function hasLogic(tokens: readonly Token[], span: Span): boolean {
  return split(tokens, span, 'or').length > 1 || split(tokens, span, 'and').length > 1;
}

/** The operands of `word` at the span's own depth. The `and` of `between` is none. */
function split(tokens: readonly Token[], { from, to }: Span, word: 'and' | 'or' | ','): Span[] {
  const operands: Span[] = [];
  let [begin, depth, isBetween] = [from, 0, false];
  for (let place = from; place < to; place++) {
    const here = tokens[place]?.word ?? '';
    if (OPENING.has(here)) depth += 1;
    if (CLOSING.has(here)) depth -= 1;
    if (depth > 0) continue;
    if (here === 'between') isBetween = true;
    else if (here === 'and' && isBetween) isBetween = false;
    else if (here === word) {
      operands.push({ from: begin, to: place });
      begin = place + 1;
    }
  }
  return [...operands, { from: begin, to }];
}

function orders(tokens: readonly Token[]): Edit[] {
  return tokens.flatMap(({ word }, place) => {
    if (word !== 'by' || tokens[place - 1]?.word !== 'order') return [];
    const span = { from: place + 1, to: endOfClause(tokens, place + 1) };
    return split(tokens, span, ',').map((item) => ({ ...item, kind: 'turn order', edit: turn }));
  });
}

function turn(item: string): string {
  if (/\bdesc\b/i.test(item)) return item.replace(/\bdesc\b/i, 'asc');
  return /\basc\b/i.test(item) ? item.replace(/\basc\b/i, 'desc') : `${item} desc`;
}

/** One row more: whoever notices that notices a statement without a limit, too. */
function limits(tokens: readonly Token[]): Edit[] {
  return tokens.flatMap(({ word }, place) => {
    if (word !== 'limit' && word !== 'offset') return [];
    const span = { from: place + 1, to: endOfClause(tokens, place + 1) };
    return [{ ...span, kind: 'one more', edit: (original) => `(${original}) + 1` }];
  });
}

/** Where brackets close, or the next clause begins. */
function endOfClause(tokens: readonly Token[], from: number): number {
  let depth = 0;
  for (let place = from; place < tokens.length; place++) {
    const word = tokens[place]?.word ?? '';
    if (OPENING.has(word)) depth += 1;
    if (CLOSING.has(word)) depth -= 1;
    if (depth < 0) return place;
    if (depth === 0 && ['limit', 'offset', 'for', 'rows', 'range', 'union', ';'].includes(word))
      return place;
  }
  return tokens.length;
}

const LOCK_WORDS: ReadonlySet<string> = new Set(
  'for no key update share of skip locked nowait'.split(' '),
);

function locks(tokens: readonly Token[]): Edit[] {
  return tokens.flatMap(({ word }, place) => {
    const next = tokens[place + 1]?.word ?? '';
    if (word === 'skip' && next === 'locked') return [edit('wait', { from: place, to: place + 2 })];
    if (word !== 'for' || !LOCK_WORDS.has(next)) return [];
    let to = place + 1;
    while (LOCK_WORDS.has(tokens[to]?.word ?? '') || tokens[to - 1]?.word === 'of') to += 1;
    return [edit('no lock', { from: place, to })];
  });
}

function edit(kind: string, span: Span): Edit {
  return { ...span, kind, edit: () => '' };
}

function parses(text: string): boolean {
  try {
    parseSync(text);
    return true;
  } catch {
    return false;
  }
}

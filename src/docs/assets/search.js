// The search over the documentation. The server and the browser run the same code.
import MiniSearch from 'minisearch';
import { GROUPS } from './synonyms.js';

/**
 * A section of a page.
 *
 * @typedef {object} SearchEntry
 * @property {string} path with the fragment of the section
 * @property {string} title of the page
 * @property {string} section its heading, or '' for the beginning of the page
 * @property {string} text
 * @property {string} also what readers ask for who should find it: phrases, with commas between
 */

/**
 * A section that was found, and the words for which.
 *
 * @typedef {SearchEntry & { words: readonly string[] }} Found
 */

/** How many sections are added before others get their turn. */
const CHUNK = 40;
/** From so many letters on, a word may be misspelt, in one of four letters. */
const FUZZY_FROM = 4;
const FUZZY = 0.25;
/** So many words of a query may be: to look for one takes as long as for ten others. */
const FUZZY_WORDS_MAX = 3;
/** More words than that are not looked for. */
const WORDS_MAX = 12;
/** How much a section loses that has not all of the words. */
const MISSING = 3;
/** How much a section gains that readers ask for in these words. */
const LIKE = 12;
/** Words that say nothing about what is searched for. */
const COMMON = new Set(
  (
    'a all an and api are be by can data do does download example examples for from have how ' +
    'http i in is it its long much my no not of on one or our per should team that the this to ' +
    'too use using we what when where which with work works you ' +
    'das dem den der die ein eine einen für ich im ist kann man mit oder pro und von was wie ' +
    'wird wo zu zum'
  ).split(' '),
);
/** `page`: the title at the beginning of a page, `title`: that of a section's page. */
const BOOST = { page: 14, section: 6, also: 4, title: 4, text: 1 };

/** How the documentation calls a word, by the stem of the word. */
const CALLED_HERE = new Map(
  GROUPS.flatMap(([ours = '', ...others]) => others.map((other) => [stemOf(other), ours])),
);

/** The words of the groups, by their stems. */
const NAMES = new Set(GROUPS.flat().map(stemOf));

/**
 * Makes a search over the sections. It resolves with the best ones first: those that have most of
 * the words of the query. A word that few sections have counts more.
 *
 * @param {readonly SearchEntry[]} entries
 * @returns {Promise<(query: string, limit: number) => Found[]>}
 */
export async function createSearch(entries) {
  const index = new MiniSearch({
    idField: 'path',
    fields: Object.keys(BOOST),
    extractField: (entry, field) => {
      if (field === 'page') return entry.section === '' ? titleOf(entry) : '';
      if (field === 'title') return entry.section === '' ? '' : titleOf(entry);
      return entry[field];
    },
    tokenize: wordsOf,
    processTerm: stemOf,
    searchOptions: { tokenize: (word) => [word], bm25: { k: 1.2, b: 0.5, d: 0.5 } },
  });
  await index.addAllAsync(entries, { chunkSize: CHUNK });
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  const likenessTo = compareWith(entries);
  /** @type {(query: import('minisearch').Query) => ReadonlySet<string>} */
  const find = (query) => new Set(index.search(query).map(({ id }) => id));
  return (query, limit) => {
    let fuzzyWords = 0;
    /** @type {(word: string) => Weighted} */
    const weigh = (word) => {
      const exact = queryOf(word, CALLED_HERE.get(stemOf(word)));
      const isUnknown = fuzzyWords < FUZZY_WORDS_MAX && find(exact).size === 0;
      if (isUnknown) fuzzyWords += 1;
      const asked = isUnknown ? misspelt(word) : exact;
      const found = find(asked);
      return { query: asked, found, weight: Math.log(1 + entries.length / (1 + found.size)) };
    };
    const likeness = likenessTo(query);
    const words = wantedWords(asWritten(wordsOf(query).slice(0, 2 * WORDS_MAX))).map(weigh);
    const whole = words.reduce((sum, { weight }) => sum + weight, 0);
    /** @type {(path: string) => number} */
    const shareOf = (path) =>
      words.reduce((sum, { found, weight }) => sum + (found.has(path) ? weight : 0), 0) / whole;
    return index
      .search(
        { combineWith: 'OR', queries: words.map((word) => word.query) },
        {
          boostDocument: (path) =>
            weightOf(path) * shareOf(path) ** MISSING * (1 + LIKE * (likeness.get(path) ?? 0) ** 2),
        },
      )
      .slice(0, limit)
      .flatMap(({ id, terms }) => {
        const entry = byPath.get(id);
        return entry ? [{ ...entry, words: terms }] : [];
      });
  };
}

/**
 * The title of the page. The name of an object is found by its words.
 *
 * @param {SearchEntry} entry
 */
function titleOf({ path, title }) {
  return path.startsWith('/docs/objects/') ? title.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ') : title;
}

/**
 * Compares a query with what readers ask for, phrase by phrase: 1 is the same words, 0 no common
 * one. A word that few phrases have counts more.
 *
 * @param {readonly SearchEntry[]} entries
 * @returns {(query: string) => ReadonlyMap<string, number>} by path
 */
function compareWith(entries) {
  const asked = entries.flatMap(({ path, also }) =>
    also.split(', ').map((phrase) => ({ path, words: meaningOf(phrase) })),
  );
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const word of asked.flatMap(({ words }) => words))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  /** @type {(words: readonly string[]) => number} */
  const weightOfAll = (words) =>
    words.reduce(
      (sum, word) => sum + Math.log(1 + asked.length / (1 + (counts.get(word) ?? 0))),
      0,
    );
  const phrases = asked.map((one) => ({ ...one, weight: weightOfAll(one.words) }));
  return (query) => {
    const wanted = meaningOf(query);
    const whole = weightOfAll(wanted);
    /** @type {Map<string, number>} */
    const best = new Map();
    for (const { path, words, weight } of phrases) {
      const common = words.filter((word) => wanted.includes(word));
      if (common.length === 0) continue;
      const likeness = weightOfAll(common) / Math.sqrt(weight * whole);
      best.set(path, Math.max(likeness, best.get(path) ?? 0));
    }
    return best;
  };
}

/**
 * The words of a text, as the documentation calls them.
 *
 * @param {string} text
 */
function meaningOf(text) {
  const words = wantedWords(wordsOf(text)).flatMap((word) => {
    const other = CALLED_HERE.get(stemOf(word));
    return other ? wordsOf(other).map(stemOf) : [stemOf(word)];
  });
  return [...new Set(words)];
}

/**
 * What a word of a query looks for, and the sections that have it.
 *
 * @typedef {object} Weighted
 * @property {import('minisearch').QueryCombination} query
 * @property {ReadonlySet<string>} found
 * @property {number} weight
 */

/**
 * How much a page says about what its words name: a guide explains what the reference, an event or
 * an error only names, and what a recipe or a library uses.
 *
 * @type {readonly (readonly [pages: RegExp, weight: number])[]}
 */
const WEIGHTS = [
  [/^\/docs\/changelog#/, 0.02],
  [/^\/docs\/reference\/.*#/, 0.9],
  [/^\/docs\/(?:de\/)?objects/, 0.5],
  [/^\/docs\/(?:de\/)?events#/, 1],
  [/^\/docs\/(?:de\/)?(?:automation|client|joiners|low-score|nightly|power-bi|python)/, 1],
  [/^\/docs\/(?:de\/)?(?:reference|errors#|version)/, 1.2],
  [/^\/docs(?:\/de)?(?:#|$)/, 3],
];
const WEIGHT_OF_A_GUIDE = 1.9;

/** @param {string} path */
function weightOf(path) {
  return WEIGHTS.find(([pages]) => pages.test(path))?.[1] ?? WEIGHT_OF_A_GUIDE;
}

/**
 * The first words of a query that say something; the first ones at all if none does.
 *
 * @param {readonly string[]} words
 */
function wantedWords(words) {
  const wanted = words.filter((word) => !COMMON.has(word));
  return [...new Set(wanted.length > 0 ? wanted : words)].slice(0, WORDS_MAX);
}

/**
 * The words as the documentation writes them: `time out` and `web hook` are one.
 *
 * @param {readonly string[]} words
 * @returns {string[]}
 */
function asWritten([first, ...rest]) {
  if (first === undefined) return [];
  const [second, ...others] = rest;
  return second !== undefined && NAMES.has(stemOf(first + second))
    ? [first + second, ...asWritten(others)]
    : [first, ...asWritten(rest)];
}

/**
 * Looks for a word as the beginning of a word, and for what the documentation calls it.
 *
 * @param {string} word
 * @param {string} [other]
 * @returns {import('minisearch').QueryCombination}
 */
function queryOf(word, other = '') {
  return {
    combineWith: 'OR',
    queries: [
      { queries: [word], boost: BOOST, prefix: word.length > 2 },
      { queries: wordsOf(other), combineWith: 'AND', boost: BOOST },
    ],
  };
}

/**
 * A word that no section has may be a misspelt one.
 *
 * @param {string} word
 * @returns {import('minisearch').QueryCombination}
 */
function misspelt(word) {
  const fuzzy = word.length >= FUZZY_FROM && !/^\d/.test(word) ? FUZZY : false;
  return { combineWith: 'OR', queries: [{ queries: [word], boost: BOOST, fuzzy }] };
}

/**
 * The part of the text around the first of the words for which it was found.
 *
 * @param {Found} found
 */
export function excerpt({ text, words }) {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const first = places.length > 0 ? Math.min(...places) : 0;
  const start = first > 60 ? text.indexOf(' ', first - 60) + 1 : 0;
  const part = text.slice(start, start + 140);
  return `${start > 0 ? '… ' : ''}${part}${start + 140 < text.length ? ' …' : ''}`;
}

/**
 * What forms of a word share: `missed` is found by `missing`, `paginate` by `pagination`,
 * `cancelled` by `cancel`, and the other way round.
 *
 * @param {string} word
 */
function stemOf(word) {
  return word
    .replace(/ies$/, 'y')
    .replace(/([^s]{3,})s$/, '$1')
    .replace(/(.{4,})(?:ing|ed|ion)$/, '$1')
    .replace(/(.{4,})e$/, '$1')
    .replace(/(.{3,})([b-df-hj-np-tv-z])\2$/, '$1$2');
}

/** @param {string} text */
function wordsOf(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  // `member_detail_enabled` is found by `detail`, too.
  return words.flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : [word]));
}

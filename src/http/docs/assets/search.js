// The search over the documentation. The server and the browser run the same code.
import MiniSearch from 'minisearch';
import { synonymOf } from './synonyms.js';

/**
 * A section of a page.
 *
 * @typedef {object} SearchEntry
 * @property {string} path with the fragment of the section
 * @property {string} title of the page
 * @property {string} section its heading, or '' for the beginning of the page
 * @property {string} text
 */

/**
 * A section that was found, and the words for which.
 *
 * @typedef {SearchEntry & { words: readonly string[] }} Found
 */

/** How many sections are added before others get their turn. */
const CHUNK = 40;
/** From so many letters on, a word may be misspelt. */
const FUZZY_FROM = 5;
/** How much a section loses that has not all of the words. */
const MISSING = 3;
/** Words that say nothing about what is searched for. */
const COMMON = new Set(
  (
    'a all an and api are be by can data do does download example examples for from have how ' +
    'http i in is it its long much my no not of on or our per sample samples should team that ' +
    'the this to too use using we what when where which with you'
  ).split(' '),
);
/** `page`: the title at the beginning of a page, `title`: that of a section's page. */
const BOOST = { page: 9, section: 6, title: 1.5, text: 1 };
const OTHER_WORD = 0.6;
const OTHER_BOOST = Object.fromEntries(
  Object.entries(BOOST).map(([field, boost]) => [field, boost * OTHER_WORD]),
);

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
      if (field === 'page') return entry.section === '' ? entry.title : '';
      if (field === 'title') return entry.section === '' ? '' : entry.title;
      return entry[field];
    },
    tokenize: wordsOf,
    processTerm: stemOf,
  });
  await index.addAllAsync(entries, { chunkSize: CHUNK });
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  /** @type {(word: Wanted) => Weighted} */
  const weigh = (word) => {
    const paths = new Set(index.search(word.query).map(({ id }) => id));
    const query = paths.size > 0 ? word.query : { ...word.query, queries: [misspelt(word)] };
    const found = paths.size > 0 ? paths : new Set(index.search(query).map(({ id }) => id));
    return { query, found, weight: Math.log(1 + entries.length / (1 + found.size)) };
  };
  return (query, limit) => {
    const words = wantedWords(query).map(weigh);
    const whole = words.reduce((sum, { weight }) => sum + weight, 0);
    /** @type {(path: string) => number} */
    const shareOf = (path) =>
      words.reduce((sum, { found, weight }) => sum + (found.has(path) ? weight : 0), 0) / whole;
    return index
      .search(
        { combineWith: 'OR', queries: words.map((word) => word.query) },
        { boostDocument: (path) => weightOf(path) * shareOf(path) ** MISSING },
      )
      .slice(0, limit)
      .flatMap(({ id, terms }) => {
        const entry = byPath.get(id);
        return entry ? [{ ...entry, words: terms }] : [];
      });
  };
}

/**
 * A word of a query, and what it looks for.
 *
 * @typedef {{ word: string, query: import('minisearch').QueryCombination }} Wanted
 */

/**
 * The same with the sections that have the word.
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
  [/^\/docs\/(?:de\/)?(?:events#|objects)/, 0.6],
  [/^\/docs\/(?:de\/)?(?:reference|errors#|version)/, 1],
  [/^\/docs\/(?:de\/)?(?:automation|client|joiners|low-score|nightly|power-bi|python)/, 1.1],
  [/^\/docs(?:\/de)?(?:#|$)/, 2],
];
const WEIGHT_OF_A_GUIDE = 1.7;

/** @param {string} path */
function weightOf(path) {
  return WEIGHTS.find(([pages]) => pages.test(path))?.[1] ?? WEIGHT_OF_A_GUIDE;
}

/**
 * The words of a query that say something, each as the beginning of a word or as another word for
 * it.
 *
 * @param {string} query
 * @returns {Wanted[]}
 */
function wantedWords(query) {
  const words = [...new Set(wordsOf(query))];
  const wanted = words.filter((word) => !COMMON.has(word));
  return (wanted.length > 0 ? wanted : words).map((word) => ({
    word,
    query: {
      combineWith: 'OR',
      queries: [
        { queries: [word], boost: BOOST, prefix: word.length > 2 },
        { queries: wordsOf(synonymOf(word) ?? ''), combineWith: 'AND', boost: OTHER_BOOST },
      ],
    },
  }));
}

/**
 * A word that no section has may be a misspelt one.
 *
 * @param {Wanted} wanted
 */
function misspelt({ word }) {
  const fuzzy = word.length >= FUZZY_FROM && !/\d/.test(word) ? 0.2 : false;
  return { queries: [word], boost: BOOST, fuzzy };
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
 * What forms of a word share: `missed` is found by `missing`, `changes` by `change`, and the other
 * way round.
 *
 * @param {string} word
 */
function stemOf(word) {
  return word
    .replace(/ies$/, 'y')
    .replace(/([^s]{3,})s$/, '$1')
    .replace(/(.{4,})(?:ing|ed)$/, '$1')
    .replace(/(.{4,})e$/, '$1');
}

/** @param {string} text */
function wordsOf(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  // `member_detail_enabled` is found by `detail`, too.
  return words.flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : [word]));
}

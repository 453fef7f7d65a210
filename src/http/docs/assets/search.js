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
const CHANGELOG = '/docs/changelog#';
/** Words that say nothing about what is searched for. */
const COMMON = new Set(
  'a an and are by can do does for from how i in is it my of on or the to what when with'.split(
    ' ',
  ),
);
/** `page`: the title at the beginning of a page, `title`: that of a section's page. */
const BOOST = { page: 9, section: 6, title: 1.5, text: 1 };
const OTHER_WORD = 0.6;
const OTHER_BOOST = Object.fromEntries(
  Object.entries(BOOST).map(([field, boost]) => [field, boost * OTHER_WORD]),
);

/**
 * Makes a search over the sections. It resolves with the best ones first. If none has every word of
 * the query, those that have some of them are found.
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
    processTerm: singularOf,
  });
  await index.addAllAsync(entries, { chunkSize: CHUNK });
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  /** @type {(query: string, limit: number, combineWith: 'AND' | 'OR') => Found[]} */
  const find = (query, limit, combineWith) =>
    index
      .search(
        { combineWith, queries: queriesOf(query) },
        {
          boostDocument: weightOf,
          // Its long sections have every word.
          filter: ({ id }) => combineWith === 'OR' || !id.startsWith(CHANGELOG),
        },
      )
      .slice(0, limit)
      .flatMap(({ id, terms }) => {
        const entry = byPath.get(id);
        return entry ? [{ ...entry, words: terms }] : [];
      });
  return (query, limit) => {
    const found = find(query, limit, 'AND');
    return found.length > 0 ? found : find(query, limit, 'OR');
  };
}

/**
 * A guide explains what a page of the reference, an error or an old change only names.
 *
 * @param {string} path
 */
function weightOf(path) {
  if (path.startsWith(CHANGELOG)) return 0.3;
  return /^\/docs\/(?:reference|objects|events|errors#|versioning)/.test(path) ? 1 : 1.7;
}

/**
 * For each word of the query: itself, as the beginning of a word or misspelt, or another word for
 * it.
 *
 * @param {string} query
 */
function queriesOf(query) {
  const words = [...new Set(wordsOf(query))];
  const wanted = words.filter((word) => !COMMON.has(word));
  return (wanted.length > 0 ? wanted : words).map((word) => ({
    combineWith: /** @type {const} */ ('OR'),
    queries: [
      {
        queries: [word],
        boost: BOOST,
        prefix: word.length > 2,
        fuzzy: word.length >= FUZZY_FROM && !/\d/.test(word) ? 0.2 : false,
      },
      {
        queries: wordsOf(synonymOf(word) ?? ''),
        combineWith: /** @type {const} */ ('AND'),
        boost: OTHER_BOOST,
      },
    ],
  }));
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
 * `webhooks` is found by `webhook`, and the other way round.
 *
 * @param {string} word
 */
function singularOf(word) {
  return word.replace(/ies$/, 'y').replace(/([^s]{3,})s$/, '$1');
}

/** @param {string} text */
function wordsOf(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  // `member_detail_enabled` is found by `detail`, too.
  return words.flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : [word]));
}

// The search over the documentation. The server and the browser run the same code.

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
 * Returns the sections that contain every word of the query, the best first. A word matches the
 * beginning of a word.
 *
 * @param {readonly SearchEntry[]} entries
 * @param {string} query
 * @param {number} limit
 * @returns {SearchEntry[]}
 */
export function search(entries, query, limit) {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

/**
 * The part of the text around the first word of the query that it contains.
 *
 * @param {SearchEntry} entry
 * @param {string} query
 */
export function excerpt({ text }, query) {
  const lower = text.toLowerCase();
  const found = wordsOf(query).map((word) => lower.indexOf(word));
  const first = Math.max(0, Math.min(...found.filter((position) => position >= 0)));
  const start = Number.isFinite(first) && first > 60 ? text.indexOf(' ', first - 60) + 1 : 0;
  const part = text.slice(start, start + 140);
  return `${start > 0 ? '… ' : ''}${part}${start + 140 < text.length ? ' …' : ''}`;
}

/**
 * @param {SearchEntry} entry
 * @param {string[]} words
 */
function scoreOf(entry, words) {
  const { title, section, text } = partsOf(entry);
  let score = 0;
  for (const word of words) {
    const best = Math.max(
      weigh(section, word, 12),
      weigh(title, word, entry.section === '' ? 14 : 5),
      weigh(text, word, 1),
    );
    if (best === 0) return 0;
    score += best;
  }
  return score;
}

/**
 * @param {string[]} text
 * @param {string} word
 * @param {number} weight
 */
function weigh(text, word, weight) {
  if (text.includes(word)) return text.length === 1 ? weight * 2 : weight * 1.5;
  return text.some((one) => one.startsWith(word)) ? weight : 0;
}

/** @type {WeakMap<SearchEntry, Record<'title' | 'section' | 'text', string[]>>} */
const known = new WeakMap();

/**
 * The words of an entry, made once.
 *
 * @param {SearchEntry} entry
 */
function partsOf(entry) {
  const parts = known.get(entry) ?? {
    title: wordsOf(entry.title),
    section: wordsOf(entry.section),
    text: wordsOf(entry.text),
  };
  known.set(entry, parts);
  return parts;
}

/** @param {string} text */
function wordsOf(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  // `member_detail_enabled` is found by `detail`, too.
  return words.flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : [word]));
}

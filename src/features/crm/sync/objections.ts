/**
 * What counts as an objection: the reason why a deal was lost, and a note on a deal that begins
 * with the connection's marker. Category and language are guessed from short word lists.
 */
import { Tokenizer } from 'htmlparser2';
import type { Language } from '../../../core/language.ts';
import type { ObjectionCategory } from '../../../core/vocabularies.ts';
import { cut } from '../providers/values.ts';
import { OBJECTION_MAX_CHARACTERS } from '../rules.ts';

export interface ObjectionText {
  readonly category: ObjectionCategory;
  readonly text: string;
  readonly lang: Language;
}

/** The first match counts; without one the category is `other`. */
const CATEGORIES: readonly (readonly [ObjectionCategory, RegExp])[] = [
  ['budget', /budget|no money|funding|kein geld|haushalt/i],
  ['price', /pric|cost|expensive|cheap|discount|preis|teuer|kosten|günstig|rabatt/i],
  [
    'competitor',
    /compet|another vendor|other vendor|alternative|wettbewerb|konkurren|mitbewerb|anbieter/i,
  ],
  ['timing', /timing|too early|too late|not now|later|postpone|next (year|quarter)/i],
  ['timing', /zeitpunkt|zu früh|zu spät|später|verschoben|nächstes (jahr|quartal)/i],
  [
    'authority',
    /decision|decider|authority|management|board|entscheid|geschäftsführung|vorstand|chef/i,
  ],
  ['product', /feature|function|missing|integration|product|quality/i],
  ['product', /funktion|fehlt|produkt|qualität|schnittstelle/i],
  ['trust', /trust|security|privacy|reference|vertrau|sicherheit|datenschutz|referenz/i],
  ['need', /no need|need|interest|priority|bedarf|interesse|priorität|brauch/i],
];

const STOP_WORDS: Readonly<Record<Language, ReadonlySet<string>>> = {
  de: new Set(
    (
      'aber als auch auf aus bei das dass dem den der des die doch ein eine einen er es für ' +
      'haben hat ich im in ist kein keine mit nach nicht noch nur oder sie sind so und uns von ' +
      'war wir wird zu zum zur'
    ).split(' '),
  ),
  en: new Set(
    (
      'a an and are as at but by do does for from had has have he i in is it its no not of on ' +
      'or our she so that the their them they this to too us was we were will with you'
    ).split(' '),
  ),
};

/** The text with its guessed category and language. */
export function describeObjection(whole: string): ObjectionText {
  const text = cut(whole, OBJECTION_MAX_CHARACTERS);
  const category = CATEGORIES.find(([, words]) => words.test(text))?.[0] ?? 'other';
  return { category, text, lang: detectLanguage(text) };
}

/** The language with more stop words. In a draw: German by letters or a few words, else English. */
export function detectLanguage(text: string): Language {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const count = (language: Language): number =>
    words.filter((word) => STOP_WORDS[language].has(word)).length;
  const lead = count('de') - count('en');
  if (lead !== 0) return lead > 0 ? 'de' : 'en';
  return /[äöüß]/i.test(text) || /\b(preis|teuer|zeitpunkt|wettbewerb|bedarf)/i.test(text)
    ? 'de'
    : 'en';
}

/** The text after the marker; null if the note is no objection. */
export function objectionInNote(html: string, marker: string): string | null {
  const text = plainText(html);
  const begin = oneLine(marker);
  if (!text.toLowerCase().startsWith(begin.toLowerCase())) return null;
  const objection = text.slice(begin.length).replace(/^[\s:–-]+/u, '');
  return objection === '' ? null : cut(objection, OBJECTION_MAX_CHARACTERS);
}

/** Elements whose text is not shown to a reader. */
const HIDDEN = ['script', 'style'];
/** Elements that begin a line or a cell. All others, such as bold text, may stand in a word. */
const BREAKING = new Set(
  (
    'address article aside blockquote br caption dd details div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol option p pre section summary ' +
    'table tbody td tfoot th thead tr ul'
  ).split(' '),
);
const ignore = (): void => undefined;

/**
 * The text of a note's HTML on one line. Takes time in proportion to its length, whatever it holds.
 * The package's parser does not: it looks for the opening tag of each closing one.
 */
function plainText(html: string): string {
  const texts: string[] = [];
  let isHidden = false;
  const nameAt = (start: number, end: number): string => html.slice(start, end).toLowerCase();
  const breakAt = (name: string): void => {
    if (BREAKING.has(name)) texts.push(' ');
  };
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => {
        if (!isHidden) texts.push(html.slice(start, end));
      },
      ontextentity: (codepoint) => texts.push(String.fromCodePoint(codepoint)),
      onopentagname: (start, end) => {
        const name = nameAt(start, end);
        isHidden = HIDDEN.includes(name);
        breakAt(name);
      },
      onclosetag: (start, end) => {
        isHidden = false;
        breakAt(nameAt(start, end));
      },
      onattribdata: ignore,
      onattribend: ignore,
      onattribentity: ignore,
      onattribname: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return oneLine(texts.join(''));
}

/** The text on one line, without what Postgres or UTF-8 cannot hold. */
function oneLine(text: string): string {
  return text.replaceAll('\0', '').replaceAll(/\s+/g, ' ').trim().toWellFormed();
}

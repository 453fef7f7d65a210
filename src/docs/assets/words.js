// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// What scripts write on pages of either language. Forms that call the API are only on English ones.
const WORDS = {
  en: {
    copy: 'Copy',
    copied: 'Copied',
    notAllowed: 'Not allowed',
    results: 'Results',
    nothing: 'Nothing found',
  },
  de: {
    copy: 'Kopieren',
    copied: 'Kopiert',
    notAllowed: 'Nicht erlaubt',
    results: 'Treffer',
    nothing: 'Nichts gefunden',
  },
};

/** The language of the page changes when its content is exchanged. */
export const words = () => WORDS[document.documentElement.lang];

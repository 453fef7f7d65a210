/** What is around the texts of the pages, in the languages in which there are pages. */
import type { Language } from '../../core/language.ts';

export interface Words {
  readonly product: string;
  readonly skip: string;
  readonly menu: string;
  readonly documentation: string;
  readonly search: string;
  readonly searchLabel: string;
  readonly theme: { readonly label: string; readonly names: Readonly<Record<Theme, string>> };
  readonly onThisPage: string;
  readonly neighbours: string;
  readonly previous: string;
  readonly next: string;
  readonly asMarkdown: string;
  /** The name of the other language, in that language. */
  readonly otherLanguage: string;
}

export type Theme = 'system' | 'light' | 'dark';

export const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    product: 'Team Customer API',
    skip: 'Skip to content',
    menu: 'Menu',
    documentation: 'Documentation',
    search: 'Search',
    searchLabel: 'Search the documentation',
    theme: { label: 'Theme', names: { system: 'as the system', light: 'light', dark: 'dark' } },
    onThisPage: 'On this page',
    neighbours: 'Neighbouring pages',
    previous: 'Previous',
    next: 'Next',
    asMarkdown: 'This page as Markdown',
    otherLanguage: 'Deutsch',
  },
  de: {
    product: 'Team Customer API',
    skip: 'Zum Inhalt',
    menu: 'Menü',
    documentation: 'Dokumentation',
    search: 'Suche',
    searchLabel: 'In der Dokumentation suchen',
    theme: { label: 'Farben', names: { system: 'wie das System', light: 'hell', dark: 'dunkel' } },
    onThisPage: 'Auf dieser Seite',
    neighbours: 'Benachbarte Seiten',
    previous: 'Zurück',
    next: 'Weiter',
    asMarkdown: 'Diese Seite als Markdown',
    otherLanguage: 'English',
  },
};

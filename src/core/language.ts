/** The languages of titles, catalog labels and mails. */
export const LANGUAGES = ['de', 'en'] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text in all languages of the service. */
export type Localized = Readonly<Record<Language, string>>;

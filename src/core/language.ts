/** The languages that titles, catalog labels and mails exist in. */
export const LANGUAGES = ['de', 'en'] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text in every language of the service. */
export type Localized = Readonly<Record<Language, string>>;

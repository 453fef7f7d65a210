export type PageLanguage = 'de' | 'en';

/** The first one that the page has. `wanted`: tags such as `de-AT`, the most wanted first. */
export function firstLanguage(wanted: readonly (string | null)[]): PageLanguage {
  const known = wanted.map((tag) => tag?.slice(0, 2)).find((tag) => tag === 'de' || tag === 'en');
  return known === 'de' ? 'de' : 'en';
}

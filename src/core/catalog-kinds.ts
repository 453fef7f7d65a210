/** The kinds of catalog entries (specification, catalog). */
export const CATALOG_KINDS = [
  'situation',
  'personality',
  'industry',
  'role',
  'methodology',
] as const;
export type CatalogKind = (typeof CATALOG_KINDS)[number];

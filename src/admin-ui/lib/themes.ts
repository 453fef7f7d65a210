export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** The theme that was kept, or that of the system. */
export function themeOf(kept: string | null): Theme {
  return THEMES.find((one) => one === kept) ?? 'system';
}

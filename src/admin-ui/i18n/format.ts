import { createFormat, type Format } from './formats.ts';
import { useLanguage } from './language.ts';
import type { PageLanguage } from './languages.ts';

const formats = new Map<PageLanguage, Format>();

/** How numbers and times are written in the language of the page. */
export function useFormat(): Format {
  const language = useLanguage();
  const format = formats.get(language) ?? createFormat(language);
  formats.set(language, format);
  return format;
}

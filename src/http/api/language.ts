import Negotiator from 'negotiator';
import { LANGUAGES, type Language } from '../../core/language.ts';

/** The language of titles and labels: German, unless the caller prefers English. */
export function negotiateLanguage(acceptLanguage: string | undefined): Language {
  if (acceptLanguage === undefined) return 'de';
  const [best] = new Negotiator({
    headers: { 'accept-language': acceptLanguage },
  } as never).languages([...LANGUAGES]);
  return best === 'en' ? 'en' : 'de';
}

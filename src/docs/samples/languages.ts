/** The languages of code samples, in the order of their tabs. */
import { csharp } from './csharp.ts';
import { curl } from './curl.ts';
import { go } from './go.ts';
import { java } from './java.ts';
import { javascript } from './javascript.ts';
import { php } from './php.ts';
import { python } from './python.ts';
import { ruby } from './ruby.ts';
import type { SampleLanguage } from './sample-request.ts';

export const DEFAULT_LANGUAGE = curl.id;

export const LANGUAGES: readonly SampleLanguage[] = [
  curl,
  javascript,
  python,
  php,
  java,
  csharp,
  go,
  ruby,
];

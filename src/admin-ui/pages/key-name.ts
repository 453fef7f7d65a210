import type { Texts } from '../i18n/en.ts';
import { IS_SANDBOX } from '../lib/mode.ts';

/** How a key is called on the page. Those of a sandbox are test keys, wherever they are named. */
export function nameOfKey(t: Texts, name: string): string {
  return IS_SANDBOX ? t.sandbox.testKey(name) : name;
}

import { useTexts } from '../i18n/language.ts';
import { mayManageKeys } from './key-right.ts';
import { useSession } from './session.ts';

/** Why the reader may not manage API keys, or null if they may. */
export function useWhyNotKeys(): string | null {
  const t = useTexts();
  return mayManageKeys(useSession()) ? null : t.common.needsRight;
}

import { useTexts } from '../i18n/language.ts';
import { mayManageKeys } from './key-right.ts';
import { useSession } from './session.ts';

/** Why the reader may not manage API keys, or null if they may. */
export function useWhyNotKeys(): string | null {
  const t = useTexts();
  return mayManageKeys(useSession()) ? null : t.common.needsRight;
}

/** Why the reader, an admin, may not call what has this access, or null if they may. */
export function useWhyNot(access: 'admins' | 'schnittstellen'): string | null {
  const whyNotKeys = useWhyNotKeys();
  return access === 'schnittstellen' ? whyNotKeys : null;
}

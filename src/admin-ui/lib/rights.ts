import { useTexts } from '../i18n/language.ts';
import { useSession } from './session.ts';

/** Why the reader may not manage API keys, or null if they may. */
export function useWhyNotKeys(): string | null {
  const t = useTexts();
  const { role, rights } = useSession();
  return role === 'owner' || rights.includes('schnittstellen') ? null : t.common.needsRight;
}

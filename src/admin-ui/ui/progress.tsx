import { useIsMutating } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { useTexts } from '../i18n/language.ts';

/** A thin line while something is saved, or a page is on its way: the style sheet shows it late. */
export function Progress() {
  const t = useTexts();
  const isSaving = useIsMutating() > 0;
  const isLeaving = useRouterState({ select: ({ isLoading }) => isLoading });
  if (!isSaving && !isLeaving) return null;
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={isSaving ? t.common.saving : t.common.loading}
    />
  );
}

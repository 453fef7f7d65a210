import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { useTexts } from '../i18n/language.ts';
import { Empty, PageHead, ProblemBox } from './states.tsx';

/** For an address that names no page. */
export function NotFound() {
  const t = useTexts();
  return (
    <>
      <PageHead title={t.app.notFound} />
      <Empty title={t.app.notFoundHint}>
        <Link to="/">{t.app.toOverview}</Link>
      </Empty>
    </>
  );
}

/** For a page that could not be loaded or shown. */
export function Failed({ error, reset }: ErrorComponentProps) {
  return <ProblemBox error={error} onRetry={reset} />;
}

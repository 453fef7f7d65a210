import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTexts } from '../i18n/language.ts';
import { forgetFailures } from '../lib/lazy.tsx';
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

/** For a page that could not be loaded or shown. Tries again when the reader is online. */
export function Failed({ error, reset }: ErrorComponentProps) {
  const t = useTexts();
  useEffect(() => {
    const retry = () => {
      forgetFailures();
      reset();
    };
    window.addEventListener('online', retry);
    return () => window.removeEventListener('online', retry);
  }, [reset]);
  return (
    <>
      <PageHead title={t.app.failed} />
      <ProblemBox error={error} onRetry={() => location.reload()} />
    </>
  );
}

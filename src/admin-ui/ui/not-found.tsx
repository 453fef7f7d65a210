import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { useSaid } from '../lib/failed-reads.ts';
import { problemOf } from '../lib/problem.ts';
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

/** Whether a page shows what does not exist. */
export function isMissing(error: unknown): boolean {
  return error !== null && problemOf(error).code === 'not_found';
}

/** For what does not exist. `error` says so. `children`: where the reader finds others. */
export function Missing({
  title,
  id,
  hint,
  error,
  children,
}: {
  readonly title: string;
  readonly id: string;
  readonly hint: string;
  readonly error: unknown;
  readonly children: ReactNode;
}) {
  useSaid(error);
  return (
    <>
      <PageHead title={title} intro={<code>{id}</code>} />
      <Empty title={hint}>{children}</Empty>
    </>
  );
}

/**
 * For a page that could not be loaded or shown. Tries again when the reader is online, with a new
 * document: browsers do not load a module again in the one where that has failed.
 */
export function Failed({ error }: ErrorComponentProps) {
  const t = useTexts();
  useEffect(() => {
    window.addEventListener('online', reloadIfReachable);
    return () => window.removeEventListener('online', reloadIfReachable);
  }, []);
  return (
    <>
      <PageHead title={t.app.failed} />
      <ProblemBox error={error} onRetry={() => location.reload()} />
    </>
  );
}

/** Without an answer, this document is better than the browser's own error. */
function reloadIfReachable(): void {
  fetch(location.href, { method: 'HEAD', cache: 'no-store' }).then(
    () => location.reload(),
    () => undefined,
  );
}

import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';

/** The way back from the page of one thing to the list of all. */
export function Crumbs({
  to,
  children,
}: {
  readonly to: NonNullable<LinkProps['to']>;
  readonly children: ReactNode;
}) {
  const t = useTexts();
  return (
    <nav className="crumbs" aria-label={t.app.crumbs}>
      <Link to={to} activeOptions={{ exact: true, includeSearch: false }}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M10 3 5 8l5 5" />
        </svg>
        {children}
      </Link>
    </nav>
  );
}

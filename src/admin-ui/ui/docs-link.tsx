import type { ReactNode } from 'react';
import { useLanguage } from '../i18n/language.ts';
import { docsPath, type DocsPage } from '../lib/docs.ts';
import { SERVICE_PATH } from '../lib/shell.ts';

/** Opens a page of the documentation beside this one. `part`: where the reader begins. */
export function DocsLink({
  page,
  part,
  children,
}: {
  readonly page: DocsPage;
  readonly part?: string;
  readonly children: ReactNode;
}) {
  const path = docsPath(useLanguage(), page);
  return (
    <a
      href={`${SERVICE_PATH}${path}${part === undefined ? '' : `#${part}`}`}
      target="_blank"
      rel="noreferrer"
    >
      {children}
    </a>
  );
}

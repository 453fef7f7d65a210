import { useMatch } from '@tanstack/react-router';
import { useEffect, useRef, type ReactNode } from 'react';
import type { Texts } from '../i18n/en.ts';
import { useTexts } from '../i18n/language.ts';
import { receiveHeading } from '../lib/focus.ts';
import { IS_SANDBOX } from '../lib/mode.ts';
import { useSession } from '../lib/session.ts';

/** The title of the document. A sandbox is named first: tabs show no more than the beginning. */
export function titleOf(t: Texts, heading: string, of: string): string {
  return `${IS_SANDBOX ? `${t.sandbox.name}: ` : ''}${heading} – ${of}`;
}

/** The heading of a page. It names the document, too, and has the focus after a change of pages. */
export function Heading({ children }: { readonly children: ReactNode }) {
  const t = useTexts();
  const { team } = useSession();
  const place = useMatch({ strict: false, select: ({ pathname }) => pathname });
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = titleOf(t, ref.current?.textContent ?? '', team.name);
  }, [t, children, team.name]);
  useEffect(() => {
    if (ref.current) receiveHeading(ref.current);
  }, [place]);
  return (
    <h1 ref={ref} tabIndex={-1}>
      {children}
    </h1>
  );
}

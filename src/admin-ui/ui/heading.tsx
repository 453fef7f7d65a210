import { useMatch } from '@tanstack/react-router';
import { useEffect, useRef, type ReactNode } from 'react';
import { receiveHeading } from '../lib/focus.ts';
import { useSession } from '../lib/session.ts';

/** The heading of a page. It names the document, too, and has the focus after a change of pages. */
export function Heading({ children }: { readonly children: ReactNode }) {
  const { team } = useSession();
  const place = useMatch({ strict: false, select: ({ pathname }) => pathname });
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${ref.current?.textContent} – ${team.name}`;
  }, [children, team.name]);
  useEffect(() => {
    if (ref.current) receiveHeading(ref.current);
  }, [place]);
  return (
    <h1 ref={ref} tabIndex={-1}>
      {children}
    </h1>
  );
}

import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { useSaid } from '../lib/failed-reads.ts';
import { problemOf } from '../lib/problem.ts';
import type { QueryLike } from '../lib/queries.ts';
import { Button } from './button.tsx';
import { RequestId } from './field.tsx';
import { Heading } from './heading.tsx';
import { StaleRows } from './table.tsx';

/** The heading of a page, with what one can do on it. */
export function PageHead({
  title,
  intro,
  children,
}: {
  readonly title: ReactNode;
  readonly intro?: ReactNode;
  readonly children?: ReactNode;
}) {
  return (
    <div className="page-head">
      <div>
        <Heading>{title}</Heading>
        {intro && <p className="intro">{intro}</p>}
      </div>
      {children && <div className="actions">{children}</div>}
    </div>
  );
}

/** Takes the place of what is loading, so that nothing moves when it arrives. */
export function Loading({ rows = 5 }: { readonly rows?: number }) {
  const t = useTexts();
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{t.common.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} aria-hidden="true" />
      ))}
    </div>
  );
}

/** What is here when there is nothing yet, and what to do next. */
export function Empty({
  title,
  hint,
  children,
}: {
  readonly title: string;
  readonly hint?: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {hint && <p>{hint}</p>}
      {children}
    </div>
  );
}

/** What went wrong, with another try. */
export function ProblemBox({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry?: () => void;
}) {
  const t = useTexts();
  const problem = problemOf(error);
  return (
    <div role="alert" className="notice bad">
      <p>{t.problems[problem.code]}</p>
      <RequestId problem={problem} />
      {onRetry && <Button onClick={onRetry}>{t.common.retry}</Button>}
    </div>
  );
}

/**
 * Shows what a query has read. Data that could not be read anew stays, with a note that it may be
 * out of date. Rows of before that stand while others are read are marked as busy.
 */
export function Loaded<T>({
  query,
  isWaiting = false,
  rows,
  heading,
  children,
}: {
  readonly query: QueryLike<T>;
  /** What is shown with it, such as names, is still to come. It does not hide what was shown. */
  readonly isWaiting?: boolean;
  readonly rows?: number;
  /** Of a page whose heading comes with the data: what it says if they cannot be read. */
  readonly heading?: string;
  readonly children: (data: T) => ReactNode;
}) {
  const { data, error, refetch } = query;
  useSaid(error);
  const [wasShown, setWasShown] = useState(false);
  // What was shown stays, or the reader would lose their place and their focus.
  const isShown = data !== undefined && (wasShown || !isWaiting);
  if (isShown !== wasShown) setWasShown(isShown);
  if (!isShown)
    return error ? (
      <>
        {heading !== undefined && <PageHead title={heading} />}
        <ProblemBox error={error} onRetry={() => void refetch()} />
      </>
    ) : (
      <Loading {...(rows !== undefined && { rows })} />
    );
  return (
    <>
      {error ? <ProblemBox error={error} onRetry={() => void refetch()} /> : null}
      <StaleRows value={query.isPlaceholderData}>{children(data)}</StaleRows>
    </>
  );
}

/** What opens a part of a row. To who hears it without the row, it says `of` what. */
export function Summary({ of, children }: { readonly of: string; readonly children: ReactNode }) {
  return (
    <summary>
      {children}
      <span className="visually-hidden">: {of}</span>
    </summary>
  );
}

/** A coloured word for a state. The word alone says it, too. */
export function Badge({
  tone,
  children,
}: {
  readonly tone: 'good' | 'bad' | 'warn' | 'plain';
  readonly children: ReactNode;
}) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

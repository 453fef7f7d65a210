/**
 * Which reads have failed without a word. A component that shows the error of a read says so by
 * `useSaid`; `ui/failed-reads.tsx` shows the others, so that no read can fail silently.
 */
import { useEffect } from 'react';
import { makeChanges } from './changes.ts';
import type { Query } from '@tanstack/react-query';
import { queryClient } from './api.ts';
import { problemOf } from './problem.ts';

/** The errors that are shown, by who shows them. */
const said = new Map<object, unknown>();
const changes = makeChanges();

function setSaid(who: object, error: unknown): void {
  if (error) said.set(who, error);
  else said.delete(who);
  changes.tell();
}

/** Tells that the error is shown for as long as the component stands. */
export function useSaid(error: unknown): void {
  useEffect(() => {
    const who = {};
    if (error) setSaid(who, error);
    return () => setSaid(who, null);
  }, [error]);
}

/** The reads of what stands on the page that have failed, but those whose error is shown. */
function findUnsaid(): readonly Query[] {
  // Several reads that fail for one reason need one word.
  const codes = [...said.values()].map((error) => problemOf(error).code);
  return queryClient
    .getQueryCache()
    .findAll({ type: 'active' })
    .filter(
      ({ state }) => state.status === 'error' && !codes.includes(problemOf(state.error).code),
    );
}

/** The error of a read that nothing on the page shows; null: there is none. */
export function unsaidError(): Error | null {
  return findUnsaid()[0]?.state.error ?? null;
}

/** Reads again what has failed without a word. */
export function retryUnsaid(): void {
  for (const query of findUnsaid()) void query.fetch().catch(() => undefined);
}

/** Calls the listener when other errors may be unsaid. */
export function onFailedReads(listener: () => void): () => void {
  // Who shows an error says so after it was drawn.
  const later = (): void => void window.setTimeout(listener);
  const ends = changes.subscribe(later);
  const stop = queryClient.getQueryCache().subscribe(later);
  return () => {
    ends();
    stop();
  };
}

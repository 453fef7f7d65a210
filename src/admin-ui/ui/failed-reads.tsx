import { useSyncExternalStore } from 'react';
import { onFailedReads, retryUnsaid, unsaidError } from '../lib/failed-reads.ts';
import { ProblemBox } from './states.tsx';

/** Says that something on the page could not be read, unless its place says so. */
export function FailedReads() {
  const error = useSyncExternalStore(onFailedReads, unsaidError);
  return error && <ProblemBox error={error} onRetry={retryUnsaid} />;
}

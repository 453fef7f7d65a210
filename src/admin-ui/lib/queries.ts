/** The parts of a query that are shown. */
export interface QueryLike<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isPlaceholderData: boolean;
  readonly refetch: () => unknown;
}

/** A query whose data say nothing true without those of another one. */
export function alongWith<T>(query: QueryLike<T>, other: QueryLike<unknown>): QueryLike<T> {
  return {
    data: other.data === undefined ? undefined : query.data,
    error: query.error ?? other.error,
    isPlaceholderData: query.isPlaceholderData,
    refetch: () => [query.refetch(), other.refetch()],
  };
}

/** The parts of a query that are shown. */
export interface QueryLike<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isPlaceholderData: boolean;
  readonly refetch: () => unknown;
}

/** Two queries whose data say nothing true without each other. */
export function alongWith<A, B>(
  one: QueryLike<A>,
  other: QueryLike<B>,
): QueryLike<readonly [A, B]> {
  return {
    data: one.data === undefined || other.data === undefined ? undefined : [one.data, other.data],
    error: one.error ?? other.error,
    isPlaceholderData: one.isPlaceholderData,
    refetch: () => [one.refetch(), other.refetch()],
  };
}

/**
 * What a query has read, or `value` while that is unknown: it is loading, or it has failed. The
 * page must say nothing then that only an answer can tell.
 */
export function whileUnknown<T>({ data }: Pick<QueryLike<T>, 'data'>, value: T): T {
  return data ?? value;
}

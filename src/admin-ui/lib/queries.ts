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
export function whileUnknown<T, V>({ data }: Pick<QueryLike<T>, 'data'>, value: V): T | V {
  return data ?? value;
}

/** The same of a list. */
export function rowsKnown<Row>({
  data,
}: {
  readonly data: { readonly data: readonly Row[] } | undefined;
}): readonly Row[] {
  return data?.data ?? [];
}

/** The same of a list that is read page by page. */
export function rowsOfPages<Row>({
  data,
}: {
  readonly data: { readonly pages: readonly { readonly data: readonly Row[] }[] } | undefined;
}): readonly Row[] {
  return data?.pages.flatMap((page) => page.data) ?? [];
}

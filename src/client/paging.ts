/** Lists: awaited they are a page, iterated they are all entries of all pages. */

/** A page as the API returns it. Some lists have only one, without `next_cursor`. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor?: string | null;
}

/**
 * `await` it for one page. Use `for await` for every entry: the pages that follow are read when
 * they are needed.
 */
export interface List<P> extends Promise<P>, AsyncIterable<EntryOf<P>> {}

type EntryOf<P> = P extends { readonly data: readonly (infer T)[] } ? T : never;

/** Makes a list of its first page, which is on its way, and of a function that reads another. */
export function toList<T, P extends Page<T>>(
  first: Promise<P>,
  readPage: (cursor: string) => Promise<P>,
): Promise<P> & AsyncIterable<T> {
  async function* entries(): AsyncGenerator<T, void> {
    let page = await first;
    yield* page.data;
    while (page.next_cursor) {
      page = await readPage(page.next_cursor);
      yield* page.data;
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: entries });
}

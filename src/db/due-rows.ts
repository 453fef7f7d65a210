// Work for all teams that is due, row by row, each in a transaction of its own.

/** How a run goes through the rows that are due; `Row` has its place among them. */
export interface DueWork<Row> {
  /** A page of the rows behind `after`; null is the beginning. */
  readonly list: (slice: { readonly after: Row | null; readonly limit: number }) => Promise<Row[]>;
  readonly work: (row: Row) => Promise<unknown>;
  /** Whether the run has to end. The next one goes on. */
  readonly isOver: () => boolean;
  /** What is thrown if the work on a row has failed. */
  readonly failure: string;
  readonly pageSize?: number | undefined;
}

const PAGE_SIZE = 100;

/**
 * Works on all rows, one after the other. If one fails, the others go on, and then an error is
 * thrown, also by a run that has to end before.
 */
export async function workOnDue<Row>(due: DueWork<Row>): Promise<void> {
  const failures: unknown[] = [];
  for await (const row of rowsOf(due)) {
    if (due.isOver()) break;
    await due.work(row).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, due.failure);
}

async function* rowsOf<Row>({ list, pageSize = PAGE_SIZE }: DueWork<Row>): AsyncGenerator<Row> {
  let after: Row | null = null;
  let page: Row[];
  do {
    page = await list({ after, limit: pageSize });
    yield* page;
    after = page.at(-1) ?? null;
  } while (page.length === pageSize);
}

import { isValueRefused } from './errors.ts';

/** How to write the rows of a batch, and what to do with one that is refused. */
export interface HalvesOptions<T> {
  readonly write: (rows: readonly T[]) => Promise<void>;
  /** Gets each row that is refused alone. */
  readonly onRefused: (row: T, error: unknown) => void | Promise<void>;
  /** Whether the error is about the rows; by default, that the database refused a value. */
  readonly isRefusal?: (error: unknown) => boolean;
}

/**
 * Writes a batch, and the halves of one that is refused: one bad row must not block the others.
 * Rejects with any other error. Then parts of the batch are written.
 */
export async function writeByHalves<T>(
  rows: readonly T[],
  options: HalvesOptions<T>,
): Promise<void> {
  const { write, onRefused, isRefusal = isValueRefused } = options;
  try {
    return await write(rows);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const [first] = rows;
    if (first !== undefined && rows.length === 1) return onRefused(first, error);
  }
  const half = rows.length >> 1;
  await writeByHalves(rows.slice(0, half), options);
  await writeByHalves(rows.slice(half), options);
}

/** Turns rows into one array for each column, in the order of `names`, for an `unnest`. */
export function columnsOf<Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Row[Name][][] {
  return names.map((name) => rows.map((row) => row[name]));
}

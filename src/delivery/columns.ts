/** Turns rows into one array a column, in the order of `names`: the parameters of an `unnest`. */
export function columnsOf<Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Row[Name][][] {
  return names.map((name) => rows.map((row) => row[name]));
}

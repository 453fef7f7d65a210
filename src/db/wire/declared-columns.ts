/** Name of a statement → the names of its columns, as they came first in this process. */
const declared = new Map<string, string>();

/** Whether the statement's columns, as one text, are those that came first in this process. */
export function areDeclared(name: string, columns: string): boolean {
  const first = declared.get(name) ?? columns;
  declared.set(name, first);
  return first === columns;
}

/** The error of a result that nobody may read, since its columns are others than declared. */
export function changedColumns(name: string): Error {
  return new Error(`the columns of ${name} have changed`);
}

import type { Column } from './undocumented.ts';
import { asText, textTypes } from './types.ts';

/** Makes a row from the texts of its columns. Throws if one cannot be read. */
export type RowReader = (texts: readonly (string | null)[]) => object;

/** What the rows of a result are like. */
export interface Shape {
  readonly read: RowReader;
  /** The names of its columns, as one text. */
  readonly names: string;
}

/** By their columns. Statements are declared, so there are not more and more of them. */
const shapes = new Map<string, Shape>();
/** By a description. The parser returns the same one for the same bytes (`row-parser.ts`). */
const described = new WeakMap<readonly Column[], Shape>();

/** Returns the shape of a result. Connections share it, so its reader is compiled once. */
export function shapeOf(columns: readonly Column[]): Shape {
  const seen = described.get(columns);
  if (seen) return seen;
  const key = JSON.stringify(columns.map(({ name, dataTypeID }) => [name, dataTypeID]));
  const names = JSON.stringify(columns.map(({ name }) => name));
  const shape = shapes.get(key) ?? { read: compile(columns), names };
  shapes.set(key, shape);
  described.set(columns, shape);
  return shape;
}

/**
 * Writes the row as an object literal, which V8 makes in a tenth of the time that filling in its
 * columns by name takes: that was 8 % of a list request.
 */
function compile(columns: readonly Column[]): RowReader {
  const parsers = columns.map(({ dataTypeID }) => textTypes.getTypeParser(dataTypeID));
  const fields = columns.map(({ name }, place) => {
    const text = `texts[${place}]`;
    const parsed = `${text} === null ? null : parsers[${place}](${text})`;
    return `${JSON.stringify(name)}: ${parsers[place] === asText ? text : parsed}`;
  });
  const body = `return (texts) => {
    if (texts.length !== ${columns.length}) throw new Error('a row has other columns');
    return { ${fields.join(', ')} };
  };`;
  // oxlint-disable-next-line typescript/no-implied-eval -- its text is names of our columns
  return (new Function('parsers', body) as (by: typeof parsers) => RowReader)(parsers);
}

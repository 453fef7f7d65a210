import pg from 'pg';

/** The ids of these types in Postgres. */
const DATE = 1082;
const TIMESTAMPTZ = 1184;
const TEXT = 25;

/** The parser of all types whose text is left as it is. */
export const asText = pg.types.getTypeParser(TEXT);

/**
 * Makes pg read timestamps as ISO text in UTC with milliseconds, and dates as text. A `Date` per
 * cell costs more than the rest of the row, and responses and cursors need the text anyway.
 */
export const textTypes = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (format !== 'binary') {
      if (oid === TIMESTAMPTZ) return isoFromText;
      if (oid === DATE) return asText;
    }
    return pg.types.getTypeParser(oid, format as 'text');
  }) as typeof pg.types.getTypeParser,
};

/**
 * Converts `2026-01-02 03:04:05.6+00` to `2026-01-02T03:04:05.600Z`. Sessions are normally in UTC;
 * any other offset is converted.
 */
export function isoFromText(text: string): string {
  if (!text.endsWith('+00') || text.length > 26)
    return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).toISOString();
  const time = text.slice(11, -3);
  const padded =
    time.length === 12 ? time : time.length === 8 ? `${time}.000` : time.padEnd(12, '0');
  return `${text.slice(0, 10)}T${padded}Z`;
}

/** Values of a CRM in the form that the database keeps. */

/** Without what Postgres or UTF-8 cannot hold; null for an empty text. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return null;
  const text = value.replaceAll('\0', '').toWellFormed();
  return text.trim() === '' ? null : text;
}

/** ISO 8601 in UTC; null for a text that is no time Postgres could hold. */
export function instantOf(value: unknown): string | null {
  const time = typeof value === 'string' && value !== '' ? Date.parse(value) : Number.NaN;
  const iso = Number.isNaN(time) ? '' : new Date(time).toISOString();
  return /^\d{4}-/.test(iso) && !iso.startsWith('0000') ? iso : null;
}

/**
 * Parses JSON, but keeps numbers in these fields as the text that was sent: as a number,
 * `12345678901234567.89` would be rounded. Throws a `SyntaxError`.
 */
export function parseExactly(body: string, fields: readonly string[]): unknown {
  const keepSource = (name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && fields.includes(name) ? context?.source : value;
  return JSON.parse(body, keepSource as (name: string, value: unknown) => unknown);
}

const NUMBER_FORM = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Plain decimal text, digit for digit: money must not pass through a float. Null for no number. */
export function decimalOf(value: string | null | undefined): string | null {
  const parts = NUMBER_FORM.exec((value ?? '').trim()) ?? [];
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  if (whole === '' && fraction === '') return null;
  const shift = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const split = Math.max(point, 1);
  const decimals = padded.slice(split);
  const units = padded.slice(0, split).replace(/^0+(?=\d)/, '');
  return `${sign === '-' ? '-' : ''}${units}${decimals === '' ? '' : `.${decimals}`}`;
}

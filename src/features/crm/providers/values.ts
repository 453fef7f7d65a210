/** Values of a CRM in the form that the database keeps. */
import { normalizeAddress } from '../../../core/email-address.ts';
import { providerError } from './errors.ts';

/** A CRM's texts are cut at this length. */
const TEXT_MAX_CHARACTERS = 10_000;
/** A note is read up to this length of its HTML. */
const HTML_MAX_CHARACTERS = 32_768;
const ID_MAX_CHARACTERS = 200;
/** No index holds it, so it may be longer than an id. */
const CURSOR_MAX_CHARACTERS = 2_000;
const TIME_MAX_CHARACTERS = 64;
const NUMBER_MAX_CHARACTERS = 100;

/** The text's beginning, with whole characters only. */
export function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const end = text.slice(0, maxCharacters);
  return end.isWellFormed() ? end : end.slice(0, -1);
}

/** Without what Postgres or UTF-8 cannot hold; null for an empty text. */
export function textOf(value: unknown, maxCharacters = TEXT_MAX_CHARACTERS): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return null;
  const text = cut(value.replaceAll('\0', '').toWellFormed(), maxCharacters);
  return text.trim() === '' ? null : text;
}

/** An address of a person in the CRM, as those of members are kept. */
export function addressOf(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : normalizeAddress(text.trim());
}

/**
 * An id of the CRM. Throws `invalid_response` for one that the database cannot hold: an id is never
 * changed, because it would be another one then.
 */
export function idOf(value: unknown, maxCharacters = ID_MAX_CHARACTERS): string {
  const id = typeof value === 'number' ? String(value) : value;
  const isText = typeof id === 'string' && id !== '' && id.length <= maxCharacters;
  if (!isText || id.includes('\0') || !id.isWellFormed())
    throw providerError('invalid_response', { cause: 'an id or a cursor that cannot be kept' });
  return id;
}

/** The cursor of the next page, which is kept as an id is; null for none. */
export function cursorOf(value: unknown): string | null {
  return value === null || value === undefined ? null : idOf(value, CURSOR_MAX_CHARACTERS);
}

/** A note's HTML; '' for none. */
export function htmlOf(value: unknown): string {
  return textOf(value, HTML_MAX_CHARACTERS) ?? '';
}

/** ISO 8601 in UTC; null for a text that is no time Postgres could hold. */
export function instantOf(value: unknown): string | null {
  const isTime = typeof value === 'string' && value !== '' && value.length <= TIME_MAX_CHARACTERS;
  const time = isTime ? Date.parse(value) : Number.NaN;
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
  const text = (value ?? '').trim();
  const parts = (text.length <= NUMBER_MAX_CHARACTERS && NUMBER_FORM.exec(text)) || [];
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

/** What the command prints of an event that it has posted: a line for people, or one of JSON. */
import type { Forwarded } from './forward.ts';

const GREEN = 32;
const YELLOW = 33;
const RED = 31;
const DIM = 2;

/** Whether the terminal shows colours, by its kind and the conventions of no-color.org. */
export function hasColors(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

/** `2026-11-02T09:22:00.000Z ping evt_1 -> 204 in 12 ms`, and what the receiver said below it. */
export function toLine(forwarded: Forwarded, isColored: boolean): string {
  const { event, status, error, ms, response } = forwarded;
  const paint = (color: number, text: string): string =>
    isColored ? `\u001b[${color}m${text}\u001b[0m` : text;
  const result = paint(colorOf(forwarded), printable(String(status ?? error)));
  const when = paint(DIM, printable(event.created_at));
  const what = printable(`${event.type} ${event.id}`);
  return `${when} ${what} -> ${result} in ${ms} ms${indent(response)}`;
}

/** One object in one line, for programs. */
export function toJson({ event, status, error, ms, response }: Forwarded): string {
  const { id, type, created_at } = event;
  return JSON.stringify({ id, type, created_at, status, error, ms, response });
}

/** Without what a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '');
}

function colorOf({ status }: Forwarded): number {
  if (status === null || status >= 500) return RED;
  return status >= 200 && status < 300 ? GREEN : YELLOW;
}

function indent(text: string): string {
  const shown = printable(text).trim();
  return shown === '' ? '' : `\n    ${shown.replaceAll('\n', '\n    ')}`;
}

/** The result as text for a terminal: the names and values of its rows, as `--json` has them. */
import { printable, spanOf } from '../core/terminal.ts';
import type { Reason } from './reasons.ts';
import type { TraceResult } from './service.ts';

const SECTIONS = {
  requests: 'Request',
  audit: 'Audit entry',
  events: 'Event',
  deliveries: 'Delivery',
  endpoints: 'Webhook endpoint',
  keys: 'API key',
  connections: 'CRM connection',
  teams: 'Team',
} as const;

/** "2026-11-26 10:15:02Z (3 min ago)". */
function timeOf(at: string, now: Date): string {
  const date = new Date(at);
  const ms = now.getTime() - date.getTime();
  const text = `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
  return `${text} (${ms >= 0 ? `${spanOf(ms)} ago` : `in ${spanOf(-ms)}`})`;
}

/** Told otherwise than as facts. */
const NOT_HERE = { id: [], found: [] };

const IS_TIME = /_(at|since|until)$/;
const isRow = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** "name: value" of what is no row itself. */
function factsOf(row: object, now: Date): string[] {
  const facts = Object.entries(row).flatMap(([name, value]: [string, unknown]) => {
    if (isRow(value) || (Array.isArray(value) && (value.length === 0 || isRow(value[0]))))
      return [];
    const isTime = IS_TIME.test(name) && typeof value === 'string';
    const plain = value as string | number | boolean | null | readonly string[];
    const text = Array.isArray(plain) ? plain.join(' ') : String(plain ?? '-');
    return [`${name}: ${isTime ? timeOf(text, now) : text}`];
  });
  return facts.map((fact, place) => (place < facts.length - 1 ? `${fact},` : fact));
}

/** The rows in a row, such as the attempts of a delivery. */
function partsOf(row: object): [name: string, part: object][] {
  return Object.entries(row).flatMap(([name, value]: [string, unknown]) =>
    [value]
      .flat()
      .flatMap((part): [string, object][] => (isRow(part) && name !== 'why' ? [[name, part]] : [])),
  );
}

/** Texts are broken at this width. Ids never are: they must be whole to be copied. */
export function formatTrace(result: TraceResult, width: number): string {
  const now = new Date(result.asked_at);
  const told = (why: readonly Reason[], mark: string, indent: string): string[] =>
    why.flatMap(({ text }) => wrap([mark, ...text.split(' ')], width, indent));
  const blocks = Object.entries(SECTIONS).flatMap(([name, title]) =>
    result[name as keyof typeof SECTIONS].flatMap((row) => [
      '',
      `${title} ${row.id}`,
      ...wrap(factsOf({ ...row, id: [] }, now), width, '  '),
      ...partsOf(row).flatMap(([part, facts]) =>
        wrap([`${part}:`, ...factsOf(facts, now)], width, '    '),
      ),
      ...('why' in row ? told(row.why, '→', '  ') : []),
    ]),
  );
  return [
    `${result.id}: ${result.found ? 'found' : 'not found'}`,
    ...wrap(factsOf({ ...result, ...NOT_HERE }, now), width, ''),
    ...told(result.why, '→', ''),
    ...blocks,
  ]
    .map((line) => `${printable(line)}\n`)
    .join('');
}

/** Puts as many of the words on a line as there is room for. A line begins with `indent`. */
function wrap(words: readonly string[], width: number, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, indent + line];
}

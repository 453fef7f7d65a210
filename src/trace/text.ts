/** The result as text for a terminal. */
import { printable, spanOf } from '../core/terminal.ts';
import { outcomeOf, timeOf } from './reasons.ts';
import type { Reason } from './reason-codes.ts';
import type { TraceResult } from './view.ts';

/** One line of a table, and what is said below it. */
interface Line {
  readonly cells: readonly string[];
  readonly below?: readonly string[];
}

/** Texts are broken at this width. Ids never are: they must be whole to be copied. */
export function formatTrace(result: TraceResult, width: number): string {
  const now = new Date(result.asked_at);
  const at = (time: string | null): string => (time === null ? '-' : timeOf(time, now));
  const workers = result.workers.length === 0 ? 'none' : result.workers.join(', ');
  const parts = [
    `${result.id}: ${result.found ? 'found' : 'not found'}`,
    `asked at ${timeOf(now, now).slice(0, 20)}, workers alive: ${workers}`,
    ...result.notes.map(({ text }) => text),
  ];
  const table = (title: string, heads: readonly string[], lines: readonly Line[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...formatTable(heads, lines, width)];
  /** A table of rows. Names the team of each one, if there are several. */
  const tableOf = <Row extends { readonly team_id: string }>(
    title: string,
    heads: readonly string[],
    rows: readonly Row[],
    toLine: (row: Row) => Line,
  ): string[] => {
    if (result.teams.length < 2) return table(title, heads, rows.map(toLine));
    const lines = rows.map((row) => {
      const line = toLine(row);
      return { ...line, cells: [...line.cells, row.team_id] };
    });
    return table(title, [...heads, 'team'], lines);
  };
  return [
    ...parts.flatMap((part) => wrap(part, width, '')),
    ...tableOf('Request', ['came', 'call', 'status', 'took', 'key'], result.requests, (row) => ({
      cells: [
        at(row.at),
        `${row.method} ${row.route}`,
        [row.status, row.error_code, row.limited_by].filter((part) => part !== null).join(' '),
        spanOf(row.duration_ms),
        row.key_id,
      ],
    })),
    ...tableOf(
      'Audit log',
      ['changed', 'action', 'target', 'by', 'entry'],
      result.audit,
      (row) => ({
        cells: [
          at(row.at),
          row.action,
          row.target_id ?? '-',
          `${row.actor_kind} ${row.actor_id}`,
          row.id,
        ],
        below: result.requests.length === 0 ? [`request ${row.request_id}`] : [],
      }),
    ),
    ...tableOf('Events', ['event', 'type', 'happened', 'fanned out'], result.events, (row) => ({
      cells: [row.id, row.type, at(row.at), at(row.fanned_out_at)],
      below: whyOf(row.why),
    })),
    ...tableOf(
      'Deliveries',
      ['delivery', 'endpoint', 'type', 'status', 'attempts'],
      result.deliveries,
      (row) => ({
        cells: [row.id, row.endpoint_id, row.event_type, row.status, String(row.attempts_made)],
        below: [
          ...whyOf(row.why),
          ...row.attempts.map(
            (one) => `attempt ${one.attempt}: ${outcomeOf(one)}, ended ${timeOf(one.at, now)}`,
          ),
        ],
      }),
    ),
    ...tableOf(
      'Webhook endpoints',
      ['endpoint', 'host', 'status', 'waiting', 'oldest due', 'in hand'],
      result.endpoints,
      (row) => ({
        cells: [
          row.id,
          row.host,
          row.status,
          waitingOf(row.waiting),
          at(row.oldest_due_at),
          row.in_hand.map(({ worker, count }) => `${count} by ${worker}`).join(', ') || '-',
        ],
        below: [
          ...whyOf(row.why),
          `last success ${at(row.last_success_at)}, failing since ${at(row.failing_since)}`,
          `subscribes to ${row.events.join(', ')}`,
        ],
      }),
    ),
    ...tableOf(
      'API key',
      ['key', 'name', 'public part', 'state', 'last used', 'made'],
      result.keys,
      (row) => ({
        cells: [
          row.id,
          row.name,
          row.prefix,
          row.state,
          at(row.last_used_at),
          `${at(row.created_at)} by ${row.created_by}`,
        ],
        below: [...whyOf(row.why), ...changesOf(row.changes, now)],
      }),
    ),
    ...tableOf(
      'CRM connections',
      ['connection', 'provider', 'status', 'last error', 'last run without one'],
      result.connections,
      (row) => ({
        cells: [row.id, row.provider, row.status, row.last_error ?? '-', at(row.last_synced_at)],
        below: [...whyOf(row.why), ...changesOf(row.changes, now)],
      }),
    ),
    ...table(
      'Team',
      ['team', 'status'],
      result.teams.map((row) => ({
        cells: [row.id, row.is_sandbox ? `${row.status}, a sandbox` : row.status],
        below: whyOf(row.why),
      })),
    ),
  ]
    .map((line) => `${printable(line)}\n`)
    .join('');
}

function whyOf(why: readonly Reason[]): string[] {
  return why.map(({ text }) => `→ ${text}`);
}

function changesOf(changes: TraceResult['keys'][number]['changes'], now: Date): string[] {
  return changes.map(({ at, action, reason, actor_kind, actor_id, request_id: requestId }) => {
    const what = reason === null ? action : `${action} (${reason})`;
    return `${timeOf(at, now)} ${what} by ${actor_kind} ${actor_id}, request ${requestId}`;
  });
}

function waitingOf({
  requested,
  first,
  retries,
  is_cut: isCut,
}: TraceResult['endpoints'][number]['waiting']): string {
  const parts = [`${first} first`, `${retries} retries`];
  if (requested > 0) parts.push(`${requested} requested`);
  return parts.join(', ') + (isCut ? ' or more' : '');
}

/** The last columns of a table that is too wide stand below each of its lines. */
function formatTable(heads: readonly string[], lines: readonly Line[], width: number): string[] {
  const rows = [heads, ...lines.map(({ cells }) => cells)];
  const widths = heads.map((_head, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  let shown = heads.length;
  while (shown > 1 && widths.slice(0, shown).reduce((sum, one) => sum + 2 + one, 0) > width)
    shown -= 1;
  const join = (cells: readonly string[]): string =>
    cells
      .slice(0, shown)
      .map((cell, column) => `  ${cell.padEnd(widths[column] ?? 0)}`)
      .join('')
      .trimEnd();
  return [
    join(heads),
    ...lines.flatMap(({ cells, below = [] }) => {
      const moved = heads.slice(shown).map((head, place) => `${head}: ${cells[shown + place]}`);
      return [
        join(cells),
        ...[moved.join(', '), ...below]
          .filter((text) => text !== '')
          .flatMap((text) => wrap(text, width, '      ')),
      ];
    }),
  ];
}

/** Breaks a text between words. Its lines begin with `indent`. */
function wrap(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, indent + line];
}

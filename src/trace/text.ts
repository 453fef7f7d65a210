/** The result as text for a terminal. */
import { spanOf } from '../core/terminal.ts';
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
  const severalTeams = result.teams.length > 1;
  const ofTeam = (teamId: string): string[] => (severalTeams ? [teamId] : []);
  const table = (title: string, heads: readonly string[], lines: readonly Line[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...formatTable(heads, lines, width)];
  const teamHead = ofTeam('team');
  return [
    ...parts.flatMap((part) => wrap(part, width, '')),
    ...table(
      'Request',
      ['came', 'call', 'status', 'took', 'key', ...teamHead],
      result.requests.map((row) => ({
        cells: [
          at(row.at),
          `${row.method} ${row.route}`,
          [row.status, row.error_code, row.limited_by].filter((part) => part !== null).join(' '),
          spanOf(row.duration_ms),
          row.key_id,
          ...ofTeam(row.team_id),
        ],
      })),
    ),
    ...table(
      'Audit log',
      ['changed', 'action', 'target', 'by', 'entry', ...teamHead],
      result.audit.map((row) => ({
        cells: [
          at(row.at),
          row.action,
          row.target_id ?? '-',
          `${row.actor_kind} ${row.actor_id}`,
          row.id,
          ...ofTeam(row.team_id),
        ],
        below: result.requests.length === 0 ? [`request ${row.request_id}`] : [],
      })),
    ),
    ...table(
      'Events',
      ['event', 'type', 'happened', 'fanned out', ...teamHead],
      result.events.map((row) => ({
        cells: [row.id, row.type, at(row.at), at(row.fanned_out_at), ...ofTeam(row.team_id)],
        below: whyOf(row.why),
      })),
    ),
    ...table(
      'Deliveries',
      ['delivery', 'endpoint', 'type', 'status', 'attempts', ...teamHead],
      result.deliveries.map((row) => ({
        cells: [
          row.id,
          row.endpoint_id,
          row.event_type,
          row.status,
          String(row.attempts_made),
          ...ofTeam(row.team_id),
        ],
        below: [
          ...whyOf(row.why),
          ...row.attempts.map(
            (one) => `attempt ${one.attempt}: ${outcomeOf(one)}, ended ${timeOf(one.at, now)}`,
          ),
        ],
      })),
    ),
    ...table(
      'Webhook endpoints',
      ['endpoint', 'host', 'status', 'waiting', 'oldest due', 'in hand', ...teamHead],
      result.endpoints.map((row) => ({
        cells: [
          row.id,
          row.host,
          row.status,
          waitingOf(row.waiting),
          at(row.oldest_due_at),
          row.in_hand.map(({ worker, count }) => `${count} by ${worker}`).join(', ') || '-',
          ...ofTeam(row.team_id),
        ],
        below: [
          ...whyOf(row.why),
          `last success ${at(row.last_success_at)}, failing since ${at(row.failing_since)}`,
          `subscribes to ${row.events.join(', ')}`,
        ],
      })),
    ),
    ...table(
      'API key',
      ['key', 'name', 'public part', 'state', 'last used', 'made', ...teamHead],
      result.keys.map((row) => ({
        cells: [
          row.id,
          row.name,
          row.prefix,
          row.state,
          at(row.last_used_at),
          `${at(row.created_at)} by ${row.created_by}`,
          ...ofTeam(row.team_id),
        ],
        below: [...whyOf(row.why), ...changesOf(row.changes, now)],
      })),
    ),
    ...table(
      'CRM connections',
      ['connection', 'provider', 'status', 'last error', 'last run without one', ...teamHead],
      result.connections.map((row) => ({
        cells: [
          row.id,
          row.provider,
          row.status,
          row.last_error ?? '-',
          at(row.last_synced_at),
          ...ofTeam(row.team_id),
        ],
        below: [...whyOf(row.why), ...changesOf(row.changes, now)],
      })),
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

/** Ids of the host application may hold anything; a terminal obeys control characters. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?');
}

/** What a command prints: for people, or one JSON object. */
import { printable, printableJson } from '../../src/core/terminal.ts';
import { messageOf } from '../../src/runtime/process.ts';
import type { RecordedRow } from '../../src/features/audit-log/service.ts';
import {
  COUNT_MAX,
  type TeamOverview,
} from '../../src/features/team-lifecycle/overview-service.ts';
import { problemBody, toProblem } from '../../src/http/api/problem-response.ts';
import { optionOf, type Wanted } from './arguments.ts';
import type { Performed } from './perform.ts';

/** What the team has, in two lines. */
export function describeTeam(teamId: string, team: TeamOverview | null): string {
  if (team === null) return printable(`${teamId}: there is no such team.`);
  const { members, live_keys, webhook_endpoints, waiting_deliveries } = team;
  const status = team.is_erasing ? 'being erased' : team.status;
  const owner = team.owner_member_id ?? 'nobody';
  return [
    `${teamId}: ${team.name}; ${status}; plan ${team.plan}; owner ${owner}`,
    `  members: ${count(members)} of ${team.seats}; live keys: ${count(live_keys)}; ` +
      `webhook endpoints: ${count(webhook_endpoints)}; ` +
      `waiting deliveries: ${count(waiting_deliveries)}; ` +
      `sandbox: ${team.has_sandbox ? 'yes' : 'no'}`,
  ]
    .map(printable)
    .join('\n');
}

function count(value: number): string {
  return value > COUNT_MAX ? `more than ${COUNT_MAX}` : String(value);
}

/** What was done, or would be. */
export function describeOutcome(
  { requestId, result, recorded }: Performed,
  { isDryRun }: { readonly isDryRun: boolean },
): string {
  if (recorded.length === 0) return 'Nothing to do: it is so already. Nothing was changed.';
  const entries = recorded.map((entry) => `  ${describeEntry(entry)}`);
  if (isDryRun) return ['It would be recorded:', ...entries].map(printable).join('\n');
  const values = Object.entries(result)
    .filter(([name, value]) => name !== 'ok' && value !== null && value !== undefined)
    .map(([name, value]) => `  ${name}: ${[value].flat().join(', ')}`);
  return ['Recorded:', ...entries, `Done, as request ${requestId}.`, ...values]
    .map(printable)
    .join('\n');
}

function describeEntry({ action, target_id: target, details }: RecordedRow): string {
  const more = Object.keys(details).length > 0 ? ` ${JSON.stringify(details)}` : '';
  return `${action} ${target ?? ''}${more}`;
}

/** The same for programs. A dry run shows no result: it is gone. */
export function outcomeJson(
  { command, teamId, isDryRun }: Wanted,
  { requestId, result, recorded }: Performed,
  before: TeamOverview | null,
): string {
  const outcome = {
    command: command.name,
    team_id: teamId,
    dry_run: isDryRun,
    changed: recorded.length > 0 && !isDryRun,
    would_change: recorded.length > 0 && isDryRun,
    request_id: isDryRun ? null : requestId,
    recorded,
    result: isDryRun ? null : result,
    before,
  };
  return printableJson(JSON.stringify(outcome));
}

/** Says why a command was refused, with the options that are at fault. */
export function describeRefusal(error: unknown): string {
  const problem = toProblem(error, null);
  const { code } = problem;
  if (code === 'internal') return messageOf(causeOf(error));
  const body = problemBody(problem, {
    publicUrl: '',
    language: 'en',
    requestId: '',
    route: null,
  });
  const title = `${code}: ${body.title}.`;
  if (code === 'unavailable')
    return `${title} ${messageOf(problem)}\nRun it again: what is done is not done twice.`;
  const {
    errors = [],
    field,
    detail,
  } = body as {
    readonly errors?: readonly { readonly path: string; readonly message: string }[];
    readonly field?: string;
    readonly detail?: string;
  };
  const faults = errors.map(
    ({ path, message }) => `${optionOf(path.split('.').slice(1))}: ${message}`,
  );
  if (faults.length > 0) return [title, ...faults].join('\n');
  const place = field === undefined ? '' : ` ${optionOf([field])}:`;
  return `${title}${place} ${detail ?? ''}`.trimEnd();
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

import type { ClientBase } from 'pg';
import { insertRows } from './insert.ts';
import {
  assignmentRow,
  caseRow,
  connectionRow,
  dealRow,
  evaluationRows,
  objectionRow,
  trainingRow,
} from './rows-history.ts';
import {
  blockRows,
  deliveryRows,
  makeEndpointRow,
  makeKeyRow,
  memberRow,
  sandboxRows,
  type RowContext,
} from './rows.ts';

/**
 * The secrets of a team, which are shown once and never stored in plain text: API keys by name,
 * webhook secrets by endpoint id.
 */
export interface TeamSecrets {
  readonly api_keys: Record<string, string>;
  readonly webhook_endpoints: Record<string, string>;
}

/**
 * Writes the listed rows of the team, but its releases. The team's own row must exist already.
 * Needs a transaction.
 */
export async function writeTeam(client: ClientBase, context: RowContext): Promise<TeamSecrets> {
  const { team, now } = context;
  await insertRows(client, 'sandbox', sandboxRows(team, now));
  await insertRows(
    client,
    'team_block',
    [...new Set(team.blocked)].map((entryId) => ({ team_id: team.id, entry_id: entryId })),
  );
  const people = new Set(team.members.flatMap((member) => member.user_id ?? []));
  await insertRows(
    client,
    'person',
    [...people].map((id) => ({ team_id: team.id, id })),
  );
  await insertRows(
    client,
    'member',
    map(team.members, (member) => memberRow(context, member)),
  );
  await insertRows(client, 'member_block', blockRows(team));
  await writeHistory(client, context);
  return writeAccess(client, context);
}

/**
 * Assignments come first. A training's foreign key to its assignment is checked at once, the key
 * from an assignment to its training only at commit.
 */
async function writeHistory(client: ClientBase, context: RowContext): Promise<void> {
  const { team } = context;
  await insertRows(
    client,
    'assignment',
    map(team.assignments, (row) => assignmentRow(context, row)),
  );
  await insertRows(
    client,
    'training',
    map(team.trainings, (row) => trainingRow(context, row)),
  );
  await insertRows(client, 'evaluation', evaluationRows(context));
  await insertRows(
    client,
    'training_case',
    map(team.cases, (row) => caseRow(context, row)),
  );
  await insertRows(
    client,
    'crm_connection',
    map(team.crm_connections, (row) => connectionRow(context, row)),
  );
  const deals = team.crm_deals.map((row) => dealRow(context, row));
  await insertRows(client, 'crm_deal', deals);
  const connectionOf = new Map(deals.map((deal) => [deal['id'], deal['connection_id']]));
  await insertRows(
    client,
    'crm_objection',
    map(team.crm_objections, (row) => objectionRow(context, row, connectionOf)),
  );
}

async function writeAccess(client: ClientBase, context: RowContext): Promise<TeamSecrets> {
  const keys = context.team.api_keys.map((input) => ({
    name: input.name,
    ...makeKeyRow(context, input),
  }));
  const endpoints = context.team.webhook_endpoints.map((input) => ({
    id: input.id,
    ...makeEndpointRow(context, input),
  }));
  await insertRows(
    client,
    'key_directory',
    keys.map(({ row }) => ({ team_id: row['team_id'], prefix: row['prefix'] })),
  );
  await insertRows(
    client,
    'api_key',
    keys.map(({ row }) => row),
  );
  await insertRows(
    client,
    'webhook_endpoint',
    endpoints.map(({ row }) => row),
  );
  const deliveries = context.team.webhook_deliveries.map((input) => deliveryRows(context, input));
  await insertRows(
    client,
    'event',
    deliveries.map(({ event }) => event),
  );
  await insertRows(
    client,
    'webhook_delivery',
    deliveries.map(({ delivery }) => delivery),
  );
  return {
    api_keys: Object.fromEntries(keys.map(({ name, key }) => [name, key])),
    webhook_endpoints: Object.fromEntries(endpoints.map(({ id, secret }) => [id, secret])),
  };
}

function* map<T, R>(rows: Iterable<T>, toRow: (row: T) => R): Generator<R> {
  for (const row of rows) yield toRow(row);
}

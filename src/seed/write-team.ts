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
import type { SeedRows } from './seed-rows.ts';

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
  const ofTeam = { team_id: team.id };
  await insertRows(client, 'sandbox', sandboxRows(team, now));
  await write(client, 'team_block', new Set(team.blocked), (id) => ({ ...ofTeam, entry_id: id }));
  const people = new Set(team.members.flatMap((member) => member.user_id ?? []));
  await write(client, 'person', people, (id) => ({ ...ofTeam, id }));
  await write(client, 'member', team.members, (row) => memberRow(context, row));
  await insertRows(client, 'member_block', blockRows(team));
  await writeHistory(client, context);
  return writeAccess(client, context);
}

/** Inserts a row for each input. It is made when it is sent, so they are never all in memory. */
function write<Table extends keyof SeedRows, Input>(
  client: ClientBase,
  table: Table,
  inputs: Iterable<Input>,
  toRow: (input: Input) => SeedRows[Table],
): Promise<number> {
  return insertRows(client, table, Iterator.from(inputs).map(toRow));
}

/**
 * Assignments come first. A training's foreign key to its assignment is checked at once, the key
 * from an assignment to its training only at commit.
 */
async function writeHistory(client: ClientBase, context: RowContext): Promise<void> {
  const { team } = context;
  await write(client, 'assignment', team.assignments, (row) => assignmentRow(context, row));
  await write(client, 'training', team.trainings, (row) => trainingRow(context, row));
  await insertRows(client, 'evaluation', evaluationRows(context));
  await write(client, 'training_case', team.cases, (row) => caseRow(context, row));
  await write(client, 'crm_connection', team.crm_connections, (row) => connectionRow(context, row));
  const deals = team.crm_deals.map((row) => dealRow(context, row));
  await insertRows(client, 'crm_deal', deals);
  const connectionOf = new Map(deals.map((deal) => [deal['id'], deal['connection_id']]));
  await write(client, 'crm_objection', team.crm_objections, (row) =>
    objectionRow(context, row, connectionOf),
  );
}

async function writeAccess(client: ClientBase, context: RowContext): Promise<TeamSecrets> {
  const { team } = context;
  const keys = team.api_keys.map((input) => ({
    name: input.name,
    ...makeKeyRow(context, input),
  }));
  const endpoints = team.webhook_endpoints.map((input) => ({
    id: input.id,
    ...makeEndpointRow(context, input),
  }));
  await write(client, 'key_directory', keys, ({ row: { team_id, prefix } }) => ({
    team_id,
    prefix,
  }));
  await write(client, 'api_key', keys, ({ row }) => row);
  await write(client, 'webhook_endpoint', endpoints, ({ row }) => row);
  const deliveries = team.webhook_deliveries.map((input) => deliveryRows(context, input));
  await write(client, 'event', deliveries, ({ event }) => event);
  await write(client, 'webhook_delivery', deliveries, ({ delivery }) => delivery);
  return {
    api_keys: Object.fromEntries(keys.map(({ name, key }) => [name, key])),
    webhook_endpoints: Object.fromEntries(endpoints.map(({ id, secret }) => [id, secret])),
  };
}

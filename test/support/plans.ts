// How Postgres runs a list: its plan, and how many rows it reads.
import { escapeLiteral, type Client } from 'pg';
import { withFirst, type Db, type Statement } from '../../src/db/client.ts';

/** A node of EXPLAIN (FORMAT JSON). */
export interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  Filter?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

/** `generic`: the plan that a prepared statement keeps; it is made without the values. */
export type Mode = 'generic' | 'custom';

/** Returns the statement that a store function sends, and its values. */
async function capture(
  list: (recorder: Db) => Promise<unknown>,
): Promise<{ statement: Statement<unknown>; values: readonly unknown[] }> {
  let sent: { statement: Statement<unknown>; values: readonly unknown[] } | null = null;
  const query = (statement: Statement<unknown>, values: readonly unknown[]) => {
    sent = { statement, values };
    return Promise.resolve([]);
  };
  // Some stores read the row that is not there.
  await list(withFirst(query as Db['query']) as Db).catch(() => undefined);
  return sent ?? Promise.reject(new Error('the list sent no statement'));
}

/** Returns the nodes of the plan with which the statement of a store function ran. */
export async function explain(
  client: Client,
  list: (recorder: Db) => Promise<unknown>,
  mode: Mode,
): Promise<PlanNode[]> {
  const { statement, values } = await capture(list);
  const literals = values.map((value) => {
    if (value === null) return 'null';
    if (typeof value === 'string') return escapeLiteral(value);
    const text = JSON.stringify(value).replaceAll('"', '');
    return Array.isArray(value) ? `'{${text.slice(1, -1)}}'` : `'${text}'`;
  });
  const given = literals.length === 0 ? '' : `(${literals.join(', ')})`;
  // The plan of a search is always made with its values.
  const planned = statement.isSearch ? 'custom' : mode;
  await client.query(`set plan_cache_mode = force_${planned}_plan`);
  await client.query(`set enable_bitmapscan = ${statement.inOrder ? 'off' : 'on'}`);
  await client.query(`set enable_sort = ${statement.isMerged ? 'off' : 'on'}`);
  await client.query(`prepare explained as ${statement.text}`);
  const { rows } = await client.query(
    `explain (analyze, buffers, format json) execute explained ${given}`,
  );
  await client.query('deallocate explained');
  return flatten(rows[0]['QUERY PLAN'][0].Plan as PlanNode);
}

function flatten(node: PlanNode): PlanNode[] {
  const index = node['Index Name'];
  // A shard's index has the number of the shard behind its name.
  const named = index === undefined ? node : { ...node, 'Index Name': index.replace(/_\d+$/, '') };
  return [named, ...(node.Plans ?? []).flatMap(flatten)];
}

/** Returns how many rows of tables and indexes the statement read, wanted or not. */
export function rowsRead(nodes: readonly PlanNode[]): number {
  const scans = nodes.filter((node) => 'Relation Name' in node);
  return scans.reduce((sum, node) => sum + rowsOf(node), 0);
}

/** Returns how many blocks the statement read, from memory or from disk. */
export function blocksRead([whole]: readonly PlanNode[]): number {
  return (whole?.['Shared Hit Blocks'] ?? 0) + (whole?.['Shared Read Blocks'] ?? 0);
}

/** The rows that a node has made or dropped, in all its loops. */
export function rowsOf(node: PlanNode): number {
  const once = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
  return once * (node['Actual Loops'] ?? 1);
}

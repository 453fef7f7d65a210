// Measures what the analytics of a large team cost the database. It explains the statement that the
// service itself sends, and prepares it as the service does, because Postgres may switch to a
// generic plan for a prepared statement.
import pg from 'pg';
import type { Db, Statement } from '../../src/db/client.ts';
import { summarizeTeam } from '../../src/features/analytics/service.ts';
import { httpRequest } from './data.ts';
import { atMost, median, printFigures, printHeading } from './report.ts';
import type { ServerProcess, World } from './world.ts';

interface Explained {
  readonly 'Planning Time': number;
  readonly 'Execution Time': number;
}

/** Prints the costs of the analytics of one team at the time `at`. */
export async function benchAnalytics(
  world: World,
  api: ServerProcess,
  options: { teamId: string; key: string; rounds: number; at: Date },
): Promise<void> {
  const { teamId, key, rounds, at } = options;
  const sent = await captureStatements((db) => summarizeTeam(db, teamId, at));
  const { planMs, executeMs } = await explain(world, sent, rounds);
  const requests = [httpRequest('GET', key, '/analytics/team')];
  const { medianMs } = await world.load({
    ports: [api.port],
    requests,
    concurrency: 1,
    until: { rounds },
  });
  const { rows } = await world.pool.query<{ trainings: string; members: string }>(
    `select (select count(*) from training where team_id = $1) as trainings,
       (select count(*) from member where team_id = $1 and status = 'active') as members`,
    [teamId],
  );
  const trainings = Number(rows[0]?.trainings).toLocaleString('en');
  const title = `Analytics, ${trainings} trainings, ${rows[0]?.members} members, median ms`;
  printHeading(title, ['planning', 'execution', 'sum']);
  const figures = [planMs, executeMs, planMs + executeMs].map((ms) => ms.toFixed(1));
  printFigures('  database', figures, { value: planMs + executeMs, target: atMost(20, ' ms') });
  printFigures('  whole request', ['', '', medianMs.toFixed(1)]);
}

async function explain(
  world: World,
  sent: readonly Sent[],
  rounds: number,
): Promise<{ planMs: number; executeMs: number }> {
  const planning: number[] = [];
  const execution: number[] = [];
  const client = await world.pool.connect();
  try {
    for (const [place, { statement }] of sent.entries())
      await client.query(`prepare bench_${place} as ${statement.text}`);
    for (let round = 0; round < rounds; round += 1) {
      let [planned, executed] = [0, 0];
      for (const [place, { values }] of sent.entries()) {
        const literals = values.map((value) => pg.escapeLiteral(String(value))).join(', ');
        const { rows } = await client.query<{ 'QUERY PLAN': Explained[] }>(
          `explain (analyze, timing off, format json) execute bench_${place}(${literals})`,
        );
        const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
        planned += plan?.['Planning Time'] ?? NaN;
        executed += plan?.['Execution Time'] ?? NaN;
      }
      planning.push(planned);
      execution.push(executed);
    }
  } finally {
    client.release(true);
  }
  return { planMs: median(planning), executeMs: median(execution) };
}

interface Sent {
  readonly statement: Statement<unknown>;
  readonly values: readonly unknown[];
}

/**
 * Returns the statements that `ask` sends. Each query returns no rows, so the service fails after
 * its first one; that is enough as long as it sends only one.
 */
async function captureStatements(ask: (db: Db) => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = [];
  const db: Pick<Db, 'query'> = {
    query: (statement, values) => {
      sent.push({ statement, values });
      return Promise.resolve([]);
    },
  };
  await ask(db as Db).catch(() => undefined);
  return sent;
}

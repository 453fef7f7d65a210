// What the analytics of a large tenant cost the database: the statement that the service itself sends, explained instead of run.
import type { Db, Statement } from '../../src/db/client.ts';
import { summarizeTeam } from '../../src/features/analytics/service.ts';
import { httpRequest } from './data.ts';
import { atMost, median, printFigures, printHeading } from './report.ts';
import type { ServerProcess, World } from './world.ts';

interface Explained {
  readonly 'Planning Time': number;
  readonly 'Execution Time': number;
}

export async function benchAnalytics(
  world: World,
  api: ServerProcess,
  options: { teamId: string; key: string; rounds: number; at: Date },
): Promise<void> {
  const { teamId, key, rounds, at } = options;
  const sent = await captureStatements((db) => summarizeTeam(db, teamId, at));
  const planning: number[] = [];
  const execution: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    let [planMs, executeMs] = [0, 0];
    for (const { statement, values } of sent) {
      const { rows } = await world.pool.query<{ 'QUERY PLAN': Explained[] }>({
        text: `explain (analyze, timing off, format json) ${statement.text}`,
        values: [...values],
      });
      const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
      planMs += plan?.['Planning Time'] ?? NaN;
      executeMs += plan?.['Execution Time'] ?? NaN;
    }
    planning.push(planMs);
    execution.push(executeMs);
  }
  const requests = [httpRequest('GET', key, '/analytics/team')];
  const { medianMs } = await world.load({ port: api.port, requests, concurrency: 1, until: { rounds } });
  const { rows } = await world.pool.query<{ trainings: string; members: string }>(
    `select (select count(*) from training where team_id = $1) as trainings,
       (select count(*) from member where team_id = $1 and status = 'active') as members`,
    [teamId],
  );
  const size = `${Number(rows[0]?.trainings).toLocaleString('en')} trainings, ${rows[0]?.members} members`;
  printHeading(`Analytics, ${size}, median ms`, ['planning', 'execution', 'sum']);
  const [planMs, executeMs] = [median(planning), median(execution)];
  const figures = [planMs, executeMs, planMs + executeMs].map((ms) => ms.toFixed(1));
  printFigures('  database', figures, { value: planMs + executeMs, target: atMost(20, ' ms') });
  printFigures('  whole request, on prepared statements', ['', '', medianMs.toFixed(1)]);
}

interface Sent {
  readonly statement: Statement<unknown>;
  readonly values: readonly unknown[];
}

/** What the service asks of the database. It gets no rows and gives up, which is as far as it must go while it asks once. */
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

// Compares sixteen writes at a time with one at a time, for two endpoints and with everything that
// a write leaves behind (audit entry, event, job, kept response).
import { COMBINATION, httpRequest } from './data.ts';
import { median, printFigures, printHeading } from './report.ts';
import type { ServerProcess, World } from './world.ts';

const CONCURRENCY = 16;
const KEY_HEADER = 'Idempotency-Key: bench-{n}\r\n';
const ASSIGNMENT = {
  ...COMBINATION,
  member_id: 'mem_gen_0000001',
  title: 'Practise objections',
  due_date: '2099-12-31',
};
const INVITATION = { email: 'bench-{n}@invited.example', role: 'member' };

const WRITES = [
  { path: '/assignments', body: ASSIGNMENT },
  { path: '/users', body: INVITATION },
];

/** Prints the comparison for each endpoint, without and with an `Idempotency-Key`. */
export async function benchWrites(
  world: World,
  api: ServerProcess,
  options: { keys: ReadonlyMap<string, string>; runs: number; seconds: number },
): Promise<void> {
  const { keys, runs, seconds } = options;
  printHeading(`Writes, ${keys.size} tenants, requests/s`, [
    'one at a time',
    `${CONCURRENCY} at a time`,
    'ratio',
  ]);
  for (const { path, body } of WRITES) {
    for (const headers of ['', KEY_HEADER]) {
      const requests = [...keys.values()].map((key) =>
        httpRequest('POST', key, path, { body, headers }),
      );
      const run = async (concurrency: number): Promise<number> => {
        await withdrawInvitations(world);
        return (await world.load({ port: api.port, requests, concurrency, until: { seconds } }))
          .perSecond;
      };
      await run(CONCURRENCY);
      const [alone, together]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < runs; turn += 1) {
        alone.push(await run(1));
        together.push(await run(CONCURRENCY));
      }
      const [one, many] = [median(alone), median(together)];
      const what = `  POST ${path}${headers === '' ? '' : ', Idempotency-Key'}`;
      printFigures(what, [one.toFixed(0), many.toFixed(0), (many / one).toFixed(2)]);
    }
  }
}

/** A team may send 60 invitations an hour, which this benchmark exceeds. */
async function withdrawInvitations({ pool }: World): Promise<void> {
  await pool.query(`delete from member where status = 'invited' and email like 'bench-%'`);
}

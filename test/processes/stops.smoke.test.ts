// The production processes as a supervisor stops them.
// @module-tag never-repeated
import { Client } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadTestSeed } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { createTestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import {
  SEED,
  database,
  enqueue,
  gate,
  holdTeam,
  invite,
  jobs,
  query,
  startMailServer,
  statusOf,
  useSeededDatabase,
} from '../support/lifecycle.ts';

useSeededDatabase();

describe('SIGTERM to an API process', () => {
  test('stops accepting connections, lets requests in flight finish and exits 0', async () => {
    const api = await startApiProcess(database.url);
    const kept = new Client(api.url);
    const readyz = { path: '/readyz', method: 'GET' } as const;
    const first = await kept.request(readyz);
    expect(first.statusCode).toBe(200);
    await first.body.dump();
    const hold = await holdTeam();
    const inFlight = invite(api.url, 'in-flight@a.test');
    await hold.untilSomebodyWaits();
    // The client keeps an idle connection for 3 s.
    await (await kept.request(readyz)).body.dump();

    const exited = api.kill('SIGTERM');
    await until(async () => (await statusOf(`${api.url}/healthz`)) === 'refused');
    const { statusCode, headers } = await kept.request(readyz);
    expect(statusCode).toBe(503);
    // The client of a kept connection is told that this was the last response. Closing without that
    // could lose a request that is already on its way.
    expect(headers['connection']).toBe('close');
    await hold.release();
    expect(await inFlight).toEqual([201, 'close']);
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(await query(`select status from member where email = 'in-flight@a.test'`)).toEqual([
      { status: 'invited' },
    ]);
    // What is written now and then is written once more, after the last answer.
    const counted = 'select count_2xx from api_key_usage union all select status from request_log';
    expect(await query(counted)).toEqual([{ count_2xx: 1 }, { count_2xx: 201 }]);
    await kept.destroy();
  });
});

describe('SIGTERM to a worker process', () => {
  test('lets a job in flight finish when it is told to stop', async () => {
    const own = await createTestDatabase();
    onTestFinished(() => own.drop());
    await loadTestSeed(own, SEED);
    const mails = gate();
    const worker = await startWorkerProcess(own.url, {
      SMTP_URL: await startMailServer({ onMailFrom: mails.onMailFrom }),
    });
    await enqueue(own.url);
    await mails.first;
    const exited = worker.kill('SIGTERM');
    mails.open();
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(await jobs(own.url)).toEqual([]);
  });
});

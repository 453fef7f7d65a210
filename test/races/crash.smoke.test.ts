// A process is killed with SIGKILL at the worst moments of a POST with an Idempotency-Key, and the
// client repeats the call at another process.
// @module-tag never-repeated
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { createCall, type Call } from '../support/api.ts';
import {
  client,
  key,
  ONCE,
  OTHER_SESSIONS,
  sendInvitation,
  untilQuiet,
  url,
  useCrashes,
  written,
} from '../support/crashes.ts';
import { lockWhole } from '../support/locks.ts';
import { startApiProcess } from '../support/processes.ts';
import { until } from '../support/until.ts';

useCrashes();

const NEVER = { members: 0, events: 0, audit: 0, records: 0 };

/**
 * Kills a process while another session of this database runs a statement like this for what it was
 * sent. A busy machine may notice the statement too late: then it is sent again, by another name.
 */
async function killDuring(
  pattern: string,
  nameOf: (round: number) => string,
  send: (call: Call, name: string) => Promise<unknown>,
): Promise<string> {
  const active = `select ${OTHER_SESSIONS} and state = 'active' and query ilike $1`;
  for (let round = 1; ; round += 1) {
    const victim = await startApiProcess(url);
    let isAnswered = false;
    const sent = send(createCall(victim.url), nameOf(round)).then(
      () => {
        isAnswered = true;
      },
      () => undefined,
    );
    await until(async () => isAnswered || (await client.query(active, [pattern])).rowCount !== 0);
    await victim.kill('SIGKILL');
    await sent;
    if (!isAnswered) return nameOf(round);
  }
}

describe('a process killed in the middle of a POST with an Idempotency-Key', () => {
  test('between the write and the response acted once; the repeated call is replayed', async () => {
    // COMMIT takes seconds here, so that the kill hits a transaction that Postgres will finish.
    // Citus runs triggers where it is told that it may; plain Postgres ignores the setting.
    await client.query('set citus.enable_unsafe_triggers = on');
    await client.query(
      `create function slow() returns trigger language plpgsql as $$
       begin
         perform pg_sleep(3);
         return null;
       end $$`,
    );
    await client.query(
      `create constraint trigger slow after insert on idempotency_record
       deferrable initially deferred
       for each row execute function slow()`,
    );
    const email = await killDuring(
      'COMMIT%',
      (round) => `after${round}@crash.test`,
      sendInvitation,
    );
    await untilQuiet();
    await client.query('drop trigger slow on idempotency_record');
    expect(await written(email)).toEqual(ONCE);

    const second = await startApiProcess(url);
    const repeated = await sendInvitation(createCall(second.url), email);
    expect(repeated.status).toBe(201);
    expect(repeated.headers['idempotency-replayed']).toBe('true');
    expect(await written(email)).toEqual(ONCE);
    await second.kill('SIGTERM');
  });

  test('before the commit leaves nothing; the repeated call acts', async () => {
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query('begin');
    await holder.query(`select from team where id = 'team_a' for update`);
    const nameOf = (round: number) => `before${round}@crash.test`;
    const email = await killDuring('%for no key update%', nameOf, sendInvitation);
    await holder.end();
    await untilQuiet();
    expect(await written(email)).toEqual(NEVER);

    const second = await startApiProcess(url);
    const repeated = await sendInvitation(createCall(second.url), email);
    expect(repeated.status).toBe(201);
    expect(repeated.headers['idempotency-replayed']).toBeUndefined();
    expect(await written(email)).toEqual(ONCE);
    await second.kill('SIGTERM');
  });
});

describe('a process killed in the middle of a batch', () => {
  const batch = (name: string) => ({
    body: {
      assignments: Array.from({ length: 40 }, (_, n) => ({
        member_id: 'mem_a_member',
        title: `${name} ${n}`,
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      })),
    },
    headers: { 'idempotency-key': name },
  });
  const writtenOf = async (name: string) => {
    const { rows } = await client.query<Record<string, number>>(
      `with a as (select id from assignment where team_id = 'team_a' and title like $1 || ' %')
       select (select count(*)::int from a) as assignments,
         (
           select count(*)::int
           from event
           where team_id = 'team_a' and data->>'assignment_id' in (select id from a)
         ) as events,
         (
           select count(*)::int
           from audit_log
           where team_id = 'team_a' and target_id in (select id from a)
         ) as audit,
         (
           select count(*)::int from idempotency_record where team_id = 'team_a' and key = $1
         ) as records`,
      [name],
    );
    return rows[0];
  };

  const sendBatch = (call: Call, name: string) =>
    call(key, 'POST', '/assignments/batch', batch(name));
  const NOTHING = { assignments: 0, events: 0, audit: 0, records: 0 };
  const ALL = { assignments: 40, events: 40, audit: 40, records: 1 };
  /** Kills a process while its batch waits in a statement like this one for the lock. */
  const killed = async (name: string, lock: string, pattern: string): Promise<string> => {
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query('begin');
    await holder.query(lock);
    const sent = await killDuring(pattern, (round) => name + round, sendBatch);
    await holder.end();
    await untilQuiet();
    return sent;
  };
  const repeat = async (name: string) => {
    const second = await startApiProcess(url);
    const send = () => sendBatch(createCall(second.url), name);
    const [repeated, again] = [await send(), await send()];
    expect(repeated).toMatchObject({ status: 200, body: { created: 40 } });
    expect(again.text).toBe(repeated.text);
    expect(await writtenOf(name)).toEqual(ALL);
    await second.kill('SIGTERM');
    return repeated.headers['idempotency-replayed'];
  };

  test('between its rows leaves all or none; the repeated call creates no other', async () => {
    // The first event waits here. Postgres may have COMMIT already.
    const name = await killed('between', lockWhole('event'), '%insert into event%');
    const written = await writtenOf(name);
    expect([NOTHING, ALL]).toContainEqual(written);
    expect(await repeat(name)).toBe(written?.['assignments'] === 40 ? 'true' : undefined);
  });
});

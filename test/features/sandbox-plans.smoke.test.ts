// What the statements of sandboxes read where there are very many sandboxes, and very many rows in
// one: no more than of a small one. It is counted by Postgres, with the plan that a prepared
// statement keeps and with one that is made with the values, whoever has written the statement.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import * as mails from '../../src/features/sandbox/mail-store.ts';
import { MAILS_MAX } from '../../src/features/sandbox/rules.ts';
import * as plays from '../../src/features/sandbox/play-store.ts';
import * as admins from '../../src/db/team-admins.ts';
import { lockFreeTeam } from '../../src/db/team-lock.ts';
import { SANDBOX_LIMITS } from '../../src/core/sandbox.ts';
import * as sandboxes from '../../src/features/sandbox/store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import type { Mode } from '../support/plans.ts';
import { openSturdyPool } from '../support/pool.ts';
import { openByMode, rowsReadBy } from '../support/rows-read.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** More of them change nothing; they may be set to try that. */
const ROWS = Number(process.env['ROWS'] ?? 20_000);
const SANDBOXES = Number(process.env['SANDBOXES'] ?? 1_500);
const LIVE = 'team_big';
const SANDBOX = 'team_big:sandbox';
const NOW = new Date();
/** The rows that a scenario has of one kind, and some more. */
const FEW = 20;

let api: TestApi;
let databases: ReadonlyMap<Mode, Database>;

beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('big')]) });
  await openSandbox(api, 'big');
  // Without the limits of a process: a million rows take minutes, and their foreign keys as long.
  const pool = openSturdyPool(api.databaseUrl, 1);
  await pool.query('set session_replication_role = replica');
  const load = (text: string) => pool.query(text, [ROWS]);
  await pool.query(
    `insert into team (id, name, created_at)
     select 't' || i || of, 'T', now()
     from generate_series(1, $1::int) i, unnest('{"",":sandbox"}'::text[]) of`,
    [SANDBOXES],
  );
  await pool.query(
    `insert into sandbox (team_id, scenario, created_at, reset_at)
     select 't' || i || ':sandbox', 'typical', now(), now()
     from generate_series(1, $1::int) i`,
    [SANDBOXES],
  );
  for (const of of [SANDBOX, LIVE]) {
    await load(
      `insert into person (team_id, id) select '${of}', 'usr_' || i
       from generate_series(1, $1::int) i`,
    );
    // Of a sandbox most have left; a live team may have as many at once.
    const [status, ended] = of === LIVE ? ['active', 'null'] : ['ended', 'now()'];
    await load(
      `insert into member (team_id, id, user_id, email, role, status, created_at, ended_at)
       select '${of}', 'm' || i, 'usr_' || i, 'm' || i || '@x.test',
         case when i % 2 = 0 and '${status}' = 'active' then 'admin' else 'member' end, '${status}',
         now() - make_interval(days => 200), ${ended}
       from generate_series(1, $1::int) i`,
    );
    for (const kind of ['platform', 'system'])
      await load(
        `insert into audit_log
           (team_id, id, created_at, actor_kind, actor_id, action, request_id)
         select '${of}', '${kind}' || i, now() + make_interval(secs => i), '${kind}', 'x', 'x', 'x'
         from generate_series(1, $1::int) i`,
      );
  }
  await load(
    `insert into assignment (team_id, id, member_id, created_at)
     select '${SANDBOX}', 'a' || i, 'm' || i, now() from generate_series(1, $1::int) i`,
  );
  await load(
    `insert into training (team_id, id, user_id, status, created_at)
     select '${SANDBOX}', 't' || i, 'usr_' || i, 'scored', now()
     from generate_series(1, $1::int) i`,
  );
  await load(
    `insert into evaluation (team_id, training_id, user_id, saved_at, total)
     select '${SANDBOX}', 't' || i, 'usr_' || i, now(), 70 from generate_series(1, $1::int) i`,
  );
  await load(
    `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
     select '${SANDBOX}', 'mail' || i, 'x', 'x', 'x', now() from generate_series(1, $1::int) i`,
  );
  await load(
    `insert into api_key_usage (team_id, day, key_id)
     select team_id, current_date - i, id
     from (select * from api_key where team_id = '${SANDBOX}' limit 1) k,
       generate_series(1, $1::int) i`,
  );
  await pool.query('vacuum analyze');
  await pool.end();
  databases = openByMode(api);
}, 3_600_000);

const nobody = { memberId: undefined, userId: undefined };
const PAGE = 100;
const { seats } = SANDBOX_LIMITS;
const admin = { role: 'admin' as const, created_at: NOW.toISOString(), id: 'm7' };
/** So many rows of a table are few to a reset. */
const BATCH = 1_000;
const mail = {
  id: 'mail_new',
  recipient: 'x',
  subject: 'x',
  body: 'x',
  created_at: NOW.toISOString(),
};

async function sandboxIn(tx: Tx) {
  const row = await sandboxes.findSandbox(tx, SANDBOX);
  if (!row) throw new Error('no sandbox');
  return row;
}

type Case = readonly [what: string, most: number, ask: (tx: Tx) => unknown];

const cases: readonly Case[] = [
  ['the lock of a free team', 1, (tx) => lockFreeTeam(tx, SANDBOX)],
  ['whom to warn', PAGE, (tx) => admins.listAdmins(tx, LIVE, { after: null, limit: PAGE })],
  [
    'whom to warn after some',
    PAGE,
    (tx) => admins.listAdmins(tx, LIVE, { after: admin, limit: PAGE }),
  ],
  ['a page of mails', 51, (tx) => mails.listMails(tx, SANDBOX, { limit: 51, after: null })],
  [
    'a later page of mails',
    51,
    (tx) => mails.listMails(tx, SANDBOX, { limit: 51, after: { at: 'tomorrow', id: 'mail7' } }),
  ],
  ['the sandbox', 2, (tx) => sandboxes.findSandbox(tx, SANDBOX)],
  ['its live team', 1, (tx) => sandboxes.findLiveTeam(tx, LIVE)],
  ['the lock of its live team', 1, (tx) => sandboxes.lockLiveTeam(tx, LIVE)],
  ['the lock of a reset', 1, (tx) => sandboxes.lockForReset(tx, SANDBOX)],
  [
    'what a reset reads and keeps',
    3,
    async (tx) => sandboxes.markReset(tx, await sandboxIn(tx), { scenario: 'typical', at: NOW }),
  ],
  ['who has been there longest', seats, (tx) => plays.findPerson(tx, SANDBOX, 'longest', nobody)],
  ['who came last', seats, (tx) => plays.findPerson(tx, SANDBOX, 'newest', nobody)],
  ['the oldest invitation', seats, (tx) => plays.findInvitation(tx, SANDBOX, undefined)],
  ['an invitation', 1, (tx) => plays.findInvitation(tx, SANDBOX, 'mem_sandbox_lena')],
  ['an assignment', 1, (tx) => plays.findAssignment(tx, SANDBOX, 'a7')],
  [
    'the newest training of a status',
    1,
    (tx) => plays.findTraining(tx, SANDBOX, { id: undefined, status: 'scored' }),
  ],
  ['a training', 1, (tx) => plays.findTraining(tx, SANDBOX, { id: 't7', status: 'scored' })],
  ['an evaluation', 1, (tx) => plays.findEvaluation(tx, SANDBOX, 't7')],
  [
    'whether it is large',
    sandboxes.GROWING.length * (BATCH + 1),
    (tx) => sandboxes.isLarge(tx, SANDBOX),
  ],
  ['a mail among many', MAILS_MAX + 101 + 100, (tx) => mails.insertMail(tx, SANDBOX, mail)],
  ['the connection', FEW, (tx) => plays.lockConnection(tx, SANDBOX, undefined)],
  ['the team', 1, (tx) => plays.findTeam(tx, SANDBOX)],
  ['what is played', 2, (tx) => plays.markPlayed(tx, SANDBOX, { speed: 2 })],
  ['the rate limit', 2, (tx) => plays.fillRateLimit(tx, SANDBOX, { count: 1, now: null })],
];

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  test.each(cases)('%s: at most %i rows are read', async (_, most, ask) => {
    expect(await rowsReadBy(databases.get(mode), ask)).toBeLessThanOrEqual(most);
  });
});

// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// The commands of operators, beside an API that shows what they have done.
import { readFile } from 'node:fs/promises';
import { SignJWT } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { main } from '../../scripts/operator.ts';
import { readArguments } from '../../scripts/operator/arguments.ts';
import { COMMANDS } from '../../scripts/operator/commands.ts';
import { platform } from '../../src/routers/routers.ts';
import { startTestApi, TEST_APP_AUTH_SECRET, type TestApi } from '../support/api.ts';
import { appAs, appAsMember, appAsPlatform, codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { changesOf } from '../support/changed-rows.ts';
import { commandAt, type Ended } from '../support/commands.ts';
import { endWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { performHere } from '../support/operator.ts';
import { makeFullTeam, makeMember, makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';

const RUNBOOK = new URL('../../scripts/deploy/README.md', import.meta.url);
const FULL = [
  'leaky',
  'look',
  'closed',
  'asked',
  'passed',
  'gone',
  'left',
  'boxed',
  'twice',
  'killed',
  'busy',
];

/** A terminal would clear its screen, in two ways, and show a line of another team. */
const ODD_NAME = 'Odd\u001b[2J\u009b2J\u007f\nteam_look: Look';

/** A team without keys, as it is right after its creation. */
const keyless = (name: string) => ({ ...makeTeam(name), api_keys: [] });

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([
      ...FULL.map((name) =>
        makeFullTeam(name, {
          members: [makeMember(name, 'invited', { role: 'admin', status: 'invited' })],
        }),
      ),
      makeTeam('over', { status: 'ended' }),
      makeTeam('out', { status: 'ended' }),
      makeTeam('done', { status: 'ended' }),
      keyless('linked'),
      keyless('printed'),
      { ...keyless('shut'), status: 'suspended' },
      { ...keyless('plain'), plan: 'starter' },
      { ...keyless('odd'), name: ODD_NAME },
    ]),
  });
});

const run = (...args: string[]): Promise<Ended> =>
  commandAt(api.databaseUrl)(main, args, { PUBLIC_URL: api.url });

/** Runs a command with `--json` and returns what it prints. */
async function runJson(...args: string[]): Promise<Json> {
  const { code, stdout, output } = await run(...args, '--json');
  expect(code, output).toBe(0);
  return JSON.parse(stdout) as Json;
}

interface Json {
  readonly changed: boolean;
  readonly would_change: boolean;
  readonly request_id: string | null;
  readonly recorded: readonly { readonly action: string }[];
  readonly result: Readonly<Record<string, string>> | null;
}

const team = (name: string): string => `team_${name}`;
const statusOfMe = async (key: string): Promise<number> =>
  (await api.call(key, 'GET', '/me')).status;

/** What operators have done in a team, oldest first. */
async function doneBy(name: string): Promise<string[]> {
  const entries = await auditOf(api, team(name));
  return entries
    .filter(
      ({ actor_kind, actor_id }) => actor_kind === 'platform' && actor_id.startsWith('operator'),
    )
    .map(({ action }) => action);
}

const NOTHING = 'Nothing to do';

describe('team create', () => {
  const NEW = ['--name', 'New GmbH', '--owner-user-id', 'usr_new', '--owner-email', 'new@x.test'];

  test('creates a team whose owner can sign in; repeated, it changes nothing', async () => {
    const created = await runJson('team', 'create', 'team_new', ...NEW, '--seats', '7');
    expect(created).toMatchObject({ changed: true, result: { team_id: 'team_new' } });
    const [entry] = await auditOf(api, 'team_new');
    expect(entry).toMatchObject({
      actor_kind: 'platform',
      actor_id: 'operator',
      action: 'team.created',
      details: { owner_member_id: created.result?.['owner_member_id'] },
    });
    const { rows } = await api.db.pool.query(
      `select t.seats, m.role, a.request_id
       from team t
       join member m on m.team_id = t.id
       join audit_log a on a.team_id = t.id
       where t.id = 'team_new'`,
    );
    expect(rows).toEqual([{ seats: 7, role: 'owner', request_id: created.request_id }]);
    const again = await run('team', 'create', 'team_new', ...NEW, '--seats', '7');
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining(NOTHING) });
    const other = await run('team', 'create', 'team_new', ...NEW, '--seats', '8');
    expect(other).toMatchObject({
      code: 1,
      output: expect.stringContaining('conflict: Conflict.'),
    });
    expect(await auditOf(api, 'team_new')).toHaveLength(1);
  });

  test('two at once create one team', async () => {
    const both = await Promise.all([
      runJson('team', 'create', 'team_race', ...NEW),
      runJson('team', 'create', 'team_race', ...NEW),
    ]);
    expect(both.filter(({ changed }) => changed)).toHaveLength(1);
    expect(both[0].result).toEqual(both[1].result);
    expect(await auditOf(api, 'team_race')).toHaveLength(1);
  });
});

describe('the status of a team', () => {
  test('suspend and resume: keys are refused meanwhile', async () => {
    const key = api.key(team('closed'));
    expect(await statusOfMe(key)).toBe(200);
    expect(await run('team', 'suspend', team('closed'), '--as', 'kim.b')).toMatchObject({
      code: 0,
    });
    expect(await statusOfMe(key)).toBe(403);
    const again = await run('team', 'suspend', team('closed'));
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining(NOTHING) });
    expect(await runJson('team', 'resume', team('closed'))).toMatchObject({ changed: true });
    expect(await statusOfMe(key)).toBe(200);
    const entries = await auditOf(api, team('closed'));
    expect(entries.map(({ actor_id, details }) => [actor_id, details])).toEqual([
      ['operator:kim.b', { from: { status: 'active' }, to: { status: 'suspended' } }],
      ['operator', { from: { status: 'suspended' }, to: { status: 'active' } }],
    ]);
  });

  test('end asks, and changes nothing until the team is named', async () => {
    const key = api.key(team('asked'));
    const end = ['team', 'end', team('asked')];
    const changes = await changesOf(api.db.pool, async () => {
      const alone = await run(...end);
      expect(alone).toMatchObject({
        code: 64,
        output: expect.stringContaining('--yes team_asked'),
      });
      expect(alone.stdout).toContain('live keys: ');
      const other = await run(...end, '--yes', 'team_closed');
      expect(other).toMatchObject({ code: 64, output: expect.stringContaining('another team') });
    });
    expect(changes).toEqual({});
    expect(await run(...end, '--yes', team('asked'))).toMatchObject({ code: 0 });
    expect(await statusOfMe(key)).toBe(403);
    for (const wrong of ['suspend', 'resume']) {
      const refused = await run('team', wrong, team('asked'));
      expect(refused.output, wrong).toContain(
        'conflict: Conflict. The status of the team is ended.',
      );
      expect(refused.code, wrong).toBe(1);
    }
    expect(await run('team', 'reopen', team('asked'))).toMatchObject({ code: 0 });
    expect(await statusOfMe(key)).toBe(200);
    expect(await doneBy('asked')).toEqual(['team.updated', 'team.updated']);
  });

  test('a person is asked, and only the team’s id is a yes', async () => {
    const asked: string[] = [];
    const answering = (answer: string): Promise<Ended> => {
      const ask = async (question: string): Promise<string> => {
        asked.push(question);
        return answer;
      };
      return commandAt(api.databaseUrl, { ask })(main, ['team', 'end', team('look')]);
    };
    for (const no of ['', 'yes', 'team_loo'])
      expect(await answering(no), no).toMatchObject({
        code: 1,
        stderr: 'Not confirmed. Nothing was changed.\n',
      });
    expect(await statusOfMe(api.key(team('look')))).toBe(200);
    expect(await answering('team_look\n')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Done, as request'),
    });
    expect(await statusOfMe(api.key(team('look')))).toBe(403);
    expect(await run('team', 'reopen', team('look'))).toMatchObject({ code: 0 });
    expect(new Set(asked)).toEqual(new Set(['Type team_look to go on: ']));
  });

  test('update sets what is named', async () => {
    const changed = await runJson(
      'team',
      'update',
      team('look'),
      '--seats',
      '9',
      '--language',
      'en',
    );
    expect(changed.result).toMatchObject({ seats: 9, language: 'en', status: 'active' });
    expect(await runJson('team', 'update', team('look'), '--seats', '9')).toMatchObject({
      changed: false,
    });
  });
});

describe('team transfer', () => {
  const transfer = (member: string, ...more: string[]) =>
    run('team', 'transfer', team('passed'), '--member-id', member, ...more);
  const yes = ['--yes', team('passed')];

  test('makes an active member the owner, and no other', async () => {
    const invited = await transfer(memberId('passed', 'invited'), ...yes);
    expect(invited.code).toBe(1);
    expect(invited.output).toContain('--member-id: An owner is an active member.');
    const unknown = await transfer('mem_nobody', ...yes);
    expect(unknown).toMatchObject({ code: 1, output: expect.stringContaining('not_found') });
    expect(unknown.output).toContain('--member-id');
    expect(await transfer(memberId('passed', 'admin'), ...yes)).toMatchObject({ code: 0 });
    const app = await appAsMember(api, 'passed', 'admin');
    expect(await codeOf(app.admin.team.privacy.set.mutate({ leaderboard_enabled: false }))).toBe(
      'ok',
    );
    expect((await transfer(memberId('passed', 'admin'))).output).toContain(NOTHING);
    expect(await doneBy('passed')).toEqual(['team.ownership_transferred']);
  });
});

describe('team erase', () => {
  test('is refused before it asks, unless the team has ended', async () => {
    const refused = await run('team', 'erase', team('gone'));
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('has not ended') });
  });

  test('marks a team that has ended: nobody knows it any more', async () => {
    const erase = ['team', 'erase', team('over'), '--yes', team('over')];
    const both = await Promise.all([runJson(...erase), runJson(...erase)]);
    expect(both.filter(({ changed }) => changed)).toHaveLength(1);
    expect(await doneBy('over')).toEqual(['team.erasure_requested']);
    const app = await appAsPlatform(api);
    const update = app.platform.teams.update.mutate({ team_id: team('over'), seats: 1 });
    expect(await codeOf(update)).toBe('not_found');
    expect((await run(...erase)).output).toContain(NOTHING);
    expect((await run('team', 'reopen', team('over'))).output).toContain('not_found');
  });
});

describe('person delete', () => {
  test('ends the membership and removes the address; an owner is refused', async () => {
    const remove = (name: string) =>
      run(
        'person',
        'delete',
        team('left'),
        '--user-id',
        userId('left', name),
        '--yes',
        team('left'),
      );
    expect(await remove('owner')).toMatchObject({
      code: 1,
      output: expect.stringContaining('owner: Team owner.'),
    });
    expect(await remove('member')).toMatchObject({ code: 0 });
    const { body } = await api.call(api.key(team('left')), 'GET', '/users');
    expect(JSON.stringify(body)).not.toContain(userId('left', 'member'));
    const { rows } = await api.db.pool.query('select email from member where id = $1', [
      memberId('left', 'member'),
    ]);
    expect(rows).toEqual([{ email: null }]);
    expect(await doneBy('left')).toEqual(['member.removed', 'person.deleted']);
    expect((await remove('member')).output).toContain(NOTHING);
  });

  test('keeps nobody waiting while it touches assignments; repeated, it touches them', async () => {
    const remove = ['person', 'delete', team('busy'), '--user-id', userId('busy', 'member')];
    await api.db.pool.query(
      `insert into assignment (team_id, id, member_id, status, title, created_at)
       values ('team_busy', 'asg_done', $1, 'done', 'Done', '2026-01-01Z')`,
      [memberId('busy', 'member')],
    );
    const ofMember = `from assignment where team_id = 'team_busy' and id = 'asg_done'`;
    const isTouched = async (): Promise<unknown> => {
      const { rows } = await api.db.pool.query(
        `select updated_at > now() - interval '1 day' as touched ${ofMember}`,
      );
      return rows[0]?.touched;
    };
    const release = await holdLock(api, `select ${ofMember} for update`);
    const command = run(...remove, '--yes', team('busy'));
    await untilWaiting(api, 1);
    const body = { email: 'next@busy.test' };
    expect((await api.call(api.key(team('busy')), 'POST', '/users', { body })).status).toBe(201);
    await release();
    expect(await command).toMatchObject({ code: 0 });
    expect(await isTouched()).toBe(true);

    // As if the process had died right after its commit.
    await api.db.pool.query(`update assignment set updated_at = '2026-01-01Z' where team_id = $1`, [
      team('busy'),
    ]);
    expect(await run(...remove, '--dry-run')).toMatchObject({ code: 0 });
    expect(await isTouched()).toBe(false);
    expect((await run(...remove, '--yes', team('busy'))).output).toContain(NOTHING);
    expect(await isTouched()).toBe(true);
  });
});

describe('key create-first', () => {
  const create = (name: string, ...more: string[]) =>
    run('key', 'create-first', team(name), '--name', 'First', '--template', 'read_only', ...more);

  test('prints the key once, and stores it nowhere', async () => {
    const made = await create('linked');
    expect(made.code, made.output).toBe(0);
    const [key = ''] = /svck_live_\w+/.exec(made.stdout) ?? [];
    const { body } = await api.call(key, 'GET', '/me');
    expect(body).toMatchObject({ tenant_id: team('linked') });
    const { rows } = await api.db.pool.query('select created_by from api_key where team_id = $1', [
      team('linked'),
    ]);
    expect(rows).toEqual([{ created_by: memberId('linked', 'owner') }]);
    expect(await doneBy('linked')).toEqual(['api_key.created']);
  });

  test('refuses a second one', async () => {
    const both = await Promise.all([create('printed', '--json'), create('printed', '--json')]);
    const [done, refused] = both.toSorted((one, other) => Number(one.code) - Number(other.code));
    expect([done?.code, refused?.code]).toEqual([0, 1]);
    expect(refused?.output).toContain('conflict: Conflict. The team has a live key.');
    const { result } = JSON.parse(done?.stdout ?? '') as Json;
    expect(await statusOfMe(result?.['key'] ?? '')).toBe(200);
    expect(await doneBy('printed')).toEqual(['api_key.created']);
  });

  test('is refused for a team that could not use it', async () => {
    for (const name of ['shut', 'plain'])
      expect(await create(name), name).toMatchObject({
        code: 1,
        output: expect.stringContaining('api_disabled'),
      });
    const none = await run('key', 'create-first', team('look'), '--name', 'First');
    expect(none).toMatchObject({ code: 64, output: expect.stringContaining('by template or by') });
  });
});

describe('key revoke', () => {
  const revoke = (name: string, keyId: string, ...more: string[]) =>
    run('key', 'revoke', team(name), '--key-id', keyId, ...more);

  /** By SQL as the runbook has it, which begins with a key that somebody was sent. */
  async function findByRunbook(key: string): Promise<{ team_id: string; id: string }> {
    const [, prefix = ''] = /^svck_live_([0-9a-f]+)_/.exec(key) ?? [];
    const [, section = ''] = (await readFile(RUNBOOK, 'utf8')).split('## A key has leaked');
    const [, sql = ''] = /psql "\$DATABASE_URL" -c "([^"]+)"/.exec(section) ?? [];
    const { rows } = await api.db.pool.query<{ team_id: string; id: string }>(
      sql.replace('PREFIX', prefix),
    );
    expect(rows).toHaveLength(1);
    return rows[0] ?? { team_id: '', id: '' };
  }

  test('ends a leaked key at once, and no other key of the team', async () => {
    const [leaked, other] = ['full', 'by_admin'].map((name) => api.key(team('leaky'), name));
    const found = await findByRunbook(String(leaked));
    expect(found.team_id).toBe(team('leaky'));
    expect((await api.call(String(leaked), 'GET', '/me')).status).toBe(200);
    const alone = await revoke('leaky', found.id);
    expect(alone).toMatchObject({
      code: 64,
      output: expect.stringContaining('All programs with this key are refused'),
    });
    expect(await statusOfMe(String(leaked))).toBe(200);
    const yes = ['--yes', team('leaky')];
    const both = await Promise.all([
      runJson('key', 'revoke', team('leaky'), '--key-id', found.id, ...yes),
      runJson('key', 'revoke', team('leaky'), '--key-id', found.id, ...yes),
    ]);
    expect(both.filter(({ changed }) => changed)).toHaveLength(1);
    expect(both.find(({ changed }) => changed)?.result).toMatchObject({ key_id: found.id });
    expect(await statusOfMe(String(leaked))).toBe(401);
    expect(await statusOfMe(String(other))).toBe(200);
    expect((await revoke('leaky', found.id, ...yes)).output).toContain(NOTHING);
    expect(await doneBy('leaky')).toEqual(['api_key.revoked']);
  });

  test('works for a team that has ended, and knows no key of another team', async () => {
    const found = await findByRunbook(api.key(team('out')));
    const foreign = await revoke('look', found.id, '--yes', team('look'));
    expect(foreign).toMatchObject({
      code: 1,
      output: expect.stringContaining('not_found: Not found. --key-id:'),
    });
    expect(await revoke('out', found.id, '--yes', team('out'))).toMatchObject({ code: 0 });
    expect(await doneBy('out')).toEqual(['api_key.revoked']);
  });
});

test('sandbox create and remove', async () => {
  expect(await runJson('sandbox', 'create', team('boxed'))).toMatchObject({ changed: true });
  expect(await runJson('sandbox', 'create', team('boxed'))).toMatchObject({ changed: false });
  const remove = ['sandbox', 'remove', team('boxed'), '--yes', team('boxed')];
  expect(await run(...remove)).toMatchObject({ code: 0 });
  expect(await doneBy('boxed')).toEqual(['sandbox.created', 'sandbox.removed']);
  const { rows } = await api.db.pool.query(
    'select erasing_since is not null as erasing from team where id = $1',
    [`${team('boxed')}:sandbox`],
  );
  expect(rows).toEqual([{ erasing: true }]);
});

/** Stands for the id of a key, which is made when the team is. */
const KEY_ID = 'the id of a key';

/** The options of each command, for a team where it would change something. */
const USES: Readonly<Record<string, readonly [name: string, ...options: string[]]>> = {
  'team create': ['fresh', '--name', 'x', '--owner-user-id', 'u', '--owner-email', 'u@x.test'],
  'team update': ['twice', '--name', 'Other'],
  'team suspend': ['twice'],
  'team resume': ['shut'],
  'team end': ['twice'],
  'team reopen': ['out'],
  'team transfer': ['twice', '--member-id', memberId('twice', 'admin')],
  'team erase': ['done'],
  'person delete': ['twice', '--user-id', userId('twice', 'member')],
  'key create-first': ['empty', '--name', 'x', '--scopes', 'users:read,users:write'],
  'key revoke': ['twice', '--key-id', KEY_ID],
  'sandbox create': ['empty'],
  'sandbox remove': ['kept'],
};

describe('each command', () => {
  let keyId = '';
  beforeAll(async () => {
    const app = await appAsPlatform(api);
    for (const name of ['empty', 'kept'])
      await app.platform.teams.create.mutate({
        team_id: team(name),
        name,
        owner: { user_id: `usr_${name}`, email: `${name}@x.test` },
      });
    await app.platform.teams.createSandbox.mutate({ team_id: team('kept') });
    const { rows } = await api.db.pool.query<{ id: string }>(
      `select id from api_key where team_id = 'team_twice' and name = 'full'`,
    );
    keyId = String(rows[0]?.id);
  });

  const argumentsOf = (command: string, teamId?: string): string[] => {
    const [name = '', ...options] = USES[command] ?? [];
    const given = options.map((option) => (option === KEY_ID ? keyId : option));
    return [...command.split(' '), teamId ?? team(name), ...given];
  };

  test('with --dry-run changes nothing, and says what it would record', async () => {
    const changes = await changesOf(api.db.pool, async () => {
      for (const { name } of COMMANDS) {
        const dry = await run(...argumentsOf(name), '--dry-run');
        expect(dry.output, name).toContain('It would be recorded:');
        expect(dry.output, name).toContain('Dry run: nothing was changed.');
        expect(dry.output, name).not.toContain('svck_');
        expect(dry.code, name).toBe(0);
      }
    });
    expect(changes).toEqual({});
  });

  test('says to programs what it would change', async () => {
    const json = await runJson(...argumentsOf('key create-first'), '--dry-run');
    const recorded = [{ action: 'api_key.created' }];
    const expected = { changed: false, would_change: true, result: null, request_id: null };
    expect(json).toMatchObject({ ...expected, recorded });
  });

  test('takes its locks in order, as test/record-locks.ts sees in this process alone', async () => {
    for (const { name } of COMMANDS) {
      const { recorded } = await performHere(api, ...argumentsOf(name));
      expect(recorded.length, name).toBeGreaterThan(0);
    }
  });

  test('is refused for a team that does not exist, and for a sandbox', async () => {
    const names = ['team suspend', 'team erase', 'person delete', 'key create-first', 'key revoke'];
    for (const name of names) {
      const unknown = await run(...argumentsOf(name, 'team_none'), '--yes', 'team_none');
      expect(unknown.output, name).toContain('team_none: there is no such team.');
      expect(unknown.output, name).toContain('not_found: Not found.');
      expect(unknown.code, name).toBe(1);
    }
    for (const { name } of COMMANDS)
      expect(() => readArguments(argumentsOf(name, 'team_kept:sandbox')), name).toThrow(
        'TEAM: An id of a team does not end with :sandbox.',
      );
  });

  test('is in the help', async () => {
    const help = await run('--help');
    expect(help.code).toBe(0);
    for (const { name, does } of COMMANDS) {
      expect(help.stdout).toContain(`run ${name} TEAM`);
      expect(help.stdout).toContain(does);
    }
    const one = await run('team', 'transfer', '--help');
    expect(one.stdout).toContain('--member-id TEXT  (required)');
    expect(one.stdout).not.toContain('run team erase');
  });
});

test('what a terminal would obey is shown, and does nothing', async () => {
  const words = ['team', 'suspend', team('odd'), '--dry-run'];
  const shown = await run(...words);
  expect(shown.output).toContain(
    'team_odd: Odd\\u{1b}[2J\\u{9b}2J\\u{7f}\\u{a}team_look: Look; active;',
  );
  expect(shown.output).not.toMatch(/[^\P{Cc}\n]/u);
  // A dry run tells programs the name, in the same way.
  const { stdout } = await run(...words, '--json');
  expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
  expect(JSON.parse(stdout)).toMatchObject({ before: { name: ODD_NAME } });
  const id = 'team_none\u001b[2J';
  for (const more of [[], ['--yes', id], ['--yes', 'team_other']]) {
    const unknown = await run('team', 'suspend', id, ...more);
    expect(unknown.code).not.toBe(0);
    expect(unknown.output).not.toMatch(/[^\P{Cc}\n]/u);
  }
});

test('wrong arguments end the command with 64', async () => {
  const refused = await run('team', 'update', team('look'), '--seats', 'many');
  expect(refused).toMatchObject({ code: 64, stdout: '' });
  expect(refused.output).toBe('--seats: Invalid input: expected number, received string\n');
});

test.each([
  [['team', 'burn', 'team_look'], 'There is no command "team burn".'],
  [['team', 'suspend'], '"team suspend" takes the id of one team'],
  [['team', 'suspend', 'team_look', 'team_gone'], 'takes the id of one team'],
  [['team', 'suspend', 'team_look', '--seats', '3'], "'--seats'"],
  [['team', 'update', 'team_look', '--status', 'ended'], "'--status'"],
  [['team', 'update', 'team_look'], '"team update" needs an option'],
  [['team', 'update', 'team_look', '--seats', 'many'], '--seats: '],
  [['team', 'update', 'team_look', '--plan', 'gold', '--seats', '-1'], '--seats'],
  [['team', 'create', 'team_x', '--owner-email', 'x@x.test'], '--owner-user-id is required.'],
  [['team', 'suspend', 'team_look', '--as', 'Kim Berg'], '--as takes'],
])('wrong arguments are named: %j', (args, says) => {
  expect(() => readArguments(args)).toThrow(says);
});

test('another APP_SECRET is refused', async () => {
  const refused = await commandAt(api.databaseUrl)(main, ['team', 'suspend', team('gone')], {
    APP_SECRET: 'a secret that this database does not know',
  });
  expect(refused).toMatchObject({
    code: 1,
    output: expect.stringContaining('APP_SECRET is not the secret of this database'),
  });
  expect(await doneBy('gone')).toEqual([]);
});

test('interrupted, a command has done nothing, and can be run again', async () => {
  const person = ['team_killed', '--user-id', 'usr_killed_member'];
  const wanted = ['person', 'delete', ...person, '--yes', 'team_killed'];
  const changes = await changesOf(api.db.pool, async () => {
    const release = await holdLock(
      api,
      `select from member where team_id = 'team_killed' for update`,
    );
    const command = run(...wanted);
    await untilWaiting(api, 1);
    await endWaiting(api);
    expect(await command).toMatchObject({ code: 1 });
    await release();
  });
  expect(changes).toEqual({});
  expect(await run(...wanted)).toMatchObject({ code: 0 });
  expect(await doneBy('killed')).toEqual(['member.removed', 'person.deleted']);
});

/** What the host application reports about its own work: nothing for an operator to say. */
const REPORTS = [
  'members.accept',
  'trainings.start',
  'trainings.end',
  'trainings.abort',
  'evaluations.save',
  'cases.create',
  'cases.update',
  'cases.remove',
  'catalog.saveEntries',
  'catalog.saveTeamEntries',
  'catalog.saveRules',
];

test('every procedure for the host application is a report, or has a command', () => {
  const commands = COMMANDS.map(({ procedure }) => procedure);
  expect(Object.keys(platform._def.procedures).toSorted()).toEqual(
    [...new Set([...commands, ...REPORTS])].toSorted(),
  );
});

describe('the runbook', () => {
  test('has an example of each command, which is understood', async () => {
    const lines = (await readFile(RUNBOOK, 'utf8')).match(/^run \w+ [\w-]+ team_.*$/gm) ?? [];
    const wanted = lines.map((line) => {
      const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
      return readArguments(args.slice(1).map(String));
    });
    const named = wanted.map((one) => (typeof one === 'string' ? one : one.command.name));
    expect(named.toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
  });

  test('names the claims that a token of a service must have', async () => {
    const [, rest = ''] = (await readFile(RUNBOOK, 'utf8')).split('### Tokens for `/trpc`');
    const [section = ''] = rest.split(/^## /m);
    const rows = [...section.matchAll(/^\| `(\w+)` +\| (?:`([\w-]+)`)?/gm)];
    const now = Math.floor(Date.now() / 1000);
    const values: Record<string, unknown> = { sub: 'service', iat: now, exp: now + 300 };
    const claims = rows.map(([, name = '', value]) => [name, value ?? values[name]] as const);
    const answerTo = async (payload: Readonly<Record<string, unknown>>): Promise<string> => {
      const token = await new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(TEST_APP_AUTH_SECRET));
      const app = appAs(api, token);
      return codeOf(app.platform.teams.update.mutate({ team_id: 'team_none', seats: 1 }));
    };
    expect(claims).toHaveLength(6);
    expect(await answerTo(Object.fromEntries(claims))).toBe('not_found');
    for (const [missing] of claims) {
      const others = claims.filter(([name]) => name !== missing);
      expect(await answerTo(Object.fromEntries(others)), missing).toBe('unauthorized');
    }
  });
});

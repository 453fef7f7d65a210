// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../scripts/announce.ts';
import { loadTestSeed } from '../support/api.ts';
import { commandAt, type Ended } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { makeMember, makeSeed, makeTeam, memberId, type TeamSeed } from '../support/seed.ts';

const ARGUMENTS = ['--version', 'v1', '--deprecation', '2027-01-01', '--sunset', '2028-01-01'];

const LATER_ARGUMENTS = [...ARGUMENTS.slice(0, -1), '2028-02-01'];

/** Files for `DEPRECATIONS_FILE`, with the dates of the arguments and with others. */
let folder: string;
let deprecations: string;
let laterDeprecations: string;
beforeAll(async () => {
  folder = await makeFolder('deprecations');
  deprecations = await writeDates('2028-01-01');
  laterDeprecations = await writeDates('2028-02-01');
});

async function writeDates(sunset: string): Promise<string> {
  const file = join(folder, `${sunset}.json`);
  await writeFile(file, JSON.stringify({ version: { since: '2027-01-01', sunset } }));
  return file;
}

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  return () => database.drop();
});

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  commandAt(database.url)(main, args, { DEPRECATIONS_FILE: deprecations, ...env });

/** Makes a team with these keys only, each created by the member of that name. */
function teamWith(
  name: string,
  keys: Partial<NonNullable<TeamSeed['api_keys']>[number]>[],
  fields = {},
): TeamSeed {
  const api_keys = keys.map((key, index) => ({
    name: `key ${index}`,
    scopes: [],
    ...key,
    created_by: memberId(name, key.created_by ?? 'owner'),
  }));
  return { ...makeTeam(name, fields), api_keys };
}

const PAST = '2026-01-01T00:00:00Z';

describe('who is mailed', () => {
  const teams = [
    teamWith(
      'a',
      [
        { created_by: 'owner' },
        { created_by: 'admin', name: 'Reporting' },
        { created_by: 'admin' },
      ],
      {
        name: 'Acme\r\nBcc: all@x.test',
        language: 'de',
        members: [makeMember('a', 'english', { role: 'admin' })],
      },
    ),
    teamWith('b', [{ revoked_at: PAST }, { expires_at: PAST }, { created_by: 'english' }], {
      members: [makeMember('b', 'english', { role: 'admin' })],
      language: 'de',
    }),
    teamWith('none', []),
    teamWith('dead', [{ revoked_at: PAST }, { expires_at: PAST }]),
    teamWith('ended', [{}], { status: 'ended' }),
    teamWith('suspended', [{ created_by: 'admin' }], { status: 'suspended' }),
    teamWith('left', [{ created_by: 'gone' }], {
      members: [makeMember('left', 'gone', { role: 'admin', status: 'ended' })],
    }),
    teamWith('demoted', [{ created_by: 'member' }]),
  ];
  const EXPECTED = [
    'admin@a.test',
    'admin@suspended.test',
    'english@b.test',
    'owner@a.test',
    'owner@demoted.test',
    'owner@left.test',
  ];

  const seed = async (): Promise<void> => {
    await loadTestSeed(database, makeSeed(teams));
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`update member set language = 'en' where id like '%_english'`);
    await client.end();
  };

  // If the creator of a key is no longer an admin, the owner gets the mail.
  test('every admin who has an active key, once and in their language', async () => {
    await seed();
    const mail = await startMailServer();
    const first = await run(ARGUMENTS, {
      SMTP_URL: mail.url,
      PUBLIC_URL: 'https://api.example.com',
    });
    expect(first).toMatchObject({
      code: 0,
      output: expect.stringContaining('6 mails sent, 0 failed.'),
    });
    expect(mail.received.map(({ to }) => to).toSorted()).toEqual(EXPECTED);
    const textTo = (to: string) => mail.received.find((received) => received.to === to)?.text ?? '';
    for (const part of [
      'endet am 1. Januar 2028',
      '1. Januar 2027',
      'https://api.example.com/docs',
    ])
      expect(textTo('admin@a.test'), part).toContain(part);
    // In the order in which the database sorts texts.
    expect(textTo('admin@a.test')).toMatch(/Reporting, key 2|key 2, Reporting/);
    for (const part of ['ends on 1 January 2028', '1 January 2027', 'key 2'])
      expect(textTo('english@b.test'), part).toContain(part);
    expect(textTo('admin@a.test')).not.toMatch(/^Bcc:/m);
    expect(first.output).not.toMatch(/\ba\.test/);

    expect((await run(ARGUMENTS, { SMTP_URL: mail.url })).output).toContain(
      '0 mails sent, 0 failed.',
    );
    expect(mail.received).toHaveLength(6);
    const env = { SMTP_URL: mail.url, DEPRECATIONS_FILE: laterDeprecations };
    const later = await run(LATER_ARGUMENTS, env);
    expect(later.output).toContain('6 mails sent, 0 failed.');
    await mail.stop();
  });

  test('--dry-run prints the number of mails by team, no address, and sends nothing', async () => {
    await seed();
    const folder = await makeFolder('mail');
    const dry = await run([...ARGUMENTS, '--dry-run'], { MAIL_DIR: folder });
    expect(dry.code).toBe(0);
    for (const line of [
      'team_a: 2',
      'team_b: 1',
      'team_left: 1',
      '6 mails to 5 teams would be sent; 0 were sent before.',
    ])
      expect(dry.output.split('\n'), line).toContain(line);
    expect(dry.output).not.toMatch(/\b[ab]\.test/);
    expect(await readdir(folder)).toEqual([]);
    expect((await run(ARGUMENTS, { MAIL_DIR: folder })).code).toBe(0);
    const files = await readdir(folder);
    expect(files).toHaveLength(6);
    expect(await readFile(join(folder, files[0] ?? ''), 'utf8')).toContain('Subject:');
    expect((await run([...ARGUMENTS, '--dry-run'])).output).toContain(
      '0 mails to 0 teams would be sent; 6 were sent before.',
    );
  });
});

describe('failures', () => {
  const admins = Array.from({ length: 20 }, (_, index) => `admin${String(index).padStart(2, '0')}`);
  const team = teamWith(
    'a',
    admins.map((created_by) => ({ created_by })),
    { members: admins.map((name) => makeMember('a', name, { role: 'admin' })) },
  );
  const addresses = admins.map((name) => `${name}@a.test`);

  test('a refused recipient does not block the others, and the next run tries again', async () => {
    await loadTestSeed(database, makeSeed([team]));
    let isRefusing = true;
    const mail = await startMailServer(async (to) => {
      if (!isRefusing || to !== addresses[3]) return undefined;
      return Object.assign(new Error(`no ${to} here`), { responseCode: 550 });
    });
    const first = await run(ARGUMENTS, { SMTP_URL: mail.url });
    expect(first).toMatchObject({
      code: 1,
      output: expect.stringContaining('19 mails sent, 1 failed.'),
    });
    expect(first.output).not.toMatch(/\ba\.test/);
    isRefusing = false;
    expect((await run(ARGUMENTS, { SMTP_URL: mail.url })).output).toContain(
      '1 mails sent, 0 failed.',
    );
    expect(mail.received.map(({ to }) => to).toSorted()).toEqual(addresses);
    await mail.stop();
  });

  describe('recipients that are refused', () => {
    /** Refuses these recipients until it is told to accept all. `asked` has every mail offered. */
    async function startRefusing(refused: readonly string[], responseCode: number) {
      const asked: string[] = [];
      let isRefusing = true;
      const mail = await startMailServer(async (to) => {
        asked.push(to);
        if (!isRefusing || !refused.includes(to)) return undefined;
        return Object.assign(new Error('not here'), { responseCode });
      });
      return { ...mail, asked, takeAll: () => (isRefusing = false) };
    }
    const addressesOf = (mail: MailServer) => mail.received.map(({ to }) => to).toSorted();

    const at = (places: readonly number[]) => places.map((place) => addresses[place] ?? '');

    test('five in a row for now end the run; the next one mails the rest', async () => {
      await loadTestSeed(database, makeSeed([team]));
      const mail = await startRefusing(at([2, 3, 4, 5, 6]), 451);
      const first = await run(ARGUMENTS, { SMTP_URL: mail.url });
      expect(first).toMatchObject({
        code: 1,
        output: expect.stringContaining('The mail server takes nothing. Run it again later.'),
      });
      expect(first.output).not.toMatch(/\ba\.test/);
      expect(mail.asked).toEqual(addresses.slice(0, 7));
      expect(addressesOf(mail)).toEqual(addresses.slice(0, 2));
      mail.takeAll();
      expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
        code: 0,
        output: expect.stringContaining('18 mails sent, 0 failed.'),
      });
      expect(addressesOf(mail)).toEqual(addresses);
      await mail.stop();
    });

    test('four in a row do not, however often: an accepted mail resets the count', async () => {
      await loadTestSeed(database, makeSeed([team]));
      const mail = await startRefusing(at([0, 1, 2, 3, 5, 6, 7, 8, 16, 17, 18, 19]), 451);
      expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
        code: 1,
        output: expect.stringContaining('8 mails sent, 12 failed.'),
      });
      expect(mail.asked).toEqual(addresses);
      mail.takeAll();
      expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
        code: 0,
        output: expect.stringContaining('12 mails sent, 0 failed.'),
      });
      expect(addressesOf(mail)).toEqual(addresses);
      await mail.stop();
    });
  });

  // Its dead addresses ended each run before the teams behind it were reached.
  test('a team of which every recipient is refused keeps no mail from others', async () => {
    await loadTestSeed(database, makeSeed([team, teamWith('b', [{}])]));
    const mail = await startMailServer(async (to) =>
      to.endsWith('@a.test')
        ? Object.assign(new Error('not here'), { responseCode: 550 })
        : undefined,
    );
    expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
      code: 1,
      output: expect.stringContaining('1 mails sent, 20 failed.'),
    });
    expect(mail.received.map(({ to }) => to)).toEqual(['owner@b.test']);
    await mail.stop();
  });

  // A domain that does not resolve now (450). The same five ended each run.
  test('recipients who cannot be mailed now keep no mail from other teams', async () => {
    await loadTestSeed(database, makeSeed([team, teamWith('b', [{}])]));
    const mail = await startMailServer(undefined, (command, address) =>
      command === 'RCPT TO' && address.endsWith('@a.test')
        ? Object.assign(new Error('Domain not found'), { responseCode: 450 })
        : undefined,
    );
    expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
      code: 1,
      output: expect.stringContaining('1 mails sent, 20 failed.'),
    });
    expect(mail.received.map(({ to }) => to)).toEqual(['owner@b.test']);
    await mail.stop();
  });

  test('a mail server that refuses twenty teams in a row ends the run', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `t${10 + index}`);
    await loadTestSeed(database, makeSeed(names.map((name) => teamWith(name, [{}]))));
    const asked: string[] = [];
    const mail = await startMailServer(async (to) => {
      asked.push(to);
      return Object.assign(new Error('not here'), { responseCode: 550 });
    });
    expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
      code: 1,
      output: expect.stringContaining('The mail server takes nothing. Run it again later.'),
    });
    expect(asked).toHaveLength(20);
    await mail.stop();
  });

  test('twenty teams with a dead address among others end nothing', async () => {
    const names = Array.from({ length: 42 }, (_, index) => `t${10 + index}`);
    await loadTestSeed(database, makeSeed(names.map((name) => teamWith(name, [{}]))));
    const mail = await startMailServer(async (to) =>
      /[02468]\.test$/.test(to)
        ? Object.assign(new Error('not here'), { responseCode: 550 })
        : undefined,
    );
    expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
      code: 1,
      output: expect.stringContaining('21 mails sent, 21 failed.'),
    });
    await mail.stop();
  });

  test('a mail server that accepts nothing ends the run', async () => {
    await loadTestSeed(database, makeSeed([team]));
    const mail = await startMailServer();
    await mail.stop();
    expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
      code: 1,
      output: expect.stringContaining('The mail server takes nothing. Run it again later.'),
    });
  });

  describe('a team for which the database fails', () => {
    const names = ['a', 'b', 'c'];
    const seedThree = () => {
      const keys = [{ created_by: 'admin' }, { created_by: 'owner' }];
      return loadTestSeed(database, makeSeed(names.map((name) => teamWith(name, keys))));
    };
    const others = ['admin@a.test', 'admin@c.test', 'owner@a.test', 'owner@c.test'];

    async function change(text: string): Promise<void> {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query(text);
      await client.end();
    }

    test('cannot be read: the others get their mails, and the output names it', async () => {
      await seedThree();
      await change('alter table api_key rename to api_key_row');
      await change(
        `create view api_key as
         select team_id, id, name, created_by, expires_at,
           case
             when team_id = 'team_b' then now() + 1 / length(left(name, 0)) * interval '1 s'
             else revoked_at
           end as revoked_at
         from api_key_row`,
      );
      const mail = await startMailServer();
      const dry = await run([...ARGUMENTS, '--dry-run']);
      expect(dry.code).toBe(1);
      expect(dry.output).toContain('4 mails to 2 teams would be sent; 0 were sent before.');
      expect(dry.output).toContain('Failed teams: team_b.');
      const sent = await run(ARGUMENTS, { SMTP_URL: mail.url });
      expect(sent.code).toBe(1);
      expect(sent.output).toContain('4 mails sent, 0 failed.');
      expect(sent.output).toContain('Failed teams: team_b.');
      expect(mail.received.map(({ to }) => to).toSorted()).toEqual(others);
      await mail.stop();
    });

    test('does not record its mails: it gets one, the others all', async () => {
      await seedThree();
      await change(
        `alter table announcement_mail add constraint refused check (team_id <> 'team_b')`,
      );
      const mail = await startMailServer();
      const sent = await run(ARGUMENTS, { SMTP_URL: mail.url });
      expect(sent.code).toBe(1);
      expect(sent.output).toContain('Failed teams: team_b.');
      expect(mail.received.map(({ to }) => to).toSorted()).toEqual(
        [...others, 'admin@b.test'].toSorted(),
      );
      await mail.stop();
    });

    test('is one of five in a row: the run ends', async () => {
      const many = ['a', 'b', 'c', 'd', 'e', 'f'];
      await loadTestSeed(database, makeSeed(many.map((name) => teamWith(name, [{}]))));
      await change(`alter table announcement_mail add constraint refused check (team_id = '')`);
      const mail = await startMailServer();
      expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({
        code: 1,
        output: expect.stringContaining('refused'),
      });
      expect(mail.received).toHaveLength(5);
      await mail.stop();
    });
  });

  test('two runs at once: the second one does not start', async () => {
    await loadTestSeed(database, makeSeed([team]));
    let second: Ended | null = null;
    const mail = await startMailServer(async (to) => {
      if (to === addresses[0]) second = await run(ARGUMENTS, { SMTP_URL: mail.url });
      return undefined;
    });
    expect(await run(ARGUMENTS, { SMTP_URL: mail.url })).toMatchObject({ code: 0 });
    expect(second).toMatchObject({
      code: 1,
      output: expect.stringContaining('being sent already'),
    });
    expect(mail.received.map(({ to }) => to)).toEqual(addresses);
    await mail.stop();
  });

  test.each([
    { file: () => '', says: 'The version does not end' },
    { file: () => laterDeprecations, says: 'The responses tell other dates' },
  ])('responses that tell no such dates: nobody is mailed: $says', async ({ file, says }) => {
    await loadTestSeed(database, makeSeed([team]));
    const mail = await startMailServer();
    const refused = await run(ARGUMENTS, { SMTP_URL: mail.url, DEPRECATIONS_FILE: file() });
    expect(refused).toMatchObject({
      code: 1,
      output: expect.stringContaining(`${says}: see "version" in DEPRECATIONS_FILE.`),
    });
    expect(mail.received).toEqual([]);
    await mail.stop();
  });

  test('production without a mail server counts no mail as sent', async () => {
    await loadTestSeed(database, makeSeed([team]));
    const refused = await run(ARGUMENTS, { NODE_ENV: 'production' });
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('SMTP_URL is req') });
    expect((await run([...ARGUMENTS, '--dry-run'])).output).toContain('0 were sent before.');
  });

  test.each([
    { args: ['--version', 'v1'], says: 'Usage', code: 64 },
    {
      args: ['--version', 'v9', '--deprecation', '2027-01-01', '--sunset', '2028-01-01'],
      says: 'no version v9',
    },
    {
      args: ['--version', 'v1', '--deprecation', '2027-02-30', '--sunset', '2029-01-01'],
      says: '2027-02-30 is no date',
    },
    {
      args: ['--version', 'v1', '--deprecation', '2027-01-01', '--sunset', '2027-12-31'],
      says: '12 months',
    },
    { args: ['--vers', 'v1'], says: '--vers', code: 64 },
  ])('arguments that make no sense are refused: $says', async ({ args, says, code = 1 }) => {
    expect(await run(args)).toMatchObject({
      code,
      output: expect.stringContaining(says),
    });
  });
});

test('an id that a terminal would obey is shown without doing so', async () => {
  const odd = { ...teamWith('odd', [{}]), id: 'team_odd\u001b[2J\u009b2J' };
  await loadTestSeed(database, makeSeed([odd]));
  const { code, output } = await run([...ARGUMENTS, '--dry-run']);
  expect(code).toBe(0);
  expect(output).toContain('team_odd\\u{1b}[2J\\u{9b}2J: 1\n');
});

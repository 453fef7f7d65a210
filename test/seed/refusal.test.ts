import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { SeedFault } from '../../src/seed/fault.ts';
import { loadSeed } from '../../src/seed/load.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { APP_SECRET, countRows, fullFile, openClient, tinyTeam } from './full-file.ts';

const options = { replace: false, appSecret: APP_SECRET };
let database: TestDatabase;
let client: pg.Client;
let before: Record<string, number>;

beforeAll(async () => {
  // In the locale of the embedded Postgres, whose `lower` is not JavaScript's.
  database = await createEmptyDatabase();
  await migrate(database.url);
  client = await openClient(database.url);
  await loadSeed(database.url, { teams: [tinyTeam('team_there')] }, options);
  before = await countRows(client);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Expects a refusal that changes nothing in the database. Returns the paths of all faults. */
async function refuse(file: unknown): Promise<string[]> {
  const error = await loadSeed(database.url, file, options).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SeedFault);
  expect(await countRows(client)).toEqual(before);
  return (error as SeedFault).faults.map((fault) => fault.path);
}

/** JSON that a test may change into anything, because it breaks the types on purpose. */
// oxlint-disable-next-line typescript/no-explicit-any -- `unknown` would need a cast in every line
type Loose = any;

/** Returns the full file after `change` has broken it. */
function broken(change: (team: Loose, file: Loose) => void): unknown {
  const file = fullFile();
  change(file.teams[0], file);
  return file;
}

describe('a file of the wrong shape is refused', () => {
  it.each<[string, (team: Loose, file: Loose) => void, string[]]>([
    ['a missing email', (t) => delete t.members[2].email, ['$.teams[0].members[2].email']],
    [
      'an email that is none',
      (t) => (t.members[2].email = 'three'),
      ['$.teams[0].members[2].email'],
    ],
    ['an unknown field', (t) => (t.members[1].emial = 'x'), ['$.teams[0].members[1].emial']],
    ['an unknown field with a space', (t) => (t['a b'] = 1), ['$.teams[0]["a b"]']],
    ['an unknown field at the top', (_, f) => (f.tems = []), ['$.tems']],
    ['an empty id', (t) => (t.cases[0].id = ''), ['$.teams[0].cases[0].id']],
    [
      'an id too long for an index',
      (t) => (t.cases[0].id = 'x'.repeat(201)),
      ['$.teams[0].cases[0].id'],
    ],
    ['a NUL', (t) => (t.assignments[0].note = 'a\0b'), ['$.teams[0].assignments[0].note']],
    [
      'half of a surrogate pair',
      (t) => (t.assignments[0].title = '\ud83d'),
      ['$.teams[0].assignments[0].title'],
    ],
    [
      'a NUL deep in free JSON',
      (t) => (t.trainings[0].external_ref = { a: ['\0'] }),
      ['$.teams[0].trainings[0].external_ref.a[0]'],
    ],
    [
      'free JSON that is a list where an object belongs',
      (t) => (t.cases[0].external_ref = []),
      ['$.teams[0].cases[0].external_ref'],
    ],
    [
      'free JSON that is too large',
      (t) => (t.cases[0].fields = { a: 'x'.repeat(70_000) }),
      ['$.teams[0].cases[0].fields'],
    ],
    [
      'a title too long',
      (t) => (t.assignments[0].title = 'x'.repeat(121)),
      ['$.teams[0].assignments[0].title'],
    ],
    [
      'a day that does not exist',
      (t) => (t.assignments[0].due_date = '2026-02-30'),
      ['$.teams[0].assignments[0].due_date'],
    ],
    [
      'a time without an offset',
      (t) => (t.trainings[0].created_at = '2026-01-01T00:00:00'),
      ['$.teams[0].trainings[0].created_at'],
    ],
    [
      'a year beyond the calendar',
      (t) => (t.trainings[0].created_at = '9999-12-31T23:00:00-05:00'),
      ['$.teams[0].trainings[0].created_at'],
    ],
    [
      'a status of another form',
      (t) => (t.trainings[1].status = 'In Progress'),
      ['$.teams[0].trainings[1].status'],
    ],
    [
      'a negative duration',
      (t) => (t.trainings[0].duration_s = -1),
      ['$.teams[0].trainings[0].duration_s'],
    ],
    ['a number beyond the column', (t) => (t.seats = 3_000_000_000), ['$.teams[0].seats']],
    ['a rate limit of zero', (t) => (t.rate_limit_per_min = 0), ['$.teams[0].rate_limit_per_min']],
    [
      'a score that is no integer',
      (t) => (t.trainings[0].evaluation.score.dimensions.closing = 7.5),
      ['$.teams[0].trainings[0].evaluation.score.dimensions.closing'],
    ],
    [
      'a dimension that there is not',
      (t) => (t.trainings[0].evaluation.score.dimensions.charm = 7),
      ['$.teams[0].trainings[0].evaluation.score.dimensions.charm'],
    ],
    [
      'six tips',
      (t) => (t.trainings[0].evaluation.tips = Array(6).fill({})),
      ['$.teams[0].trainings[0].evaluation.tips'],
    ],
    [
      'an unknown scope',
      (t) => (t.api_keys[1].scopes = ['users:read', 'users:reed']),
      ['$.teams[0].api_keys[1].scopes[1]'],
    ],
    [
      'a live key with a scope of test keys',
      (t) => (t.api_keys[1].scopes = ['users:read', 'sandbox:write']),
      ['$.teams[0].api_keys[1].scopes[1]'],
    ],
    [
      'a release list with a fault',
      (t) => (t.released = ['sit_cold', '']),
      ['$.teams[0].released[1]'],
    ],
    [
      'a key that may be used from nowhere',
      (t) => (t.api_keys[1].allowed_ips = []),
      ['$.teams[0].api_keys[1].allowed_ips'],
    ],
    [
      'a network that is none',
      (t) => (t.api_keys[1].allowed_ips = ['10.0.0.0/33']),
      ['$.teams[0].api_keys[1].allowed_ips[0]'],
    ],
    [
      'an address with a zone',
      (t) => (t.api_keys[1].allowed_ips = ['fe80::1%br-lan']),
      ['$.teams[0].api_keys[1].allowed_ips[0]'],
    ],
    [
      'a network that no caller can be in',
      (t) => (t.api_keys[1].allowed_ips = ['10.0.0.0/8', '::ffff:10.0.0.0/104']),
      ['$.teams[0].api_keys[1].allowed_ips[1]'],
    ],
    [
      'money that is no decimal text',
      (t) => (t.crm_deals[0].amount = '12,50'),
      ['$.teams[0].crm_deals[0].amount'],
    ],
    [
      'an event that cannot be subscribed',
      (t) => (t.webhook_endpoints[0].events = ['ping']),
      ['$.teams[0].webhook_endpoints[0].events[0]'],
    ],
    [
      'a URL that is none',
      (t) => (t.webhook_endpoints[0].url = 'ftp://x'),
      ['$.teams[0].webhook_endpoints[0].url'],
    ],
    [
      'a negative count to generate',
      (t) => (t.generate.trainings = -1),
      ['$.teams[0].generate.trainings'],
    ],
    [
      'several things at once',
      (t) => ((t.plan = 'gold'), (t.members[0].role = 'boss')),
      ['$.teams[0].plan', '$.teams[0].members[0].role'],
    ],
  ])('%s', async (_, change, paths) => {
    expect(await refuse(broken(change))).toEqual(paths);
  });

  it.each([[null], [[]], ['text'], [7]])('%j', async (file) => {
    expect(await refuse(file)).toEqual(['$']);
  });
});

describe('a file whose rows do not fit together is refused', () => {
  it.each<[string, (team: Loose, file: Loose) => void, string[]]>([
    [
      'a team that exists',
      (t, f) => ((t.id = 'team_there'), (f.catalog[3].team = 'team_there')),
      ['$.teams[0].id'],
    ],
    ['a team that stands twice', (_, f) => f.teams.push(tinyTeam('team_a')), ['$.teams[1].id']],
    ['no owner', (t) => (t.members[0].role = 'admin'), ['$.teams[0].members']],
    ['only an owner who left', (t) => (t.members[0].status = 'ended'), ['$.teams[0].members']],
    ['two owners', (t) => (t.members[1].role = 'owner'), ['$.teams[0].members[1].role']],
    [
      'an owner who is only invited',
      (t) => (t.members[0].status = 'invited'),
      ['$.teams[0].members[0].user_id', '$.teams[0].members[0].status'],
    ],
    [
      'an invited member whose person is known',
      (t) => (t.members[2].user_id = 'usr_3'),
      ['$.teams[0].members[2].user_id'],
    ],
    [
      'a member id that stands twice',
      (t) => (t.members[3].id = 'mem_3'),
      ['$.teams[0].members[3].id'],
    ],
    [
      'an email that stands twice, in other letters',
      (t) => (t.members[1].email = ' o@ACME.test '),
      ['$.teams[0].members[1].email'],
    ],
    [
      'an email that stands twice, in letters beyond ASCII',
      (t) => ((t.members[1].email = 'ÜI@acme.test'), (t.members[2].email = 'üi@acme.test')),
      ['$.teams[0].members[2].email'],
    ],
    [
      'one person twice',
      (t) => (t.members[1].user_id = 'usr_1'),
      [
        '$.teams[0].members[1].user_id',
        '$.teams[0].trainings[0].user_id',
        '$.teams[0].cases[0].user_id',
        '$.teams[0].crm_deals[0].owner_user_id',
      ],
    ],
    [
      'a key name that stands twice',
      (t) => (t.api_keys[1].name = 'full'),
      ['$.teams[0].api_keys[1].name'],
    ],
    [
      'a key by nobody',
      (t) => (t.api_keys[1].created_by = 'mem_9'),
      ['$.teams[0].api_keys[1].created_by'],
    ],
    [
      'a training of nobody',
      (t) => (t.trainings[1].user_id = 'usr_9'),
      ['$.teams[0].trainings[1].user_id'],
    ],
    [
      'a training for an unknown assignment',
      (t) => (t.trainings[0].assignment_id = 'asg_9'),
      ['$.teams[0].trainings[0].assignment_id'],
    ],
    [
      'an evaluation of a training that is not scored',
      (t) => (t.trainings[0].status = 'completed'),
      ['$.teams[0].trainings[0].evaluation'],
    ],
    [
      'a training id that stands twice',
      (t) => (t.trainings[1].id = 'trn_1'),
      ['$.teams[0].trainings[1].id'],
    ],
    [
      'an assignment for nobody',
      (t) => (t.assignments[1].member_id = 'mem_9'),
      ['$.teams[0].assignments[1].member_id'],
    ],
    [
      'an assignment that an unknown training completed',
      (t) => (t.assignments[1].completed_training_id = 'trn_9'),
      ['$.teams[0].assignments[1].completed_training_id'],
    ],
    ['a case of nobody', (t) => (t.cases[1].user_id = 'usr_9'), ['$.teams[0].cases[1].user_id']],
    [
      'a deal of an unknown connection',
      (t) => (t.crm_deals[1].connection_id = 'crm_9'),
      ['$.teams[0].crm_deals[1].connection_id'],
    ],
    [
      'a deal where there is no connection',
      (t) => ((t.crm_connections = []), (t.crm_deals = [{ id: 'deal_1' }])),
      ['$.teams[0].crm_deals[0].connection_id'],
    ],
    [
      'an external id that stands twice',
      (t) => (t.crm_deals[1].external_id = '42'),
      ['$.teams[0].crm_deals[1].external_id'],
    ],
    [
      'a deal of nobody',
      (t) => (t.crm_deals[1].owner_user_id = 'usr_9'),
      ['$.teams[0].crm_deals[1].owner_user_id'],
    ],
    [
      'an objection in an unknown deal',
      (t) => (t.crm_objections[0].deal_id = 'deal_9'),
      ['$.teams[0].crm_objections[0].deal_id'],
    ],
    [
      'an endpoint id that stands twice',
      (t) => (t.webhook_endpoints[1].id = 'whe_1'),
      ['$.teams[0].webhook_endpoints[1].id'],
    ],
    [
      'a release of an unknown entry',
      (t) => t.released.push('sit_nowhere'),
      ['$.teams[0].released[2]'],
    ],
    [
      "a release of a team's own entry",
      (t) => t.released.push('sit_own'),
      ['$.teams[0].released[2]'],
    ],
    [
      'a catalog entry that stands twice',
      (_, f) => (f.catalog[1].id = 'sit_cold'),
      ['$.catalog[1].id'],
    ],
    [
      'a catalog entry of an unknown team',
      (_, f) => (f.catalog[3].team = 'team_9'),
      ['$.catalog[3].team'],
    ],
    [
      'a rule that names one thing',
      (_, f) => delete f.catalog_rules[0].industry,
      ['$.catalog_rules[0]'],
    ],
    [
      'generated rows that end before they begin',
      (t) => (t.generate.to = '2025-01-01'),
      ['$.teams[0].generate.to'],
    ],
    [
      'generated rows whose dates no calendar has',
      (t) => ((t.generate.from = '0001-01-01'), (t.generate.to = '9999-12-15')),
      ['$.teams[0].generate.from', '$.teams[0].generate.to'],
    ],
    [
      'an id that is kept for generated rows',
      (t) => (t.trainings[1].id = 'trn_gen_0000001'),
      ['$.teams[0].trainings[1].id'],
    ],
    [
      'an email that is kept for generated members',
      (t) => (t.members[2].email = 'a@generated.example'),
      ['$.teams[0].members[2].email'],
    ],
    [
      'several things at once',
      (t) => ((t.cases[1].user_id = 'usr_9'), (t.api_keys[1].created_by = 'mem_9')),
      ['$.teams[0].api_keys[1].created_by', '$.teams[0].cases[1].user_id'],
    ],
  ])('%s', async (_, change, paths) => {
    expect(await refuse(broken(change))).toEqual(paths);
  });

  it("a member, training or deal of the file's other team", async () => {
    const file = fullFile();
    file.teams.push(
      tinyTeam('team_b', {
        assignments: [{ member_id: 'mem_2', completed_training_id: 'trn_1' }],
        trainings: [{ user_id: 'usr_2', status: 'started', assignment_id: 'asg_1' }],
        crm_objections: [{ deal_id: 'deal_1' }],
      }),
    );
    const at = (rest: string) => `$.teams[1].${rest}`;
    expect((await refuse(file)).toSorted()).toEqual(
      [
        'assignments[0].completed_training_id',
        'assignments[0].member_id',
        'crm_objections[0].deal_id',
        'trainings[0].assignment_id',
        'trainings[0].user_id',
      ].map(at),
    );
  });
});

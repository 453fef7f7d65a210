// How each statement of the service locks rows. A lock that is missing, or is weaker than it must
// be, shows in no test that runs alone: only two transactions that meet would notice.
import { beforeAll, describe, expect, it } from 'vitest';
import { readLockings, type Locking } from '../checks/sql/locks.ts';
import { loadParser } from '../checks/tenancy.ts';
import { faultsOf } from '../support/lock-rules.ts';
import { loadStatements, readSources } from '../support/statement-sources.ts';
import { serviceStatements } from '../support/statements.ts';

/** Statements that lock in one way, and why in this one. */
interface Kind {
  /** Its locks, in their order in the text. */
  readonly how: readonly string[];
  readonly why: string;
  /** `*` stands for the names of tables or columns. */
  readonly names: readonly string[];
}

/** Whoever adds a statement that locks decides how. */
const KINDS: readonly Kind[] = [
  {
    how: ['for no key update'],
    why: 'the row changes, and nobody else may change it meanwhile; rows that refer to it may come',
    names: [
      'assignments.lockOfTraining',
      'assignments.lockSome',
      'cases.findForUpdate',
      'crm.findConnectionLocked',
      'db.lockTeam',
      'db.lockToChange.*',
      'erasure.find',
      'events.lockKept',
      'rotation.write.*',
      'sandbox.lockConnection',
      'sandbox.lockLiveTeam',
      'seed.lockTeam',
      'teams.findForUpdate',
      'trainings.lockPerson',
      'trainings.lockPersonOf',
      'webhooks.findDeliveryForUpdate',
      'webhooks.findForUpdate',
      'webhooks.findSealed',
      'webhooks.recordEndpoints',
      'webhooks.resend.findForUpdate',
      'webhooks.resend.lockForBatch',
      'webhooks.resend.lockForStart',
      'webhooks.resend.queue',
      'webhooks.resend.queueOfType',
    ],
  },
  {
    how: ['for no key update skip locked'],
    why: 'the same, for work on rows of many teams, of which none may wait for another',
    names: [
      'db.lockFreeTeam',
      'places.take',
      'webhooks.pause',
      'webhooks.release',
      'webhooks.releaseClaims',
    ],
  },
  {
    how: ['for no key update skip locked', 'for no key update skip locked'],
    why: 'asks of an endpoint and a delivery whether somebody has locked them',
    names: ['webhooks.findLocked'],
  },
  {
    how: ['for update'],
    why: 'the row goes, so it waits for those that add rows which refer to it',
    names: [
      'assignments.lockForRemoval',
      'db.lockToRemove.*',
      'erasure.stopWebhooks',
      'sandbox.lock.*',
      'seed.lock.*',
    ],
  },
  {
    how: ['for update skip locked'],
    why: 'one worker takes the rows, or removes them, and waits for nobody',
    names: [
      'alerts.takeDue',
      'erasure.lock',
      'erasure.remove.*',
      'erasure.unlinkCompletions',
      'jobs.move',
      'jobs.take',
      'requests.removeOld',
      'retention.audit',
      'retention.counters',
      'retention.deliveries',
      'retention.idempotency',
      'retention.invitation_resends',
      'retention.resends',
      'retention.sandbox_audit',
      'retention.sandbox_mails',
      'retention.sandbox_usage',
      'retention.spent_tokens',
      'retention.teamCounters',
      'retention.usage',
      'webhooks.claimPending',
      'webhooks.claimRequested',
      'webhooks.claimRetrying',
      'webhooks.forgetEvents',
      'webhooks.removal.deliveries',
      'webhooks.removal.resends',
    ],
  },
  {
    how: ['for update skip locked', 'for key share skip locked'],
    why: 'the same, and one of the rows that refer to it stays until the commit',
    names: ['retention.events', 'webhooks.takeEvents'],
  },
  {
    how: ['for share'],
    why: 'the member stays an active one until the commit, and others may ask for the same',
    names: [
      'assignments.readRecipient',
      'assignments.readRecipients',
      'cases.lockOwner',
      'sandbox.holdRecipient',
    ],
  },
  {
    how: ['for key share'],
    why: 'the row stays until the commit, because a row that refers to it comes',
    names: ['db.hold.*', 'team.globalEntries'],
  },
  {
    how: ['for key share skip locked', 'for no key update skip locked'],
    why: 'the key stays while its usage is added, and its last use is written by one process',
    names: ['usage.add'],
  },
];

/** Queries that lock several rows in no order, and why they deadlock with nobody. */
const UNORDERED: Readonly<Record<string, string>> = {
  'cases.lockOwner': 'a person is one active member of a team at most',
  'sandbox.holdRecipient': 'an address is that of one member at most who has not left',
  'webhooks.removal.resends': 'all of them go, and it waits for none',
};

let lockings: ReadonlyMap<string, readonly Locking[]>;
beforeAll(async () => {
  await loadParser();
  await loadStatements(await readSources());
  lockings = new Map(
    serviceStatements()
      .map(({ name, text }) => [name, readLockings(text)] as const)
      .filter(([, own]) => own.length > 0),
  );
});

/** The names of a kind that a statement has. */
const isNamed =
  (name: string) =>
  (pattern: string): boolean =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

describe('a statement', () => {
  it('locks as it is listed, and no other one locks', () => {
    const found = [...lockings].map(([name, own]) => {
      const how = own.map((locking) => locking.how);
      const kind = KINDS.find(({ names }) => names.some(isNamed(name)));
      return { name, how, listed: kind?.how };
    });
    expect(found.filter(({ how, listed }) => how.join() !== listed?.join())).toEqual([]);
  });

  it('is only listed if it locks', () => {
    const names = [...lockings.keys()];
    const listed = KINDS.flatMap((kind) => kind.names);
    expect(listed.filter((pattern) => !names.some((name) => isNamed(name)(pattern)))).toEqual([]);
  });

  it('locks several rows in an order, or is listed', () => {
    const found = [...lockings].filter(([, own]) =>
      own.some(({ isOfOne, isOrdered, isLimited, how }) => {
        const takesAll = how.endsWith('skip locked') && !isLimited;
        return !isOfOne && !isOrdered && !takesAll;
      }),
    );
    expect(found.map(([name]) => name).toSorted()).toEqual(Object.keys(UNORDERED).toSorted());
  });
});

/** The same as every transaction of the tests is looked at (`test/record-locks.ts`). */
describe('a transaction', () => {
  const LIVE_FIRST = 'sandbox.lockLiveTeam locks a team before its sandbox';

  it.each([
    [['db.lockTeam', 'sandbox.lockLiveTeam'], []],
    [['sandbox.lockLiveTeam', 'db.lockTeam'], [LIVE_FIRST]],
    [['db.lockTeam', 'trainings.lockPerson', 'assignments.lockOfTraining'], []],
    [
      ['assignments.lockOfTraining', 'trainings.lockPerson'],
      ['trainings.lockPerson locks person after assignment'],
    ],
    [['db.lockToChange.member', 'db.lockTeam'], ['db.lockTeam locks team after member']],
    [['db.lockTeam', 'db.lockToChange.member', 'db.lockTeam'], []],
    [['webhooks.resend.lockForBatch', 'webhooks.resend.queue'], []],
    [
      ['webhooks.resend.queue', 'webhooks.resend.lockForBatch'],
      ['webhooks.resend.lockForBatch locks webhook_endpoint after webhook_delivery'],
    ],
    [['sandbox.fillRateLimit'], []],
    [
      ['db.lockTeam', 'sandbox.fillRateLimit'],
      ['sandbox.fillRateLimit locks team_counter in a transaction'],
    ],
  ])('of %j locks in one order: %j', (names, faults) => {
    const texts = new Map(serviceStatements().map(({ name, text }) => [name, text]));
    const sent = names.map((name) => ({ name, text: texts.get(name) ?? '' }));
    expect(faultsOf(sent).filter((fault) => fault.includes(' locks '))).toEqual(faults);
  });
});

describe('a transaction of a team and its sandbox', () => {
  const LATE = ['db.lockTeam locks a sandbox after its live team'];

  it.each([
    [['db.lockTeam a:sandbox', 'db.lockTeam a'], []],
    [['db.lockTeam a', 'db.lockTeam a:sandbox'], LATE],
    [['db.lockTeam b', 'db.lockTeam a:sandbox', 'db.lockTeam a'], []],
    [['db.lockTeam a:sandbox', 'db.lockTeam a', 'db.lockTeam a:sandbox'], []],
    // They wait for nobody.
    [['db.lockFreeTeam a', 'db.lockFreeTeam a:sandbox', 'db.lockTeam a:sandbox'], []],
  ])('that sends %j locks the sandbox first: %j', (calls, faults) => {
    const texts = new Map(serviceStatements().map(({ name, text }) => [name, text]));
    const sent = calls.map((call) => {
      const [name = '', team = ''] = call.split(' ');
      return { name, team, text: texts.get(name) ?? '' };
    });
    expect(faultsOf(sent)).toEqual(faults);
  });
});

describe('what a query locks', () => {
  const ONE = { how: 'for update', isOfOne: true, isOrdered: false, isLimited: false };
  const MANY = { ...ONE, isOfOne: false };

  it.each([
    ['select from a where t = $1 and id = $2', []],
    ['select from a where t = $1 and id = $2 for update', [ONE]],
    ['select from a where t = $1 and (id = $2 and b) for update', [ONE]],
    ['select from a where id = (select b from c) for update', [ONE]],
    ['select from a where t = $1 for update', [MANY]],
    ['select from a where t = $1 and (id = $2 or b) for update', [MANY]],
    ['select from a where id = coalesce($1, id) for update', [MANY]],
    ['select from a where id = any ($1) for update', [MANY]],
    ['select from a, n where a.id = n.id for update', [MANY]],
    ['select from a join n on true where a.id = n.id for update', [MANY]],
    ['select from a order by id for update', [{ ...MANY, isOrdered: true }]],
    ['select from (select from a for update) b order by id', [MANY]],
    ['select from n, lateral (select from a where a.id = n.id for update) b', [MANY]],
    [
      'select from n, lateral (select from a where a.id = n.id for update skip locked) b',
      [{ ...ONE, how: 'for update skip locked' }],
    ],
    [
      `select from (select from n order by id) n,
       lateral (select from a where id = n.id for update) b`,
      [{ ...MANY, isOrdered: true }],
    ],
    [
      `select from (select from n order by id) n
       cross join lateral (select from a where b = n.b for update) b`,
      [MANY],
    ],
    ['select from a limit 1 for update', [{ ...ONE, isLimited: true }]],
    ['select from a limit $1 for update', [{ ...MANY, isLimited: true }]],
    [
      'select from a where id = $1 for no key update nowait',
      [{ ...ONE, how: 'for no key update nowait' }],
    ],
    [
      'select from a where id = $1 for key share skip locked',
      [{ ...ONE, how: 'for key share skip locked' }],
    ],
  ])('%s: %j', (sql, found) => {
    expect(readLockings(sql)).toEqual(found);
  });
});

// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// oxlint-disable vitest/expect-expect -- `compare` expects
import { beforeAll, describe, expect, it } from 'vitest';
import { startCrm } from '../support/crm/fake.ts';
import { CRM_TOKEN, SIDES, type Side } from '../support/twins.ts';
import { appOperations, REST_OPERATIONS, type Operation } from './twin-calls.ts';
import { JOB_OPERATIONS } from './twin-jobs.ts';
import { openWorld, type World } from './twin-worlds.ts';

const MODIFIED = '2026-11-17T12:00:00.000Z';

/** How many inputs of a writing call are also tried after the twin has made the same call. */
const TWIN_FIRST_CALLS = 2;

/**
 * Declares the tests of the team `side`. What each endpoint, procedure and job returns and writes
 * must be the same with and without a team that has the same ids. The rows of that team are locked
 * meanwhile and must not change.
 */
export function describeTwin(side: Side): void {
  let alone: World;
  let both: World;
  let operations: ReadonlyMap<string, Operation>;

  beforeAll(async () => {
    const crm = await startCrm('hubspot');
    crm.token = CRM_TOKEN;
    // Known deals and a new one, some of them lost. Their owners are other members in each team.
    for (const id of [...Array.from({ length: 15 }, (_, index) => index + 1), 99]) {
      const outcome = id % 4 === 1 ? { status: 'lost' as const, lostReason: 'zu teuer' } : {};
      crm.put({ id, ...outcome, ownerId: id, modified: MODIFIED });
      crm.owners.set(id, `mem_${id}@twin.test`);
    }
    crm.notes.set(1, { id: 1, dealId: 3, html: 'Einwand: kein Bedarf', modified: MODIFIED });
    alone = await openWorld([side], crm.url);
    both = await openWorld(SIDES, crm.url);
    operations = new Map(appOperations(crm.url).map((operation) => [operation.name, operation]));
  });

  const compare = async ({ calls, changes }: Operation): Promise<void> => {
    for (const [index, { label, call }] of calls.entries()) {
      if (!changes) {
        expect(await both.read(side, call), label).toEqual(await alone.read(side, call));
        continue;
      }
      const wanted = await alone.observe(side, call);
      expect(await both.observe(side, call), label).toEqual(wanted);
      if (index >= TWIN_FIRST_CALLS) continue;
      const after = await both.observe(side, call, { twinFirst: true });
      expect(after, `${label}, after the twin`).toMatchObject({
        answer: wanted.answer,
        twinRowsChanged: [],
      });
      expect(after.written, `${label}, after the twin`).toMatchObject(wanted.written);
    }
    expect(await both.listChanges()).toEqual([]);
  };

  describe('a call returns and writes the same with and without a team of the same ids', () => {
    it.each(REST_OPERATIONS)('$name', compare);
    it.each(JOB_OPERATIONS)('$name', compare);
    it.each(appOperations('').map(({ name }) => name))('%s', async (name) => {
      const operation = operations.get(name);
      if (!operation) throw new Error(`no procedure ${name}`);
      await compare(operation);
    });
  });
}

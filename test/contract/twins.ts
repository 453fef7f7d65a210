// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// oxlint-disable vitest/expect-expect -- `compare` expects
import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { startCrm } from '../support/crm/fake.ts';
import { CRM_TOKEN, SIDES, type Side } from '../support/twins.ts';
import { appOperations, REST_OPERATIONS, type Operation } from './twin-calls.ts';
import { JOB_OPERATIONS } from './twin-jobs.ts';
import { openWorld, type World } from './twin-worlds.ts';

const MODIFIED = '2026-11-17T12:00:00.000Z';

/** How many inputs that write are also tried after the twin has made the same call. */
const TWIN_FIRST_CALLS = 1;

/** Whether all is tried, or every operation in one of the teams. */
export type Extent = 'sample' | 'whole';

/** How many inputs of a call are tried beside a sandbox. */
const BESIDE_SANDBOX_CALLS: Readonly<Record<Extent, number>> = { sample: 1, whole: 3 };

/** The team in which the sample has the operation: half of them have either. */
const sideOf = (name: string): Side =>
  SIDES[Number.parseInt(hash('md5', name).slice(0, 8), 16) % SIDES.length] ?? 'a';

/** They are about the sandbox, or about both teams. */
const OF_BOTH =
  /^admin\.sandbox\.|^platform\.(members\.deletePerson|teams\.(\w+Sandbox|update|erase))$/;

/** Each input fills a sandbox, for seconds: only the whole has them. */
const FILLS_SANDBOX = /^(admin\.sandbox\.create|platform\.teams\.createSandbox)$/;

/** What keeps responses is no part of a change. */
const ASIDE = ['idempotency_record'];
/** Calls of which none changes a row, and why. */
const CHANGE_NOTHING: readonly (readonly [name: RegExp, why: string])[] = [
  [/^v1\./, 'the REST API runs the same code, with all inputs'],
  [/sandbox/i, 'only beside a sandbox there is something to change'],
  [/^the job: send_/, 'a mail is sent, and nothing written'],
  [/^admin\.apiKeys\.confirmStored$/, 'every key of the twins is confirmed'],
];

/**
 * Declares the tests of the team `side`. What each endpoint, procedure and job returns and writes
 * must be the same with and without a team that has the same ids. The rows of that team are locked
 * meanwhile and must not change.
 */
export function describeTwin(side: Side, extent: Extent, { hasSandbox = false } = {}): void {
  // Most procedures and all jobs have only the live team beside a sandbox.
  const isTried = (name: string, hasBoth: boolean): boolean =>
    extent === 'whole' || !hasBoth || sideOf(name) === side;
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
    alone = await openWorld([side], crm.url, { hasSandbox });
    both = await openWorld(SIDES, crm.url, { hasSandbox });
    operations = new Map(appOperations(crm.url).map((operation) => [operation.name, operation]));
  });

  const compare = async ({ name, calls, changes, isRest }: Operation): Promise<void> => {
    // The same statements run beside a sandbox: a few inputs show that they are bound to the team.
    const tried = hasSandbox ? calls.slice(0, BESIDE_SANDBOX_CALLS[extent]) : calls;
    // Nobody signs in to a sandbox, so only its keys can call first.
    let twinFirst = hasSandbox && !isRest ? 0 : TWIN_FIRST_CALLS;
    const changed = new Set<string>();
    for (const { label, call } of tried) {
      if (!changes) {
        expect(await both.read(side, call), label).toEqual(await alone.read(side, call));
        continue;
      }
      const wanted = await alone.observe(side, call);
      const written = Object.keys(wanted.written);
      for (const table of written) changed.add(table);
      expect(await both.observe(side, call), label).toEqual(wanted);
      if (twinFirst === 0 || written.every((table) => ASIDE.includes(table))) continue;
      twinFirst -= 1;
      const after = await both.observe(side, call, { twinFirst: true });
      expect(after, `${label}, after the twin`).toMatchObject({
        answer: wanted.answer,
        twinRowsChanged: [],
      });
      expect(after.written, `${label}, after the twin`).toMatchObject(wanted.written);
    }
    expect(await both.listChanges()).toEqual([]);
    // A call that is always refused would prove nothing.
    const isIdle = hasSandbox || CHANGE_NOTHING.some(([which]) => which.test(name));
    const hasChanged = [...changed].some((table) => !ASIDE.includes(table));
    expect(!changes || isIdle || hasChanged).toBe(true);
  };

  describe('a call returns and writes the same with and without a team of the same ids', () => {
    it.each(REST_OPERATIONS.filter(({ name }) => isTried(name, true)))('$name', compare);
    // What admins do in a sandbox follows the live team, and so does its end.
    if (hasSandbox && side === 'b') return;
    it.each(JOB_OPERATIONS.filter(({ name }) => isTried(name, !hasSandbox)))('$name', compare);
    const names = appOperations('').map(({ name }) => name);
    const tried = names.filter((name) => {
      if (extent === 'sample' && FILLS_SANDBOX.test(name)) return false;
      if (!hasSandbox) return isTried(name, true);
      return !OF_BOTH.test(name) && (extent === 'whole' || sideOf(`${name} beside`) === side);
    });
    it.each(tried)('%s', async (name) => {
      const operation = operations.get(name);
      if (!operation) throw new Error(`no procedure ${name}`);
      await compare(operation);
    });
  });
}

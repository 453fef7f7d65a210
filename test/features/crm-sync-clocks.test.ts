// What a CRM shows late or takes away, and workers whose clocks differ.
import { describe, expect, test } from 'vitest';
import { fixedClock, systemClock } from '../../src/core/clock.ts';
import { scheduleNext } from '../../src/features/crm/sync/service.ts';
import { startTestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { clockAhead } from '../support/clocks.ts';
import { syncAtOnce, useCrmSync } from '../support/crm-sync.ts';
import { ago, expected, MINUTE, NOW, startWith } from '../support/crm/deals.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const { api, clock, connect, list, stored, sync, syncLater } = useCrmSync();

describe.each(['hubspot', 'pipedrive'] as const)('%s: a deal that the CRM shows late', (name) => {
  test('is read if it was modified up to five minutes before the last round began', async () => {
    const crm = await startWith(name);
    crm.put({ id: 8, modified: ago(0) });
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    crm.put({ id: 20, modified: ago(5) });
    crm.put({ id: 21, modified: ago(0.5) });
    crm.requests.length = 0;
    expect(await syncLater(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    // Only the overlap is read once more.
    expect(crm.pages()).toHaveLength(1);
  });
});

describe('a note that is deleted in Pipedrive', () => {
  const NOTES = [
    { id: 5, text: 'zu teuer' },
    { id: 6, text: 'kein Bedarf' },
  ];

  /** Connects two accounts whose deals and notes have the same ids, and synchronizes each once. */
  async function connectTwo() {
    const accounts = [];
    for (const account of ['one', 'two']) {
      const crm = await startWith('pipedrive', [{ id: 1, modified: ago(90) }]);
      for (const { id, text } of NOTES)
        crm.notes.set(id, {
          id,
          dealId: 1,
          html: `Einwand: ${text} (${account})`,
          modified: ago(60),
        });
      const id = await connect(crm, 'Einwand:');
      await sync(id);
      accounts.push({ id, crm });
    }
    const [one] = accounts;
    if (!one) throw new Error('no account');
    return one;
  }
  const told = async () =>
    (await list('/crm/objections'))
      .map(({ id, text }) => ({ id, text }))
      .toSorted((a, b) => (String(a.text) < String(b.text) ? -1 : 1));
  const textsOf = (objections: { text: unknown }[]) => objections.map(({ text }) => text);

  test('removes only its objection, in the next round that lists it as deleted', async () => {
    const { id, crm } = await connectTwo();
    const before = await told();
    expect(textsOf(before)).toEqual([
      'kein Bedarf (one)',
      'kein Bedarf (two)',
      'zu teuer (one)',
      'zu teuer (two)',
    ]);
    for (const note of crm.notes.values()) note.modified = ago(-2);
    crm.notes.set(5, {
      id: 5,
      dealId: 1,
      html: 'Einwand: zu teuer (one)',
      modified: ago(-2),
      deleted: 'listed',
    });
    expect(await syncLater(id)).toBe('done');
    expect(await told()).toEqual(before.filter(({ text }) => text !== 'zu teuer (one)'));
  });

  test.each([
    ['no longer listed', true],
    ['listed with the time of its last change', 'listed'],
  ] as const)(
    'and %s takes its objection with it once a day, and no other',
    async (_how, deleted) => {
      const { id, crm } = await connectTwo();
      const before = await told();
      crm.notes.set(5, {
        id: 5,
        dealId: 1,
        html: 'Einwand: zu teuer (one)',
        modified: ago(60),
        deleted,
      });
      clock.advance(24 * 60 * MINUTE);
      expect(await sync(id)).toBe('done');
      expect(await told()).toEqual(before.filter(({ text }) => text !== 'zu teuer (one)'));
    },
  );
});

test('what an API whose clock is ahead makes due is read at once', async () => {
  const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
  const ahead = await startTestApi({
    clock: clockAhead(15_000),
    allowPrivateTargets: true,
    seed: makeSeed([makeTeam('a', none)]),
  });
  const { admin } = await appAsMember(ahead, 'a', 'owner');
  const input = (await startWith('pipedrive')).connectInput();
  const { id, status } = await admin.crm.connect.mutate(input);
  expect(status).toBe('active');
  const key = { teamId: 'team_a', connectionId: id };
  /** How many jobs it has once a worker has looked for what is due; and what the list tells. */
  const look = async () => {
    await scheduleNext(ahead.db, systemClock, 'team_a');
    const { rowCount } = await ahead.db.pool.query(
      `delete from graphile_worker._private_jobs where payload ->> 'connectionId' = $1`,
      [id],
    );
    return [rowCount, (await admin.crm.list.query({})).data.map(({ due }) => due)];
  };
  const sync = () => syncAtOnce({ db: ahead.db, clock: systemClock }, key);
  expect(await look()).toEqual([1, [true]]);
  expect(await sync()).toBe('done');
  expect(await look()).toEqual([0, [false]]);
  await admin.crm.syncNow.mutate({ connection_id: id });
  expect(await look()).toEqual([1, [true]]);
  await admin.crm.pause.mutate({ connection_id: id });
  expect(await look()).toEqual([0, [false]]);
  await admin.crm.resume.mutate({ connection_id: id });
  expect(await look()).toEqual([1, [true]]);
  expect(await sync()).toBe('done');
  const { provider, credentials } = input;
  await admin.crm.replaceCredentials.mutate({ connection_id: id, provider, credentials } as never);
  expect(await look()).toEqual([1, [true]]);
});

describe('two workers whose clocks differ', () => {
  test.each(['hubspot', 'pipedrive'] as const)(
    'a round that ends on a worker with a slow clock removes nothing that it read (%s)',
    async (name) => {
      const crm = await startWith(name);
      for (const id of [5, 6])
        crm.notes.set(id, { id, dealId: 1, html: `Einwand: ${id}`, modified: ago(60) });
      const id = await connect(crm, 'Einwand:');
      await sync(id);
      crm.put({ id: 7, modified: ago(-1), purged: true });
      crm.put({ id: 20, modified: ago(-1) });
      crm.notes.set(6, { id: 6, dealId: 1, html: 'Einwand: 6', modified: ago(60), deleted: true });
      clock.advance(25 * 60 * MINUTE);
      crm.intercept = () => {
        clock.advance(40_000);
        return false;
      };
      expect(await sync(id)).toBe('yielded');
      crm.intercept = null;
      const pages = crm.pages().length;
      const slow = fixedClock(new Date(clock.now().getTime() - 30 * MINUTE));
      expect(await sync(id, { clock: slow })).toBe('done');
      expect(crm.pages().length).toBeGreaterThan(pages);
      expect(await stored(id)).toEqual(expected(crm));
      expect((await list('/crm/objections')).map(({ text }) => text)).toEqual(['5']);
    },
  );

  test('synced_at never goes back, even if the clock of the next worker is behind', async () => {
    const crm = await startWith('pipedrive', [{ id: 1, modified: ago(1) }]);
    const id = await connect(crm);
    clock.advance(30 * MINUTE);
    await sync(id);
    const before = await list('/crm/deals');
    crm.put({ id: 1, title: 'Changed', modified: ago(0) });
    await api().db.pool.query('update crm_connection set next_sync_at = $1', [NOW]);
    expect(await sync(id, { clock: fixedClock(new Date(NOW.getTime() + MINUTE)) })).toBe('done');
    expect(await list('/crm/deals')).toEqual(before.map((deal) => ({ ...deal, title: 'Changed' })));
    expect(before[0]?.['synced_at']).toBe(ago(-30));
  });
});

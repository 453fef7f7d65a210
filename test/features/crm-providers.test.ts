// What every registered provider must do. `crm-providers-failures.test.ts` and
// `crm-providers-calls.test.ts` are about what a CRM may do wrong.
import { describe, expect, test } from 'vitest';
import { PROVIDER_NAMES } from '../../src/features/crm/providers/registry.ts';
import { useCrmSync } from '../support/crm-sync.ts';
import { ago, expected, makeDeals, MINUTE, NOW, startWith } from '../support/crm/deals.ts';
import { answer, type FakeCrm, type FakeDeal } from '../support/crm/fake.ts';
import { userId } from '../support/seed.ts';

const { api, clock, connect, connectionRow, list, stored, sync, syncLater } = useCrmSync();

describe.each(PROVIDER_NAMES)('%s: a round', (name) => {
  test('reads every deal of every page, and shows them in the API', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect(await list('/crm/deals')).toHaveLength(7);
    expect(await connectionRow(id)).toMatchObject({
      failure_streak: 0,
      last_error: null,
      last_synced_at: NOW.toISOString(),
      next_sync_at: new Date(NOW.getTime() + 15 * MINUTE).toISOString(),
      sync_token: null,
    });
  });

  test('reads all deals that were modified at the same time, even more than a page', async () => {
    const crm = await startWith(
      name,
      makeDeals(11, (index) => (index < 9 ? { modified: ago(500) } : {})),
    );
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('asks only for modified deals after that, and reads changes and deletions', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    await sync(id);
    const ids = new Map(
      (await list('/crm/deals')).map((deal) => [deal['external_id'], deal['id']]),
    );
    crm.put({ id: 2, title: 'Changed', amount: '99.90', status: 'won', modified: ago(-3) });
    crm.put({ id: 20, amount: null, modified: ago(-4) });
    for (const gone of [3, 4, 5, 6]) crm.put({ id: gone, modified: ago(-5), deleted: true });
    crm.requests.length = 0;
    expect(await syncLater(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect(crm.pages().length).toBeLessThan(5);
    const changed = (await list('/crm/deals')).find((deal) => deal['external_id'] === '2');
    expect(changed).toMatchObject({ id: ids.get('2'), outcome: 'won' });
    crm.put({ id: 3, title: 'Restored', modified: ago(-17) });
    await syncLater(id);
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('reads again from five minutes before the previous round, not earlier', async () => {
    const crm = await startWith(name, [...makeDeals(3), { id: 4, modified: ago(1) }]);
    const id = await connect(crm);
    await sync(id);
    // The CRM's search shows these deals late.
    crm.put({ id: 5, modified: ago(4.9) });
    crm.put({ id: 6, modified: ago(5.1) });
    const ids = async () => (await stored(id)).map((row) => (row as { id: number }).id);
    expect(await syncLater(id)).toBe('done');
    expect(await ids()).toEqual([1, 2, 3, 4, 5]);
    clock.advance(24 * 60 * MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('reads all deals of a page that is much larger than requested', async () => {
    const crm = await startWith(
      name,
      makeDeals(1000, (index) => ({ modified: ago(2000 - index) })),
    );
    Object.assign(crm, { pageMax: 2000, ignoresLimit: true });
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('misses no deal when one changes between two pages', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    crm.intercept = () => {
      if (crm.pages().length === 2)
        crm.put({ id: 1, title: 'Changed meanwhile', amount: '5', modified: ago(0.1) });
      return false;
    };
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toHaveLength(7);
    crm.intercept = null;
    // What changes behind the place of a round is read by the next one.
    expect(await syncLater(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('removes purged deals once a day, although the CRM does not report them', async () => {
    const crm = await startWith(name);
    const id = await connect(crm);
    await sync(id);
    crm.put({ id: 5, modified: ago(-1), purged: true });
    await syncLater(id);
    expect(await stored(id)).toHaveLength(7);
    clock.advance(24 * 60 * MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('keeps amounts digit for digit', async () => {
    const amounts = [
      '12345678901234567890.12',
      '0.1',
      '9007199254740993',
      '0.30000000000000004',
      '1e21',
      '-5.00',
    ];
    const crm = await startWith(
      name,
      makeDeals(6, (index) => ({ amount: amounts[index] ?? null })),
    );
    const id = await connect(crm);
    await sync(id);
    const texts = (await stored(id)).map((row) => (row as { amount: string }).amount);
    expect(texts).toEqual([...amounts.slice(0, 4), '1000000000000000000000', '-5.00']);
  });

  test('matches owners to active members by email', async () => {
    const crm = await startWith(
      name,
      makeDeals(3, (index) => ({ ownerId: 70 + index })),
    );
    const { rows } = await api().db.pool.query(
      `select email
       from member
       where team_id = 'team_a' and id = 'mem_a_member'`,
    );
    crm.owners.set(70, ` ${(rows[0] as { email: string }).email.toUpperCase()} `);
    crm.owners.set(71, 'nobody@elsewhere.test');
    const id = await connect(crm);
    await sync(id);
    const owners = (await list('/crm/deals')).toSorted(
      (a, b) => Number(a['external_id']) - Number(b['external_id']),
    );
    expect(owners.map((deal) => deal['owner_user_id'])).toEqual([
      userId('a', 'member'),
      null,
      null,
    ]);
  });

  test('makes objections of lost reasons, and of notes that begin with the marker', async () => {
    const crm = await startWith(name, [
      { id: 1, status: 'lost', lostReason: 'Das ist uns zu teuer', modified: ago(90) },
      { id: 2, status: 'lost', modified: ago(80) },
      { id: 3, modified: ago(70) },
    ]);
    crm.notes.set(5, {
      id: 5,
      dealId: 3,
      html: '<p>einwand: They have a better offer from a competitor</p>',
      modified: ago(60),
    });
    crm.notes.set(6, { id: 6, dealId: 3, html: '<p>Call on Monday</p>', modified: ago(50) });
    crm.notes.set(7, {
      id: 7,
      dealId: 2,
      html: 'Einwand:&nbsp;kein Bedarf &amp; keine Zeit',
      modified: ago(40),
    });
    crm.notes.set(8, { id: 8, dealId: 2, html: 'Einwand:', modified: ago(30) });
    const id = await connect(crm, 'Einwand:');
    await sync(id);
    const told = async () =>
      (await list('/crm/objections'))
        .map(({ category, text, lang }) => ({ category, text, lang }))
        .toSorted((a, b) => (String(a.text) < String(b.text) ? -1 : 1));
    expect(await told()).toEqual([
      { category: 'price', text: 'Das ist uns zu teuer', lang: 'de' },
      { category: 'competitor', text: 'They have a better offer from a competitor', lang: 'en' },
      { category: 'need', text: 'kein Bedarf & keine Zeit', lang: 'de' },
    ]);
    crm.put({ id: 1, status: 'open', modified: ago(-1) });
    crm.notes.set(5, { id: 5, dealId: 3, html: 'No objection any more', modified: ago(-2) });
    await syncLater(id);
    expect(await told()).toEqual([
      { category: 'need', text: 'kein Bedarf & keine Zeit', lang: 'de' },
    ]);
    crm.notes.set(7, { id: 7, dealId: 2, html: '', modified: ago(-2), deleted: true });
    clock.advance(24 * 60 * MINUTE);
    await sync(id);
    expect(await told()).toEqual([]);
  });
});

describe.each(PROVIDER_NAMES)('%s: after changes at random', (name) => {
  test('the stored deals are those of the CRM', async () => {
    const random = createRandom(7919);
    const pick = (count: number): number => Math.floor(random() * count);
    const crm = await startWith(name, makeDeals(12));
    const id = await connect(crm);
    let created = 12;
    const mutate = (): void => {
      const deal: FakeDeal = {
        id: 1 + pick(created),
        title: `Changed ${pick(1000)}`,
        amount: `${pick(9999)}.25`,
        modified: clock.now().toISOString(),
      };
      const kind = pick(6);
      if (kind === 0) crm.put({ ...deal, id: (created += 1) });
      else if (kind === 1) crm.put({ ...deal, deleted: true });
      else if (kind === 2) crm.put({ ...deal, status: 'lost', lostReason: `Reason ${pick(9)}` });
      else crm.put(deal);
    };
    const disturb: NonNullable<FakeCrm['intercept']> = (_request, response) => {
      const kind = pick(14);
      if (kind < 3) mutate();
      if (kind === 3) answer(response, 502, {});
      else if (kind === 4) response.destroy();
      else if (kind === 5) answer(response, 429, {}, { 'retry-after': pick(2) === 0 ? '1' : '60' });
      else return false;
      return true;
    };
    for (let step = 0; step < 25; step += 1) {
      for (let count = pick(4); count > 0; count -= 1) mutate();
      crm.intercept = disturb;
      await sync(id);
      clock.advance((1 + pick(20)) * MINUTE);
      if (step % 5 !== 4) continue;
      crm.intercept = null;
      // The current round, and one that begins after the last change.
      for (let done = 0; done < 2; clock.advance(61 * MINUTE))
        if ((await sync(id)) === 'done') done += 1;
      expect(await stored(id)).toEqual(expected(crm));
      const lost = (await stored(id)).filter(
        (row) => (row as { lost_reason: string | null }).lost_reason !== null,
      );
      expect((await api().db.pool.query('select from crm_objection')).rowCount).toBe(lost.length);
    }
  });
});

// HubSpot's search sorts and filters by its index, but returns an object as it is now.
test('HubSpot: a deal and a note that just changed hide none behind them', async () => {
  const crm = await startWith('hubspot');
  for (const { id, modified } of makeDeals(7))
    crm.notes.set(id, { id, dealId: id, html: `Einwand: Nummer ${id}`, modified });
  const id = await connect(crm, 'Einwand:');
  await sync(id);
  clock.advance(24 * 60 * MINUTE);
  // Each is the last one of the first page.
  const change = { modified: clock.now().toISOString(), indexed: ago(998) };
  crm.put({ id: 3, title: 'Changed', ...change });
  crm.notes.set(3, { id: 3, dealId: 3, html: 'Einwand: Neu', ...change });
  expect(await sync(id)).toBe('done');
  expect(await stored(id)).toEqual(expected(crm));
  expect(await list('/crm/objections')).toHaveLength(7);
});

test('HubSpot: the deals of a user who was deactivated there keep their owner', async () => {
  const crm = await startWith(
    'hubspot',
    makeDeals(6, (index) => ({ ownerId: 70 + index })),
  );
  // More than a page has. Of the last one, HubSpot still has an entry from before.
  for (const id of [70, 71, 72, 73]) crm.archivedOwners.set(id, `user${id}@elsewhere.test`);
  crm.archivedOwners.set(74, 'member@a.test');
  crm.archivedOwners.set(75, 'user75@elsewhere.test');
  crm.owners.set(75, 'owner@a.test');
  const id = await connect(crm);
  expect(await sync(id)).toBe('done');
  const owners = (await list('/crm/deals')).toSorted(
    (a, b) => Number(a['external_id']) - Number(b['external_id']),
  );
  expect(owners.map((deal) => deal['owner_user_id']).slice(4)).toEqual([
    userId('a', 'member'),
    userId('a', 'owner'),
  ]);
});

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

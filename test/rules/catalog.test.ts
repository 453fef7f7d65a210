import { describe, expect, test } from 'vitest';
import { inOneOrder } from '../../src/features/catalog/platform-rules.ts';
import { labelEntries, type EntryFacts } from '../../src/features/catalog/rules.ts';

const entry = (id: string, de: string | null, en: string | null): EntryFacts => ({
  kind: 'situation',
  id,
  name_de: de,
  name_en: en,
  icon: 'phone',
});

describe('an entry', () => {
  test.each([
    ['de', 'Kaltakquise', 'Cold call', 'Kaltakquise'],
    ['en', 'Kaltakquise', 'Cold call', 'Cold call'],
    ['de', null, 'Cold call', 'Cold call'],
    ['en', 'Kaltakquise', null, 'Kaltakquise'],
    ['de', '', 'Cold call', ''],
    ['en', null, null, null],
  ] as const)('in %s, with the names %s and %s, is called %s', (language, de, en, name) => {
    const [labelled] = labelEntries([entry('sit_1', de, en)], language);
    expect(labelled).toEqual({ kind: 'situation', id: 'sit_1', name, icon: 'phone' });
  });
});

describe('the entries', () => {
  // `sit_5` has no name in German, `sit_6` and `sit_7` have none at all.
  const ENTRIES = [
    entry('sit_1', 'Zoll', 'Customs'),
    entry('sit_2', 'ärger', 'anger'),
    entry('sit_3', 'Apfel', 'Apple'),
    entry('sit_4', 'Apfel', 'Zebra'),
    entry('sit_5', null, 'Berry'),
    entry('sit_6', null, null),
    entry('sit_7', null, null),
  ];
  const idsOf = (entries: readonly { id: string }[]) => entries.map(({ id }) => id).join(' ');

  test.each([
    ['de', 'sit_3 sit_4 sit_2 sit_5 sit_1 sit_6 sit_7'],
    ['en', 'sit_2 sit_3 sit_5 sit_1 sit_4 sit_6 sit_7'],
  ] as const)('in %s are sorted by name, then by id, without a name last', (language, ids) => {
    expect(idsOf(labelEntries(ENTRIES, language))).toBe(ids);
    expect(idsOf(labelEntries(ENTRIES.toReversed(), language))).toBe(ids);
  });
});

test('of a save, the last entry of each id counts, and the order is always that of the ids', () => {
  const saved = [
    { id: 'b', icon: '1' },
    { id: 'c', icon: '2' },
    { id: 'a', icon: '3' },
    { id: 'b', icon: '4' },
  ];
  const kept = [
    { id: 'a', icon: '3' },
    { id: 'b', icon: '4' },
    { id: 'c', icon: '2' },
  ];
  expect(inOneOrder(saved)).toEqual(kept);
  expect(inOneOrder(kept.toReversed())).toEqual(kept);
  expect(inOneOrder([])).toEqual([]);
});

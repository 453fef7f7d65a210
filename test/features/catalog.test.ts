import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

interface Entry {
  id: string;
  name: string | null;
  icon: string | null;
}

type Catalog = Record<'situation' | 'personality' | 'industry' | 'role' | 'methodology', Entry[]>;

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed(
      [
        makeTeam('all', { members: [makeMember('all', 'limited', { blocked: ['sit_both'] })] }),
        makeTeam('some', { released: ['sit_both', 'per_a'] }),
        makeTeam('none', { released: [] }),
        makeTeam('strict', { blocked: ['sit_both', 'own_blocked'] }),
        makeTeam('own', { released: ['ind_x'] }),
      ],
      {
        catalog: [
          {
            kind: 'situation',
            id: 'sit_both',
            name: { de: 'Übergabe', en: 'Handover' },
            icon: 'swap',
          },
          { kind: 'situation', id: 'sit_de', name: { de: 'zuletzt' } },
          { kind: 'situation', id: 'sit_en', name: { en: 'Arrival' } },
          { kind: 'situation', id: 'sit_nameless' },
          { kind: 'situation', id: 'sit_twin_b', name: { de: 'Zwilling', en: 'Twin' } },
          { kind: 'situation', id: 'sit_twin_a', name: { de: 'Zwilling', en: 'Twin' } },
          { kind: 'personality', id: 'per_a', name: { de: 'Ruhig', en: 'Calm' } },
          { kind: 'industry', id: 'ind_x', name: { de: 'Global', en: 'Global' }, icon: 'globe' },
          { kind: 'industry', id: 'ind_x', name: { de: 'Eigene', en: 'Own' }, team: 'team_own' },
          { kind: 'role', id: 'rol_own', name: { de: 'Einkauf', en: 'Buyer' }, team: 'team_own' },
          {
            kind: 'methodology',
            id: 'sit_both',
            name: { de: 'Umgewidmet', en: 'Repurposed' },
            team: 'team_own',
          },
          {
            kind: 'role',
            id: 'own_blocked',
            name: { de: 'Gesperrt', en: 'Blocked' },
            team: 'team_strict',
          },
          { kind: 'role', id: 'own_free', name: { de: 'Frei', en: 'Free' }, team: 'team_strict' },
        ],
      },
    ),
  });
});

async function read(team: string, language = 'de'): Promise<Catalog> {
  const headers = { 'accept-language': language };
  const { status, body } = await api.call(
    api.key(`team_${team}`, 'catalog:read'),
    'GET',
    '/catalog',
    { headers },
  );
  expect(status).toBe(200);
  return body as Catalog;
}

const idsOf = (catalog: Catalog): string[] =>
  Object.values(catalog).flatMap((entries) => entries.map(({ id }) => id));

describe('GET /catalog', () => {
  test('has a list for each of the five kinds; entries have id, name and icon', async () => {
    const catalog = await read('all');
    expect(Object.keys(catalog)).toEqual([
      'situation',
      'personality',
      'industry',
      'role',
      'methodology',
    ]);
    expect(catalog.situation).toContainEqual({ id: 'sit_both', name: 'Übergabe', icon: 'swap' });
    expect(catalog.personality).toEqual([{ id: 'per_a', name: 'Ruhig', icon: null }]);
    expect(catalog.role).toEqual([]);
  });

  test.each([
    ['de', ['Arrival', 'Übergabe', 'zuletzt', 'Zwilling', 'Zwilling', null]],
    ['en-GB,de;q=0.5', ['Arrival', 'Handover', 'Twin', 'Twin', 'zuletzt', null]],
    ['en_US', ['Arrival', 'Handover', 'Twin', 'Twin', 'zuletzt', null]],
    ['fr', ['Arrival', 'Übergabe', 'zuletzt', 'Zwilling', 'Zwilling', null]],
  ])(
    'is labelled for Accept-Language %s and sorted by label; a missing name falls back',
    async (language, names) => {
      const { situation } = await read('all', language);
      expect(situation.map(({ name }) => name)).toEqual(names);
    },
  );

  test('sorts entries with the same name by id', async () => {
    const { situation } = await read('all');
    expect(situation.map(({ id }) => id).filter((id) => id.startsWith('sit_twin'))).toEqual([
      'sit_twin_a',
      'sit_twin_b',
    ]);
  });

  test('has only those global entries that are released to the team', async () => {
    expect(idsOf(await read('some'))).toEqual(['sit_both', 'per_a']);
    expect(idsOf(await read('none'))).toEqual([]);
  });

  test('leaves out entries that the team blocks, including its own', async () => {
    const ids = idsOf(await read('strict'));
    expect(ids).not.toContain('sit_both');
    expect(ids).not.toContain('own_blocked');
    expect(ids).toContain('own_free');
  });

  test('ignores the policies of members', async () => {
    expect(idsOf(await read('all'))).toContain('sit_both');
  });

  test("shows a team's own entry in place of the global one with the same id", async () => {
    expect(await read('own', 'en')).toEqual({
      situation: [],
      personality: [],
      industry: [{ id: 'ind_x', name: 'Own', icon: null }],
      role: [{ id: 'rol_own', name: 'Buyer', icon: null }],
      methodology: [{ id: 'sit_both', name: 'Repurposed', icon: null }],
    });
  });

  test('shows no entry of another team', async () => {
    const catalog = await read('all', 'en');
    expect(catalog.industry).toEqual([{ id: 'ind_x', name: 'Global', icon: 'globe' }]);
    expect(idsOf(catalog)).not.toContain('rol_own');
  });
});

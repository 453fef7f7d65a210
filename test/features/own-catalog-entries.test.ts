// A team's own entry may have the id of a global one. For this team the id then always means its
// own entry.
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { platformOf } from '../support/platform.ts';
import { CATALOG, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const own = (kind: 'situation' | 'personality' | 'industry', id: string, name: string) => ({
  kind,
  id,
  name: { en: name },
  team: 'team_own',
});

let api: TestApi;
beforeAll(async () => {
  const catalog = [
    ...CATALOG,
    own('personality', 'sit_cold', 'Own calm'),
    own('situation', 'sit_renewal', 'Own renewal'),
    own('industry', 'per_tough', 'Own trade'),
    own('industry', 'ind_saas', 'Own SaaS'),
    own('industry', 'ind_public', 'Own public sector'),
  ];
  api = await startTestApi({
    seed: makeSeed(
      [
        // The global sit_renewal, per_tough and ind_public are not released.
        makeTeam('own', {
          released: ['sit_cold', 'per_calm', 'ind_saas'],
          blocked: ['ind_public'],
        }),
        makeTeam('other'),
      ],
      { catalog },
    ),
  });
});

/** Returns the names in `GET /catalog` by id. */
async function namesOf(team: string, kind: string): Promise<Record<string, string | null>> {
  const headers = { 'accept-language': 'en' };
  const { body } = await api.call(api.key(`team_${team}`), 'GET', '/catalog', { headers });
  const entries = (body as Record<string, { id: string; name: string | null }[]>)[kind] ?? [];
  return Object.fromEntries(entries.map(({ id, name }) => [id, name]));
}

/** Returns how an assignment of these three entries is answered. */
async function assign(
  team: string,
  situation_id: string,
  personality_id: string,
  industry_id: string,
) {
  const combination = { situation_id, personality_id, industry_id };
  const { status, body } = await api.call(api.key(`team_${team}`), 'POST', '/assignments', {
    body: { member_id: memberId(team, 'member'), title: 'Practise', ...combination },
  });
  const { code, dimension, id } = body as Record<string, string>;
  return status === 201
    ? 'ok'
    : [code, dimension, id].filter((part) => part !== undefined).join(' ');
}

describe('a team’s own entry with the id of a global one', () => {
  test('replaces it in the catalog, with its own kind and without a release', async () => {
    expect(await namesOf('own', 'situation')).toEqual({ sit_renewal: 'Own renewal' });
    expect(await namesOf('own', 'personality')).toEqual({ sit_cold: 'Own calm', per_calm: 'Calm' });
    expect(await namesOf('own', 'industry')).toEqual({
      ind_saas: 'Own SaaS',
      per_tough: 'Own trade',
    });
  });

  test('is the entry that the id in an assignment means', async () => {
    expect(await assign('own', 'sit_renewal', 'sit_cold', 'per_tough')).toBe('ok');
    expect(await assign('own', 'sit_renewal', 'per_calm', 'ind_saas')).toBe('ok');
  });

  test('makes the global entry unusable in assignments, released or not', async () => {
    expect(await assign('own', 'sit_cold', 'per_calm', 'ind_saas')).toBe(
      'kombination_ungueltig situation sit_cold',
    );
    expect(await assign('own', 'sit_renewal', 'per_tough', 'ind_saas')).toBe(
      'kombination_ungueltig personality per_tough',
    );
  });

  test('is blocked by a policy with this id', async () => {
    expect(await assign('own', 'sit_renewal', 'per_calm', 'ind_public')).toBe('vorgabe_gesperrt');
    expect(await namesOf('own', 'industry')).not.toHaveProperty('ind_public');
  });

  test('replaces it in the admins’ catalog, once and with its own kind', async () => {
    const { catalog } = (await appAsMember(api, 'own', 'admin')).admin.team;
    const { data } = await catalog.query({});
    const flagsOf = (id: string) =>
      data
        .filter((row) => row.id === id)
        .map((row) => [row.kind, row.name, row.own, row.released, row.blocked]);
    expect(flagsOf('sit_cold')).toEqual([['personality', 'Own calm', true, true, false]]);
    expect(flagsOf('sit_renewal')).toEqual([['situation', 'Own renewal', true, true, false]]);
    expect(flagsOf('ind_public')).toEqual([['industry', 'Own public sector', true, true, true]]);
    expect(flagsOf('per_calm')).toEqual([['personality', 'Ruhig', false, true, false]]);
    const situations = await catalog.query({ kind: 'situation' });
    expect(situations.data.map(({ id }) => id)).toEqual(['sit_renewal']);
  });

  test('changes nothing for another team', async () => {
    expect(await namesOf('other', 'situation')).toEqual({
      sit_cold: 'Cold call',
      sit_renewal: 'Renewal',
    });
    expect(await namesOf('other', 'industry')).toEqual({
      ind_saas: 'SaaS',
      ind_public: 'Public sector',
    });
    const { data } = await (await appAsMember(api, 'other', 'admin')).admin.team.catalog.query({});
    const global = CATALOG.map(({ id, kind }) => ({ id, kind, own: false }));
    expect(data.map(({ id, kind, own: isOwn }) => ({ id, kind, own: isOwn }))).toEqual(
      global.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
    expect(await assign('other', 'sit_cold', 'per_tough', 'ind_public')).toBe('ok');
    expect(await assign('other', 'sit_cold', 'sit_cold', 'per_tough')).toBe(
      'kombination_ungueltig personality sit_cold',
    );
  });

  test('still hides it when everything is released and when the global one changes', async () => {
    const { release } = (await appAsMember(api, 'own', 'owner')).admin.team;
    await release.set.mutate({ released: 'all' });
    const changed = { id: 'sit_cold', kind: 'industry' as const, name: { en: 'Changed' } };
    await (await platformOf(api)).catalog.saveEntries.mutate({ entries: [changed] });
    expect(await namesOf('other', 'industry')).toHaveProperty('sit_cold', 'Changed');
    expect(await namesOf('own', 'situation')).toEqual({ sit_renewal: 'Own renewal' });
    expect(await namesOf('own', 'personality')).toEqual({ sit_cold: 'Own calm', per_calm: 'Calm' });
    expect(await namesOf('own', 'industry')).toEqual({
      ind_saas: 'Own SaaS',
      per_tough: 'Own trade',
    });
    expect(await assign('own', 'sit_renewal', 'per_tough', 'ind_saas')).toBe(
      'kombination_ungueltig personality per_tough',
    );
    expect(await assign('own', 'sit_renewal', 'per_calm', 'sit_cold')).toBe(
      'kombination_ungueltig industry sit_cold',
    );
    expect(await assign('own', 'sit_renewal', 'sit_cold', 'per_tough')).toBe('ok');
  });
});

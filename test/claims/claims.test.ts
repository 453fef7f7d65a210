// What the guides claim is true: each such sentence is in a list with what checks it (list.ts says
// how). A sentence that is new or was changed is red here until somebody has looked for its check.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { IP_RATE_LIMIT_PER_MINUTE } from '../../src/http/api/authentication/rate-limits.ts';
import { makeFullTeam, memberId } from '../support/seed.ts';
import { addDeliveries, seedForEveryEndpoint } from '../contract/requests.ts';
import { ASSIGNMENTS, CHECKS, TEAM } from './checks.ts';
import { readList, type Check } from './list.ts';
import { claimsIn, claimsOf, GUIDES } from './sentences.ts';
import { titlesOf } from './titles.ts';

const CLAIMS = new Map(GUIDES.map((guide) => [guide, claimsOf(guide)]));
const CHECKED = new Map(GUIDES.map((guide) => [guide, readList(guide)]));
const checksOf = (guide: string): readonly Check[] =>
  (CHECKED.get(guide) ?? []).flatMap(({ checks }) => checks);

describe.each(GUIDES)('the guide %s', (guide) => {
  const claims = CLAIMS.get(guide) ?? [];
  const listed = (CHECKED.get(guide) ?? []).flatMap(({ sentences }) => sentences);

  it(`has a check in lists/${guide}.md for each of its ${claims.length} claims`, () => {
    expect({
      withoutACheck: claims.filter((claim) => !listed.includes(claim)),
      noLongerInTheGuide: listed.filter((sentence) => !claims.includes(sentence)),
      listedTwice: listed.filter((sentence, index) => listed.indexOf(sentence) !== index),
    }).toEqual({ withoutACheck: [], noLongerInTheGuide: [], listedTwice: [] });
  });

  it('names tests that there are', () => {
    const known = new Map<string, ReadonlySet<string>>();
    const missing = checksOf(guide).flatMap((check) => {
      if (check.kind !== 'test') return [];
      const { file, title } = check;
      const titles = known.get(file) ?? titlesOf(file);
      known.set(file, titles);
      return titles.has(title) ? [] : [`${file}: ${title}`];
    });
    expect(missing).toEqual([]);
  });
});

describe('the running service', () => {
  let api: TestApi;
  beforeAll(async () => {
    const assignments = Array.from({ length: ASSIGNMENTS }, (_, index) => ({
      id: `asg_${TEAM}_${index}`,
      member_id: memberId(TEAM, 'member'),
      title: `Practise objections ${index}`,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    }));
    const privacy = { member_detail_enabled: true };
    api = await startTestApi({
      seed: seedForEveryEndpoint([makeFullTeam(TEAM, { assignments, privacy })], { privacy }),
      allowPrivateTargets: true,
      ipLimitPerMinute: IP_RATE_LIMIT_PER_MINUTE,
    });
    await addDeliveries(api.db);
  });

  it.each(Object.entries(CHECKS))('%s', async (name, check) => {
    const isListed = GUIDES.some((guide) =>
      checksOf(guide).some((one) => one.kind === 'run' && one.name === name),
    );
    expect([name, isListed]).toEqual([name, true]);
    await check(api);
  });

  it('is asked for all that the lists say', () => {
    const named = GUIDES.flatMap(checksOf).flatMap((one) => (one.kind === 'run' ? [one.name] : []));
    expect(named.filter((name) => !Object.hasOwn(CHECKS, name))).toEqual([]);
  });
});

describe('a claim', () => {
  it.each([
    ['It ends after 5 s.', ['It ends after 5 s.']],
    ['One. It is `a. B`. [Never](/x) **so.** Fine.', ['One.', 'It is `a. B`.', 'Never so.']],
    ['- Every\n  line\n- Some', ['Every line']],
    ['| a | b |\n| - | - |\n| `x` | y. Z |', ['`x` – y.']],
    ['```\nAlways 1\n```\n\n{{request GET /me}}', []],
    ['Send the key. Send 5 keys. Always? Usually.', ['Send 5 keys.']],
  ])('is found in %j', (text, claims) => {
    expect(claimsIn(text)).toEqual(claims);
  });
});

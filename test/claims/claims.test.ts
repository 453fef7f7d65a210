// What the guides claim is true: below each such sentence a comment says what checks it
// (comments.ts). A sentence that is new is red here until somebody has looked for its check.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { IP_RATE_LIMIT_PER_MINUTE } from '../../src/http/api/authentication/rate-limits.ts';
import { makeFullTeam, memberId } from '../support/seed.ts';
import { addDeliveries, seedForEveryEndpoint } from '../contract/requests.ts';
import { ASSIGNMENTS, CHECKS, TEAM } from './checks.ts';
import { checksIn, type Check } from './comments.ts';
import { blocksIn, blocksOf, GUIDES } from './sentences.ts';
import { titlesOf } from './titles.ts';

const BLOCKS = new Map(GUIDES.map((guide) => [guide, blocksOf(guide)]));
const checksOf = (guide: string): readonly Check[] =>
  (BLOCKS.get(guide) ?? []).flatMap(({ comments }) => comments.flatMap(checksIn));

describe.each(GUIDES)('the guide %s', (guide) => {
  const blocks = BLOCKS.get(guide) ?? [];

  it('has a check below each of its claims', () => {
    const faulty = blocks.filter(({ claims, comments }) => claims.length !== comments.length);
    expect(faulty).toEqual([]);
  });

  it('has checks above each comment that refers to them', () => {
    const [first = ''] = blocks.flatMap(({ comments }) => comments);
    expect(first).not.toBe('as above');
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

  it('is asked for all that the guides name', () => {
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
    expect(blocksIn(text).flatMap((block) => block.claims)).toEqual(claims);
  });

  it.each([
    ['Never.\n<!-- run: a -->\n\nAlways.', [['run: a'], []]],
    ['Never. Once.\n<!-- run: a -->\n<!-- run: b\n  c -->', [['run: a', 'run: b c']]],
    ['- Never\n  <!-- run: a -->\n- Once\n  <!-- run: b -->', [['run: a'], ['run: b']]],
    ['| a |\n| - |\n| 1 |\n\n<!-- run: a -->', [['run: a']]],
  ])('has the comments below it in %j', (text, comments) => {
    expect(blocksIn(text).map((block) => block.comments)).toEqual(comments);
  });

  it('is checked by all that a comment names', () => {
    expect(checksIn('test: a/b "c: "d" e" run: f g explained: h')).toEqual([
      { kind: 'test', file: 'a/b.test.ts', title: 'c: "d" e' },
      { kind: 'run', name: 'f g' },
      { kind: 'explained', reason: 'h' },
    ]);
    expect(() => checksIn('test: a/b c')).toThrow('Not a check: test: a/b c');
  });
});

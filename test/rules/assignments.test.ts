import { describe, expect, test } from 'vitest';
import { isCompletedByTraining } from '../../src/features/assignments/platform-rules.ts';
import {
  COMBINED,
  EXTERNAL_ID_MAX_CHARACTERS,
  EXTERNAL_REF_MAX_BYTES,
  requireAllowed,
  requireSettableStatus,
  requireStorable,
  type Dimension,
} from '../../src/features/assignments/rules.ts';

describe('a status', () => {
  test.each(['open', 'done'])('can be set to %s', (status) => {
    expect(requireSettableStatus(status)).toBe(status);
  });

  test.each(['revoked', 'Done', ''])('cannot be set to "%s"', (status) => {
    expect(() => requireSettableStatus(status)).toThrow(
      expect.objectContaining({
        code: 'validation_error',
        fields: expect.objectContaining({ field: 'status' }),
      }),
    );
  });
});

describe('a combination', () => {
  const COMBINATION = { situation: 'sit_1', personality: 'per_1', industry: 'ind_1' };
  const check = (facts: {
    invisible?: readonly Dimension[];
    forbidden?: Dimension | null;
    blocked?: readonly Dimension[];
  }): void =>
    requireAllowed(COMBINATION, {
      visible: COMBINED.filter((dimension) => !facts.invisible?.includes(dimension)),
      forbidden: facts.forbidden ?? null,
      blocked: (facts.blocked ?? []).map((dimension) => COMBINATION[dimension]),
    });

  test('is allowed if all entries are visible, none is blocked and no rule forbids it', () => {
    expect(() => check({})).not.toThrow();
  });

  test.each<[Dimension[], object]>([
    [['situation'], { dimension: 'situation', id: 'sit_1' }],
    [['personality'], { dimension: 'personality', id: 'per_1' }],
    [['industry'], { dimension: 'industry', id: 'ind_1' }],
    [['industry', 'personality'], { dimension: 'personality', id: 'per_1' }],
    [['industry', 'situation'], { dimension: 'situation', id: 'sit_1' }],
  ])('is invalid with the invisible %j', (invisible, fields) => {
    expect(() => check({ invisible, forbidden: 'situation', blocked: ['situation'] })).toThrow(
      expect.objectContaining({
        code: 'kombination_ungueltig',
        fields: expect.objectContaining(fields),
      }),
    );
  });

  test.each<Dimension>(['situation', 'personality'])(
    'is invalid if a rule that begins with the %s forbids it, before policies count',
    (forbidden) => {
      expect(() => check({ forbidden, blocked: ['situation'] })).toThrow(
        expect.objectContaining({
          code: 'kombination_ungueltig',
          fields: {
            dimension: forbidden,
            detail: expect.stringContaining(`forbids this ${forbidden} in this combination`),
          },
        }),
      );
    },
  );

  test.each<[Dimension[], Dimension]>([
    [['situation'], 'situation'],
    [['personality'], 'personality'],
    [['industry'], 'industry'],
    [['industry', 'personality'], 'personality'],
  ])('is blocked by a policy against the %j', (blocked, named) => {
    expect(() => check({ blocked })).toThrow(
      expect.objectContaining({
        code: 'vorgabe_gesperrt',
        fields: { detail: expect.stringContaining(`blocks the ${named}. Choose another one`) },
      }),
    );
  });
});

test.each([
  ['open', null, true],
  ['open', 'tra_1', true],
  ['done', null, true],
  ['done', 'tra_1', false],
  ['revoked', null, false],
  ['revoked', 'tra_1', false],
])('an assignment that is %s, with the training %s, takes another: %s', (status, id, takes) => {
  expect(isCompletedByTraining({ status, completed_training_id: id })).toBe(takes);
});

describe('an external reference', () => {
  const sized = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) });
  const fault = expect.objectContaining({
    code: 'validation_error',
    fields: expect.objectContaining({ field: 'external_ref' }),
  });

  test.each([
    [null],
    [undefined],
    [{}],
    [{ id: null }],
    [{ id: 0 }],
    [{ id: 'a' }],
    [{ id: '😀'.repeat(EXTERNAL_ID_MAX_CHARACTERS) }],
    [{ other: { id: {} } }],
    [sized(EXTERNAL_REF_MAX_BYTES)],
  ])('can be stored: %o', (ref) => {
    expect(() => requireStorable(ref)).not.toThrow();
  });

  test.each([
    [{ id: '' }],
    [{ id: true }],
    [{ id: [] }],
    [{ id: { id: 'a' } }],
    [{ id: 'x'.repeat(EXTERNAL_ID_MAX_CHARACTERS + 1) }],
    [sized(EXTERNAL_REF_MAX_BYTES + 1)],
    [{ text: '€'.repeat(EXTERNAL_REF_MAX_BYTES / 3) }],
  ])('cannot be stored: %o', (ref) => {
    expect(() => requireStorable(ref)).toThrow(fault);
  });
});

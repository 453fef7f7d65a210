import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pageOf } from '../../src/core/page.ts';
import {
  isPersonal,
  personal,
  personalOrNull,
  personalParts,
  privateFieldsOf,
  restricted,
  secretField,
  withholderFor,
} from '../../src/core/private-fields.ts';
import { privacyOf } from '../../src/core/privacy.ts';
import { evaluation } from '../../src/core/evaluation-shapes.ts';
import { endpoint } from '../../src/trpc/endpoint.ts';
import { appProcedure } from '../../src/trpc/procedures.ts';
import { protect, type Protection } from '../../src/trpc/protection.ts';

const member = z.object({
  id: z.string(),
  email: personal(z.string().nullable()),
  name: personalOrNull(z.string().nullable()),
});
const score = z.object({ id: z.string(), score: restricted(z.int()) });
const OFF = privacyOf({ memberDetailEnabled: false, leaderboardEnabled: true });
const ON = privacyOf({ memberDetailEnabled: true, leaderboardEnabled: true });

describe('the private fields of a shape', () => {
  it('are left out or null, at any depth', () => {
    const shape = z.object({
      page: z.array(member),
      first: member.nullable(),
      other: member.optional(),
      more: z.array(member).default([]),
      count: z.int(),
    });
    const withhold = withholderFor(shape, 'personal');
    const kim = { id: 'a', email: 'kim@a.test', name: 'Kim' };
    const value = { page: [kim], first: null, more: [kim], count: 1 };
    expect(withhold?.(value)).toEqual({
      page: [{ id: 'a', name: null }],
      first: null,
      more: [{ id: 'a', name: null }],
      count: 1,
    });
    expect(withhold?.({ ...value, first: kim, other: kim })).toMatchObject({
      first: { id: 'a', name: null },
      other: { id: 'a', name: null },
    });
    expect(value.page).toEqual([kim]);
    expect(withholderFor(shape, 'secret')).toBeNull();
  });

  it('may hold personal parts, and depend on the other fields', () => {
    const shape = z.object({
      list: personalParts(z.array(z.int()), () => []),
      text: personalParts(z.string(), (text, { id }) => `${text} of ${String(id)}`),
      id: z.string(),
    });
    expect(withholderFor(shape, 'personal')?.({ list: [1], text: 'a', id: 'b' })).toEqual({
      list: [],
      text: 'a of b',
      id: 'b',
    });
  });

  it('are found with their path and kind', () => {
    const shape = z.object({
      data: z.array(member),
      key: secretField(z.string()),
      result: score,
    });
    expect(privateFieldsOf(shape)).toEqual([
      { kind: 'personal', path: 'data.email', canBeWithheld: true },
      { kind: 'personal', path: 'data.name', canBeWithheld: true },
      { kind: 'secret', path: 'key', canBeWithheld: true },
      { kind: 'personal', path: 'result.score', canBeWithheld: false },
    ]);
    expect(withholderFor(shape, 'secret')?.({ data: [], key: 'x' })).toEqual({ data: [] });
    expect(privateFieldsOf(z.object({ id: z.string(), any: z.unknown() }))).toEqual([]);
  });

  it('keep their mark when they are described anew, or taken into another shape', () => {
    const described = restricted(z.int()).meta({ description: 'Another word.' });
    expect(isPersonal(described)).toBe(true);
    expect(privateFieldsOf(score.extend({ more: z.int() }).omit({ id: true }))).toHaveLength(1);
    // The field itself may be used for something that is not personal.
    const total = z.int();
    restricted(total);
    expect(isPersonal(total)).toBe(false);
  });

  it.each([
    ['a union', z.object({ one: z.union([member, z.string()]) })],
    ['a record', z.object({ one: z.record(z.string(), member) })],
    ['a wrapper', z.object({ one: personal(z.string()).nullable() })],
    ['a list', z.object({ one: z.array(restricted(z.int())) })],
    ['nothing', personal(z.string())],
    ['a transform', z.object({ one: z.preprocess((value) => value, member) })],
  ])('are not overlooked in %s', (_what, shape) => {
    expect(() => privateFieldsOf(shape)).toThrow(/private fields|the mark of/);
  });

  it('keep their description and say when they are withheld', () => {
    const email = personal(z.string().meta({ description: 'An address.' }));
    expect(email.meta()?.description).toBe('An address. Only while `member_detail_enabled` is on.');
    expect(personalOrNull(z.string().nullable()).meta()?.description).toBe(
      'Null while `member_detail_enabled` is off.',
    );
    expect([isPersonal(email), isPersonal(z.string())]).toEqual([true, false]);
  });
});

const facts = {
  path: '/people',
  scope: null,
  tag: 'People',
  summary: '',
  description: '',
  input: z.strictObject({}),
} as const;

describe('a declaration', () => {
  const declare = (method: 'POST' | 'PATCH', output: typeof member = member) =>
    endpoint({
      ...facts,
      method,
      output,
      outputName: 'Person',
      privacy: 'redact',
      example: { output: { id: 'a', name: null } },
    }).mutation(async () => ({ id: 'a', name: null }));

  it('of a POST with private fields must say whose they are, and under one condition', () => {
    expect(() => declare('POST')).toThrow('POST /people has private fields and needs privateOf');
    expect(() => declare('PATCH')).not.toThrow();
    const both = member.extend({ key: secretField(z.string()) });
    expect(() => declare('POST', both)).toThrow('both personal fields and secrets');
  });

  it('that lists evaluations and forgets the privacy switch does not load', () => {
    const output = pageOf(evaluation);
    const declaration = {
      ...facts,
      method: 'GET',
      path: '/assignments/{assignment_id}/evaluations',
      output,
      outputName: 'EvaluationPage',
      example: { output: { data: [], next_cursor: null } },
    } as const;
    expect(() =>
      // @ts-expect-error -- nor does it compile
      endpoint(declaration).query(async () => ({ data: [], next_cursor: null })),
    ).toThrow(
      'GET /assignments/{assignment_id}/evaluations shows personal fields (data.user_id, ' +
        'data.score, data.tips, data.goal, data.strongest, data.biggest_lever)',
    );
    const erased: z.ZodType = output;
    expect(() =>
      // The compiler does not see the marks of this one.
      endpoint({ ...declaration, output: erased }).query(async () => null),
    ).toThrow('shows personal fields');
  });

  it('of a procedure of the app that forgets the privacy switch does not load', () => {
    expect(() =>
      // @ts-expect-error -- nor does it compile
      appProcedure({ access: 'admins', input: z.object({}), output: member }),
    ).toThrow('shows personal fields (email, name)');
  });
});

describe('the protection of an output', () => {
  type Does = 'read' | 'create' | 'change';
  const protectAs = (output: z.ZodType, privacy?: Protection, does: Does = 'read') =>
    protect({ name: 'GET /x', does, output, ...(privacy && { privacy }) });

  it.each<[string, z.ZodType, Protection, Does]>([
    ['cannot withhold score', score, 'redact', 'read'],
    ['cannot withhold score', score, { echoes: [] }, 'create'],
    ['is a change, which is made whatever it shows', score, 'refuse', 'create'],
    ['is a change, which is made whatever it shows', score, 'refuse', 'change'],
    ['is no creation, and echoes nothing', score, { echoes: ['score'] }, 'read'],
    ['is no creation, and echoes nothing', score, { echoes: ['score'] }, 'change'],
    ['is no creation, and echoes nothing', member, { echoes: ['email'] }, 'change'],
    ['echoes id, which it would not withhold', member, { echoes: ['id'] }, 'create'],
    ['protects fields, but shows no personal ones', z.object({ id: z.string() }), 'redact', 'read'],
  ])('%s: refused', (reason, output, privacy, does) => {
    expect(() => protectAs(output, privacy, does)).toThrow(reason);
  });

  it('refuses, or withholds, while details are off, and only then', () => {
    const refusing = protectAs(score, 'refuse');
    expect(() => refusing.check(ON)).not.toThrow();
    expect(() => refusing.check(OFF)).toThrow(
      expect.objectContaining({ code: 'privacy_restricted' }),
    );
    const kim = { id: 'a', email: 'kim@a.test', name: 'Kim' };
    const redacting = protectAs(member, 'redact');
    expect(() => redacting.check(OFF)).not.toThrow();
    expect(redacting.show(ON, kim)).toEqual(kim);
    expect(redacting.show(OFF, kim)).toEqual({ id: 'a', name: null });
    const echoes = ['score', 'name'];
    const echoing = protectAs(member.extend(score.shape), { echoes }, 'create');
    expect(echoing.show(OFF, { ...kim, score: 7 })).toEqual({ id: 'a', name: 'Kim', score: 7 });
  });
});

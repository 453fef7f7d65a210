import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  isPersonal,
  personal,
  personalOrNull,
  privateFieldsOf,
  secretField,
} from '../../src/core/private-fields.ts';
import { endpoint } from '../../src/trpc/endpoint.ts';

const member = z.object({
  id: z.string(),
  email: personal(z.string().nullable()),
  name: personalOrNull(z.string().nullable()),
});

describe('the private fields of a shape', () => {
  it('are left out or null, at any depth', () => {
    const shape = z.object({
      page: z.array(member),
      first: member.nullable(),
      other: member.optional(),
      count: z.int(),
    });
    const fields = privateFieldsOf(shape);
    const kim = { id: 'a', email: 'kim@a.test', name: 'Kim' };
    const value = { page: [kim], first: null, count: 1 };
    expect(fields?.kind).toBe('personal');
    expect(fields?.withhold(value)).toEqual({
      page: [{ id: 'a', name: null }],
      first: null,
      count: 1,
    });
    expect(fields?.withhold({ ...value, first: kim, other: kim })).toMatchObject({
      first: { id: 'a', name: null },
      other: { id: 'a', name: null },
    });
    expect(value.page).toEqual([kim]);
  });

  it('are null without any, and either personal or secret', () => {
    expect(privateFieldsOf(z.object({ id: z.string(), any: z.unknown() }))).toBeNull();
    const secret = { key: secretField(z.string().meta({ description: 'A key.' })) };
    expect(privateFieldsOf(z.object(secret))?.kind).toBe('secret');
    expect(privateFieldsOf(z.object(secret))?.withhold({ key: 'x' })).toEqual({});
    expect(() => privateFieldsOf(member.extend(secret))).toThrow(/either personal/);
  });

  it('are not overlooked in shapes that are not searched', () => {
    const shape = z.object({ one: z.union([member, z.string()]) });
    expect(() => privateFieldsOf(shape)).toThrow('of type union');
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

describe('a declaration', () => {
  const declare = (method: 'POST' | 'PATCH') =>
    endpoint({
      method,
      path: '/people',
      scope: null,
      tag: 'People',
      summary: '',
      description: '',
      input: z.strictObject({}),
      output: member,
      outputName: 'Person',
      example: { output: { id: 'a', name: null } },
    }).mutation(async () => ({ id: 'a', name: null }));

  it('of a POST with private fields must say whose they are', () => {
    expect(() => declare('POST')).toThrow('POST /people has private fields and needs privateOf');
    expect(() => declare('PATCH')).not.toThrow();
  });
});

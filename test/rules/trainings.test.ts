import { describe, expect, test } from 'vitest';
import { FREE_JSON_MAX_BYTES, requireFreeJson } from '../../src/core/shapes.ts';
import {
  advance,
  isEnded,
  requireOrder,
  requireSameTraining,
  type Progress,
  type Step,
} from '../../src/features/trainings/platform-rules.ts';

const END_AT = '2026-11-02T09:30:00.000Z';
const START: Step = { kind: 'start' };
const ABORT: Step = { kind: 'abort' };
const END: Step = { kind: 'end', finishedAt: END_AT, durationS: 600 };

const open = (status: string): Progress => ({ status, finished_at: null, duration_s: null });
const ended = (status: string): Progress => ({
  status,
  finished_at: '2026-11-02T09:10:00.000Z',
  duration_s: null,
});
const endedByEnd = (status: string): Progress => ({
  status,
  finished_at: END_AT,
  duration_s: 600,
});
const problem = (code: string, fields: object = {}) =>
  expect.objectContaining({ code, fields: expect.objectContaining(fields) });

describe('a step', () => {
  test.each<[string, Progress | null, Step, Progress]>([
    ['a start of a new training', null, START, open('started')],
    ['an abort of a new training', null, ABORT, open('aborted')],
    ['an end of a new training', null, END, endedByEnd('completed')],
    ['an abort of a started one', open('started'), ABORT, open('aborted')],
    ['an end of a started one', open('started'), END, endedByEnd('completed')],
    ['an end of an aborted one', open('aborted'), END, endedByEnd('completed')],
    ['the first end of a scored one', open('scored'), END, endedByEnd('scored')],
  ])('moves on: %s', (_name, before, step, after) => {
    expect(advance(before, step)).toEqual(after);
  });

  const stays: [string, Progress, Step][] = [
    ...['started', 'aborted', 'completed', 'scored'].map((status): [string, Progress, Step] => [
      `a start of one ${status}`,
      open(status),
      START,
    ]),
    ['a start of an ended one', ended('completed'), START],
    ['an abort of an aborted one', open('aborted'), ABORT],
    ['an abort of a completed one without an end', open('completed'), ABORT],
    ['an abort of a scored one', open('scored'), ABORT],
    ['an abort of an ended one with another status', ended('reviewed'), ABORT],
    ['a repeated end', ended('completed'), END],
    ['a repeated end of a scored one', ended('scored'), END],
  ];

  test.each(stays)('changes nothing: %s', (_name, before, step) => {
    expect(advance(before, step)).toBe(before);
  });
});

describe('a session of the analytics', () => {
  test.each<[Progress | null, boolean]>([
    [null, false],
    [open('started'), false],
    [open('aborted'), false],
    [open('completed'), false],
    [open('scored'), true],
    [ended('completed'), true],
    [ended('scored'), true],
  ])('%j: %s', (progress, is) => {
    expect(isEnded(progress)).toBe(is);
  });
});

describe('a description', () => {
  const stored = { user_id: 'usr_1', created_at: '2026-11-02T09:00:00.000Z' };

  test('of the same person and beginning is of the same training', () => {
    expect(() => requireSameTraining(stored, { ...stored })).not.toThrow();
  });

  test.each([{ user_id: 'usr_2' }, { created_at: '2026-11-02T09:00:00.001Z' }])(
    'with %j is of another training',
    (other) => {
      expect(() => requireSameTraining(stored, { ...stored, ...other })).toThrow(
        problem('conflict'),
      );
    },
  );
});

describe('an end', () => {
  test.each(['2026-11-02T09:29:59.999Z', END_AT])('may follow the beginning %s', (createdAt) => {
    expect(() => requireOrder(createdAt, END)).not.toThrow();
  });

  test('may not come before the beginning', () => {
    expect(() => requireOrder('2026-11-02T09:30:00.001Z', END)).toThrow(
      problem('validation_error', { field: 'finished_at' }),
    );
  });

  test.each([START, ABORT])('is the only step with an order: %j', (step) => {
    expect(() => requireOrder('2026-11-02T09:30:00.001Z', step)).not.toThrow();
  });
});

describe('an external reference', () => {
  /** JSON of this many bytes; `ä` takes two. */
  const ofBytes = (bytes: number): object => {
    const frame = JSON.stringify({ text: 'ä' });
    return { text: `ä${'x'.repeat(bytes - Buffer.byteLength(frame))}` };
  };

  test.each([null, {}, ofBytes(FREE_JSON_MAX_BYTES)])('may be stored up to 64 KiB', (reference) => {
    expect(() => requireFreeJson('external_ref', reference)).not.toThrow();
  });

  test('may not be larger', () => {
    expect(() => requireFreeJson('external_ref', ofBytes(FREE_JSON_MAX_BYTES + 1))).toThrow(
      problem('validation_error', { field: 'external_ref' }),
    );
  });
});

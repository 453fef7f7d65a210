import { z } from 'zod';
import { DIMENSIONS } from '../../core/dimensions.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personalOrNull } from '../../core/private-fields.ts';
import { entryIndex, entryProblem } from '../../core/problem-shapes.ts';
import {
  catalogId,
  dateInput,
  dateOnly,
  dateTime,
  dateTimeInput,
  freeObject,
  id,
  knownText,
  listOf,
  nameInput,
} from '../../core/shapes.ts';
import { ASSIGNMENT_STATUSES } from '../../core/vocabularies.ts';
import { BATCH_MAX, EXTERNAL_REF_MAX_BYTES, SETTABLE } from './rules.ts';

const externalRef = freeObject.meta({ 'x-max-bytes': EXTERNAL_REF_MAX_BYTES });

export const assignment = z
  .object({
    id: z.string().meta({ description: 'Id of the assignment.' }),
    status: knownText(ASSIGNMENT_STATUSES).meta({
      description: '`open`, `done`, or `revoked` when its member was removed.',
    }),
    title: z
      .string()
      .nullable()
      .meta({ description: 'What the recipient reads; null without one.' }),
    situation_id: catalogId,
    personality_id: catalogId,
    industry_id: catalogId,
    member_user_id: personalOrNull(
      z.string().nullable().meta({
        description: 'The recipient as a person; null until their invitation is accepted.',
      }),
    ),
    member_email: personalOrNull(
      z.string().nullable().meta({ description: "The recipient's address." }),
    ),
    note: z
      .string()
      .nullable()
      .meta({ description: 'Free text for the recipient; null without one.' }),
    due_date: dateOnly.nullable().meta({ description: 'A calendar date; null without one.' }),
    focus_dimension: knownText(DIMENSIONS)
      .nullable()
      .meta({ description: 'The dimension to practise; null without one.' }),
    completed_training_id: z
      .string()
      .nullable()
      .meta({ description: 'The training that completed it; null if none did.' }),
    created_at: dateTime.nullable().meta({ description: 'When it was created.' }),
    external_ref: externalRef.nullable().meta({
      description:
        "Free-form JSON, as it was stored: what the assignment is called in the client's system.",
    }),
  })
  .meta({ description: 'A training that a member is asked to do.' });

export const assignmentExample = {
  id: 'asg_01jc4f5a',
  status: 'open',
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
  member_user_id: 'usr_01jc4f40',
  member_email: 'kim@example.com',
  note: 'Before the review, please.',
  due_date: '2026-12-01',
  focus_dimension: null,
  completed_training_id: null,
  created_at: '2026-11-02T09:15:00.000Z',
  external_ref: { id: 'lms-4711', course: 'objections' },
};

export const assignmentPage = pageOf(assignment);

const assignmentId = {
  assignment_id: id.meta({ description: 'Id of an assignment.', examples: ['asg_01jc4f5a'] }),
};
const note = z
  .string()
  .max(10_000)
  .nullable()
  .optional()
  .meta({ description: 'Free text for the recipient; null clears it.' });
const dueDate = dateInput
  .nullable()
  .optional()
  .meta({ description: 'A calendar date; null clears it.', examples: ['2026-12-01'] });

const reference = externalRef
  .nullable()
  .optional()
  .meta({
    description:
      'Free-form, at most 4 KiB of JSON, returned as stored; null clears it. Its `id`, a text of ' +
      '1 to 200 characters or a number, is for the id that your own system has for the ' +
      'assignment: `GET /assignments?external_ref_id=` finds it. It need not be unique.',
    examples: [{ id: 'lms-4711', course: 'objections' }],
  });

export const listInput = z.object({
  ...pageQuery,
  status: knownText(ASSIGNMENT_STATUSES, nameInput.min(1))
    .optional()
    .meta({ description: 'Only assignments with this status.', examples: ['open'] }),
  member_id: id.optional().meta({
    description: 'Only assignments of this member.',
  }),
  due_before: dateInput.optional().meta({
    description: 'Only assignments that are due before this calendar date.',
    examples: ['2026-12-01'],
  }),
  external_ref_id: nameInput.min(1).optional().meta({
    description: 'Only assignments whose `external_ref` has this `id`; a number as its digits.',
  }),
  updated_since: dateTimeInput.optional().meta({
    description:
      'Only assignments that were created or changed at or after this moment; a date-time with ' +
      'an offset. Encode the `+` of an offset as `%2B`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
});
export const getInput = z.object(assignmentId);
export const createInput = z.strictObject({
  member_id: id.meta({
    description: 'The recipient: an active or invited member.',
    examples: ['mem_01jc4f3x'],
  }),
  title: z
    .string()
    .refine((text) => Array.from(text).length <= 120, { error: 'At most 120 characters.' })
    .min(1)
    .meta({
      description: '1 to 120 characters.',
      maxLength: 120,
      examples: ['Practise objections'],
    }),
  situation_id: id.meta({ description: 'A situation from the catalog.', examples: ['sit_cold'] }),
  personality_id: id.meta({
    description: 'A personality from the catalog.',
    examples: ['per_calm'],
  }),
  industry_id: id.meta({ description: 'An industry from the catalog.', examples: ['ind_saas'] }),
  note,
  due_date: dueDate,
  external_ref: reference,
});

/** The name of `createInput` in the document, where entries of a batch refer to it. */
export const CREATE_NAME = 'AssignmentCreate';

/** Any value: what is wrong with an entry is its own result (`readEntry`). */
const sentEntry = z.unknown().meta({
  $ref: `#/components/schemas/${CREATE_NAME}`,
}) as unknown as z.ZodType<unknown, z.input<typeof createInput>>;

export const batchInput = z.strictObject({
  assignments: listOf(sentEntry, { min: 1, max: BATCH_MAX }).meta({
    description:
      `1 to ${BATCH_MAX} assignments, each as the body of \`POST /assignments\`. ` +
      'Each has its own result, at the same place.',
  }),
  all_or_none: z
    .boolean()
    .default(false)
    .meta({
      description:
        'Whether nothing is created if one entry is wrong. The call is then refused with ' +
        '`batch_refused`, and `entries` says which ones are.',
    }),
});

/** Reads an entry of a batch. Returns the error that says what is wrong with it. */
export function readEntry(entry: unknown): z.output<typeof createInput> | Error {
  const read = createInput.safeParse(entry);
  return read.success ? read.data : read.error;
}

const batchResult = z
  .object({
    index: entryIndex,
    assignment: assignment
      .nullable()
      .meta({ description: 'The created assignment; null if the entry was refused.' }),
    problem: entryProblem
      .nullable()
      .meta({ description: 'Why the entry was refused; null if it was created.' }),
  })
  .meta({ description: 'What became of one entry: it has an assignment, or a problem.' });

export const batchOutput = z
  .object({
    created: z.int().min(0).meta({ description: 'How many assignments were created.' }),
    results: z
      .array(batchResult)
      .meta({ description: 'One for each entry, in the order of the request.' }),
  })
  .meta({ description: 'What became of the entries of a batch.' });

export const updateInput = z.strictObject({
  ...assignmentId,
  status: knownText(SETTABLE, nameInput)
    .optional()
    .meta({ description: '`open` or `done`.', examples: ['done'] }),
  note,
  due_date: dueDate,
  external_ref: reference,
});
export const removeInput = z.strictObject(assignmentId);

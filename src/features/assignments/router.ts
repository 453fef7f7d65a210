import { pageResponse } from '../../core/page.ts';
import { POLLING_ADVICE } from '../../core/polling.ts';
import { ProblemError } from '../../core/problem.ts';
import { entryProblem, type EntryProblem } from '../../core/problem-shapes.ts';
import { okOutput, orNull } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import type { ProblemCauses } from '../../trpc/operation.ts';
import {
  assignment,
  assignmentExample as example,
  assignmentPage,
  batchInput,
  batchOutput,
  CREATE_NAME,
  createInput,
  getInput,
  listInput,
  readEntry,
  removeInput,
  updateInput,
} from './schema.ts';
import * as service from './service.ts';
import { toAssignment } from './view.ts';

const required = {
  member_id: 'mem_01jc4f3x',
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

const body = {
  ...required,
  note: 'Before the review, please.',
  due_date: '2026-12-01',
  external_ref: { id: 'lms-4711', course: 'objections' },
};

/** Why an assignment is not created. */
const REFUSALS = {
  not_found: '`member_id` is no active or invited member of the team.',
  vorgabe_gesperrt:
    'A policy of the team or of the recipient blocks the situation, personality or industry.',
  kombination_ungueltig:
    'Situation, personality or industry is unknown, not visible to the team, or may not be ' +
    'combined like this; `dimension` says which.',
} as const satisfies ProblemCauses;

/** The team's assignments. */
export const assignments = {
  list: endpoint({
    method: 'GET',
    path: '/assignments',
    scope: 'assignments:read',
    tag: 'Assignments',
    summary: 'List assignments',
    description:
      'Assignments of any status, newest first; with `updated_since` the one changed last first. ' +
      'Filters can be combined. With a filter, a page can hold fewer entries than `limit`, or ' +
      `none, although \`next_cursor\` leads to others. ${POLLING_ADVICE}`,
    input: listInput,
    output: assignmentPage,
    outputName: 'AssignmentPage',
    privacy: 'refuse',
    example: { output: { data: [example], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listAssignments(ctx.db, ctx.team.id, input);
    return pageResponse(page, toAssignment);
  }),

  create: endpoint({
    method: 'POST',
    path: '/assignments',
    scope: 'assignments:write',
    tag: 'Assignments',
    summary: 'Create an assignment',
    description:
      'Assigns a training to an active or invited member. The combination is checked against ' +
      "the catalog, its rules, and the recipient's effective policy, in this order.",
    input: createInput,
    output: assignment,
    outputName: 'Assignment',
    bodyName: CREATE_NAME,
    successStatus: 201,
    errors: REFUSALS,
    location: '/assignments/{id}',
    privacy: { echoes: ['member_user_id'] },
    privateOf: ({ input }) => [input.member_id],
    example: { body, output: example },
  }).mutation(async ({ ctx, input }) => {
    const row = await service.createAssignment(
      ctx.db,
      changeContextOf(ctx),
      orNull(createInput, input),
    );
    return toAssignment(row);
  }),

  createBatch: endpoint({
    method: 'POST',
    path: '/assignments/batch',
    scope: 'assignments:write',
    tag: 'Assignments',
    summary: 'Create many assignments',
    description:
      'Creates assignments in one call, each as `POST /assignments` would, with an event and an ' +
      'entry in the audit log. Look at `results`: the status is 200 even if entries were ' +
      'refused, unless `all_or_none` is set. The call counts as one request, and one ' +
      '`Idempotency-Key` holds for all of it.',
    input: batchInput,
    output: batchOutput,
    outputName: 'AssignmentBatch',
    bodyName: 'AssignmentBatchCreate',
    errors: {
      batch_refused:
        'With `all_or_none`: nothing was created, because some entries are wrong; `entries` says ' +
        'which, and why.',
    },
    privacy: { echoes: ['results.assignment.member_user_id'] },
    privateOf: ({ input, output }) => {
      const created = output.results.filter((result) => result.assignment !== null);
      const sent = created.map(({ index }) => readEntry(input.assignments[index]));
      return [...new Set(sent.flatMap((one) => (one instanceof Error ? [] : [one.member_id])))];
    },
    example: {
      body: {
        assignments: [required, { ...required, member_id: 'mem_unknown' }],
        all_or_none: false,
      },
      output: {
        created: 1,
        results: [
          {
            index: 0,
            assignment: { ...example, note: null, due_date: null, external_ref: null },
            problem: null,
          },
          {
            index: 1,
            assignment: null,
            problem: {
              status: 404,
              code: 'not_found',
              detail:
                'member_id is no active or invited member of the team. ' +
                'Check the path and the id. The lists contain the valid ids.',
              field: 'member_id',
            },
          },
        ],
      },
    },
  }).mutation(async ({ ctx, input }) => {
    const describe = (error: Error) => entryProblem.parse(ctx.describeError(error, REFUSALS));
    const entries = input.assignments.map(readEntry);
    const outcomes = await service.createAssignments(ctx.db, changeContextOf(ctx), {
      entries: entries.map((entry) =>
        entry instanceof Error ? entry : orNull(createInput, entry),
      ),
      check: (faults) => {
        if (input.all_or_none) refuseIfWrong(faults, describe);
      },
    });
    const results = outcomes.map((outcome, index) =>
      outcome instanceof Error
        ? { index, assignment: null, problem: describe(outcome) }
        : { index, assignment: toAssignment(outcome), problem: null },
    );
    return { created: results.filter(({ problem }) => problem === null).length, results };
  }),

  get: endpoint({
    method: 'GET',
    path: '/assignments/{assignment_id}',
    scope: 'assignments:read',
    tag: 'Assignments',
    summary: 'Read an assignment',
    description: 'One assignment of any status.',
    input: getInput,
    output: assignment,
    outputName: 'Assignment',
    privacy: 'refuse',
    example: { output: example },
  }).query(async ({ ctx, input }) =>
    toAssignment(await service.getAssignment(ctx.db, ctx.team.id, input.assignment_id)),
  ),

  update: endpoint({
    method: 'PATCH',
    path: '/assignments/{assignment_id}',
    scope: 'assignments:write',
    tag: 'Assignments',
    summary: 'Change an assignment',
    description:
      'Sets the fields that the body names; null clears `note`, `due_date` and `external_ref`. ' +
      'Each change to `done` raises `assignment.completed`.',
    input: updateInput,
    output: assignment,
    outputName: 'Assignment',
    bodyName: 'AssignmentUpdate',
    privacy: 'redact',
    current: {
      shape: assignment,
      read: async ({ tx, ctx, input }) =>
        toAssignment(await service.lockAssignment(tx, ctx.team.id, input.assignment_id, 'change')),
    },
    example: { body: { status: 'done' }, output: { ...example, status: 'done' } },
  }).mutation(async ({ ctx, input }) => {
    const { assignment_id, ...change } = input;
    return toAssignment(
      await service.updateAssignment(ctx.db, changeContextOf(ctx), assignment_id, change),
    );
  }),

  remove: endpoint({
    method: 'DELETE',
    path: '/assignments/{assignment_id}',
    scope: 'assignments:write',
    tag: 'Assignments',
    summary: 'Delete an assignment',
    description: 'Removes the assignment. Trainings made for it stay, without the reference.',
    input: removeInput,
    output: okOutput,
    outputName: 'Ok',
    current: {
      shape: assignment,
      read: async ({ tx, ctx, input }) =>
        toAssignment(await service.lockAssignment(tx, ctx.team.id, input.assignment_id, 'removal')),
    },
    example: { output: { ok: true } },
  }).mutation(async ({ ctx, input }) => {
    await service.removeAssignment(ctx.db, changeContextOf(ctx), input.assignment_id);
    return { ok: true };
  }),
};

/** Throws `batch_refused` if there is a fault. */
function refuseIfWrong(
  faults: readonly (Error | null)[],
  describe: (fault: Error) => EntryProblem,
): void {
  const entries = faults.flatMap((fault, index) =>
    fault ? [{ index, problem: describe(fault) }] : [],
  );
  if (entries.length > 0) throw new ProblemError('batch_refused', { entries });
}

import { evaluation, INCLUDED } from '../../core/evaluation-shapes.ts';
import { pageResponse } from '../../core/page.ts';
import { POLLING_ADVICE } from '../../core/polling.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { getInput, listInput } from './schema.ts';
import * as service from './service.ts';

const example = {
  training_id: 'trn_01jc4f6b',
  user_id: 'usr_01jc4f40',
  score: {
    dimensions: {
      closing: 62,
      conversation_control: 71,
      needs_analysis: 80,
      objection_handling: 55,
      value_argument: 68,
    },
    total: 67,
    spread: 8.4,
  },
  tips: [
    {
      issue: 'The price came too early.',
      moment: 'Minute 3',
      principle: 'Value before price',
      rewrite: 'What does that cost you today?',
      impact: 'Less pressure on the price',
    },
  ],
  goal: 'partial',
  methodology: 'met_spin',
  strongest: 'Open questions about the need',
  biggest_lever: 'Agree on a next step',
};

/** Evaluations in the API. */
export const evaluations = {
  list: endpoint({
    method: 'GET',
    path: '/evaluations',
    scope: 'evaluations:read',
    tag: 'Evaluations',
    summary: 'List scored trainings',
    description:
      'Sessions of the active members that have an evaluation, in the shape of `GET /trainings`. ' +
      'The session whose evaluation was stored last comes first, however late it arrived. ' +
      'A page can hold fewer entries than `limit`, or none, although `next_cursor` leads to ' +
      `others. ${POLLING_ADVICE} To read all sessions once, use \`GET /trainings?status=scored\`.`,
    input: listInput,
    includes: INCLUDED,
    output: service.trainingPage,
    outputName: 'TrainingPage',
    privacy: 'refuse',
    example: { output: { data: [service.trainingExample], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listEvaluated(ctx.db, ctx.team.id, input);
    return pageResponse(page, service.toTraining);
  }),

  get: endpoint({
    method: 'GET',
    path: '/trainings/{training_id}/evaluation',
    scope: 'evaluations:read',
    tag: 'Evaluations',
    summary: 'Read an evaluation',
    description:
      'Score, dimensions and tips of one session of an active member. ' +
      '404 until the session is scored.',
    input: getInput,
    output: evaluation,
    outputName: 'Evaluation',
    privacy: 'refuse',
    errors: {
      not_found: 'No active member of the team has such a training, or it is not scored yet.',
    },
    example: { output: example },
  }).query(async ({ ctx, input }) =>
    service.toEvaluation(await service.getEvaluation(ctx.db, ctx.team.id, input.training_id)),
  ),
};

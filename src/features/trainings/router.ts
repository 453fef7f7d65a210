import { INCLUDED } from '../../core/evaluation-shapes.ts';
import { pageResponse } from '../../core/page.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import {
  getInput,
  listInput,
  training,
  trainingExample as example,
  trainingPage,
} from './schema.ts';
import * as service from './service.ts';
import { toTraining } from './view.ts';

/** Trainings in the API. */
export const trainings = {
  list: endpoint({
    method: 'GET',
    path: '/trainings',
    scope: 'trainings:read',
    tag: 'Trainings',
    summary: 'List trainings',
    description:
      'Sessions of the active members, newest first, without transcripts. ' +
      'Filters can be combined. A filter that matches nothing gives an empty page. ' +
      'A page can hold fewer entries than `limit`, or none, although `next_cursor` leads to ' +
      'others. ' +
      'With `include=evaluation`, each session comes with its evaluation.',
    input: listInput,
    includes: INCLUDED,
    output: trainingPage,
    outputName: 'TrainingPage',
    privacy: 'refuse',
    example: { output: { data: [example], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listTrainings(ctx.db, ctx.team.id, input);
    return pageResponse(page, toTraining);
  }),

  get: endpoint({
    method: 'GET',
    path: '/trainings/{training_id}',
    scope: 'trainings:read',
    tag: 'Trainings',
    summary: 'Read a training',
    description:
      'One session of an active member, without its transcript. ' +
      'Its score is in the evaluation, which has a path of its own.',
    input: getInput,
    output: training,
    outputName: 'Training',
    privacy: 'refuse',
    errors: { not_found: 'No active member of the team has such a training.' },
    example: { output: example },
  }).query(async ({ ctx, input }) =>
    toTraining(await service.getTraining(ctx.db, ctx.team.id, input.training_id)),
  ),
};

import { pageResponse } from '../../core/page.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { eventPage, listInput } from './schema.ts';
import * as service from './service.ts';
import { toEvent } from './view.ts';

const example = {
  id: 'evt_01jc4f6k2m8q',
  type: 'assignment.created',
  created_at: '2026-11-02T09:22:00.000Z',
  api_version: '2026-11',
  tenant_id: 'team_demo',
  data: {
    team_id: 'team_demo',
    assignment_id: 'asg_01jc4f5a',
    status: 'open',
    title: 'Practise objections',
    member_id: 'mem_01jc4f3x',
    user_id: 'usr_01jc4f40',
    due_date: '2026-12-01',
    completed_training_id: null,
  },
};

/** The team's recent events in the API. */
export const events = {
  list: endpoint({
    method: 'GET',
    path: '/events',
    scope: 'webhooks:manage',
    tag: 'Events',
    summary: 'List events',
    description:
      'The events of the team, newest first, whether or not an endpoint subscribes to them. ' +
      'They are kept for 30 days. A personal field is shown only if the privacy switches ' +
      'allowed it when the event happened, and allow it now. To follow the list, ask with ' +
      '`order=asc`, and pass the `next_after` of each response as `after` of the next call: no ' +
      'event is skipped. A page can hold fewer entries than `limit`, or none, although ' +
      '`next_cursor` leads to others. ' +
      'This operation is an addition of this service to the specification of the API.',
    input: listInput,
    output: eventPage,
    outputName: 'EventPage',
    privacy: 'redact',
    example: { output: { data: [example], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listEvents(ctx.db, ctx.team.id, input, ctx.services.clock.now());
    const shown = pageResponse(page, (row) => toEvent(ctx.team.id, row));
    return page.nextAfter === undefined ? shown : { ...shown, next_after: page.nextAfter };
  }),
};

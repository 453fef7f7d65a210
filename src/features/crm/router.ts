import { pageResponse } from '../../core/page.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { dealPage, listInput, objectionPage } from './schema.ts';
import * as service from './service.ts';
import { toDeal, toObjection } from './view.ts';

const dealExample = {
  id: 'deal_01jc4f7c',
  external_id: '9182736455',
  outcome: 'open',
  title: 'Northfield Ltd: annual licence',
  amount: '12500.00',
  currency: 'EUR',
  close_date: '2026-12-15',
  probability: 60,
  pipeline_id: 'default',
  stage_id: 'proposal',
  industry_id: 'ind_saas',
  lost_reason: null,
  owner_user_id: 'usr_01jc4f40',
  last_activity_at: '2026-11-02T14:05:00.000Z',
  synced_at: '2026-11-03T02:00:00.000Z',
};

const objectionExample = {
  id: 'obj_01jc4f8d',
  deal_id: 'deal_01jc4f7c',
  category: 'price',
  text: 'That is too expensive.',
  lang: 'en',
  created_at: '2026-11-03T02:00:00.000Z',
};

/** Deals and objections from the CRM connections of the team. */
export const crm = {
  listDeals: endpoint({
    method: 'GET',
    path: '/crm/deals',
    scope: 'cases:read',
    tag: 'CRM',
    summary: 'List CRM deals',
    description:
      "Deals of the team's active CRM connections, newest first by their first synchronization; " +
      'empty without an active connection. Connections are set up in the app.',
    input: listInput,
    output: dealPage,
    outputName: 'CrmDealPage',
    privacy: 'redact',
    example: { output: { data: [dealExample], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listDeals(ctx.db, ctx.team.id, input);
    return pageResponse(page, toDeal);
  }),

  listObjections: endpoint({
    method: 'GET',
    path: '/crm/objections',
    scope: 'cases:read',
    tag: 'CRM',
    summary: 'List CRM objections',
    description:
      "The team's synchronized catalog of objections: " +
      'what was raised in deals of active CRM connections, newest first by when it was first read.',
    input: listInput,
    output: objectionPage,
    outputName: 'CrmObjectionPage',
    example: { output: { data: [objectionExample], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listObjections(ctx.db, ctx.team.id, input);
    return pageResponse(page, toObjection);
  }),
};

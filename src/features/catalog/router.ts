import { endpoint } from '../../trpc/endpoint.ts';
import { catalog as output, getInput } from './schema.ts';
import * as service from './service.ts';
import { toCatalog } from './view.ts';

const example = {
  situation: [{ id: 'sit_cold', name: 'Cold call', icon: 'phone' }],
  personality: [{ id: 'per_calm', name: 'Calm', icon: null }],
  industry: [{ id: 'ind_saas', name: 'SaaS', icon: null }],
  role: [{ id: 'rol_buyer', name: 'Buyer', icon: null }],
  methodology: [{ id: 'met_spin', name: 'SPIN', icon: null }],
};

/** The entries that the team may use. */
export const catalog = {
  get: endpoint({
    method: 'GET',
    path: '/catalog',
    scope: 'catalog:read',
    tag: 'Catalog',
    summary: 'Read the catalog',
    description:
      'The situations, personalities, industries, roles and methodologies that the team may use: ' +
      "released to it or its own, and not blocked by the team's policy. " +
      'Names are German or English, as `Accept-Language` asks; ' +
      'within a kind they are in alphabetical order.',
    input: getInput,
    output,
    outputName: 'Catalog',
    example: { output: example },
  }).query(async ({ ctx }) =>
    toCatalog(await service.listEntries(ctx.db, ctx.team.id, ctx.language)),
  ),
};

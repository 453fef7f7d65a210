/**
 * A customer's program for each generator of clients. Each of them reads its team, reads two pages
 * of members, creates an assignment twice with one Idempotency-Key, and asks for an assignment that
 * does not exist. Their types are checked: `@ts-expect-error` fails where there is no error.
 */
const ASSIGNMENT = `{
  member_id: 'mem_01jc4f3x',
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
}`;
const HEADER = `import process from 'node:process';
const baseUrl = process.env['API_URL'] ?? '';
const authorization = 'Bearer ' + process.env['API_KEY'];
const key = { 'Idempotency-Key': crypto.randomUUID() };
`;
const FOOTER = `
const known: boolean = first.status === 'open';
const same = first.id === again.id && first.id !== '';
console.log(JSON.stringify({ team, members, known, same, code }));
`;

interface Generator {
  /** The package and its version, and what its output needs. */
  readonly packages: readonly string[];
  /** A file that it reads, and how it is called. */
  readonly config?: readonly [name: string, text: string];
  readonly command: readonly string[];
  readonly program: string;
}

export const GENERATORS: Readonly<Record<string, Generator>> = {
  'openapi-typescript': {
    packages: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'],
    command: ['openapi-typescript', 'openapi.v1.json', '-o', 'openapi-typescript/api.ts'],
    program: `${HEADER}
import createClient from 'openapi-fetch';
import type { paths } from './api.ts';

const client = createClient<paths>({ baseUrl, headers: { authorization } });
const me = await client.GET('/me');
const team = me.data?.tenant_id;
// @ts-expect-error -- there is no such field
void me.data?.team_name;
const list = async (cursor?: string) => {
  const query = { limit: 2, ...(cursor ? { cursor } : {}) };
  const { data } = await client.GET('/users', { params: { query } });
  return data ?? { data: [], next_cursor: null };
};
const page = await list();
const rest = await list(page.next_cursor ?? '');
const members = [...page.data, ...rest.data].map((member) => member.id);
const create = async () => {
  const { data } = await client.POST('/assignments', {
    params: { header: key },
    body: ${ASSIGNMENT},
  });
  if (!data) throw new Error('not created');
  return data;
};
const [first, again] = [await create(), await create()];
const params = { path: { assignment_id: 'asg_none' } };
const { error } = await client.GET('/assignments/{assignment_id}', { params });
const code = error?.code;
${FOOTER}`,
  },
  'hey-api': {
    packages: ['@hey-api/openapi-ts@0.95.0', 'typescript@5.9.3'],
    command: ['openapi-ts', '-i', 'openapi.v1.json', '-o', 'hey-api'],
    program: `${HEADER}
import { client } from './client.gen';
import { assignmentsCreate, assignmentsGet, meGet, membersList } from './sdk.gen';

client.setConfig({ baseUrl, headers: { authorization } });
const me = await meGet({ throwOnError: true });
const team = me.data.tenant_id;
// @ts-expect-error -- there is no such field
void me.data.team_name;
const page = await membersList({ query: { limit: 2 }, throwOnError: true });
const cursor = page.data.next_cursor ?? '';
const rest = await membersList({ query: { limit: 2, cursor }, throwOnError: true });
const members = [...page.data.data, ...rest.data.data].map((member) => member.id);
const create = async () =>
  (await assignmentsCreate({ headers: key, body: ${ASSIGNMENT}, throwOnError: true })).data;
const [first, again] = [await create(), await create()];
const { error } = await assignmentsGet({ path: { assignment_id: 'asg_none' } });
const code = error?.code;
${FOOTER}`,
  },
  orval: {
    packages: ['orval@7.13.2', 'typescript@5.9.3'],
    config: [
      'orval.config.cjs',
      `module.exports = {
  api: {
    input: './openapi.v1.json',
    output: {
      target: './orval/api.ts',
      client: 'fetch',
      baseUrl: { getBaseUrlFromSpecification: true },
    },
  },
};`,
    ],
    command: ['orval', '--config', 'orval.config.cjs'],
    program: `${HEADER}
import { assignmentsCreate, assignmentsGet, meGet, membersList } from './api';

void baseUrl;
const headers = { authorization };
const me = await meGet({ headers });
if (me.status !== 200) throw new Error(me.data.code);
const team = me.data.tenant_id;
// @ts-expect-error -- there is no such field
void me.data.team_name;
const list = async (cursor?: string) => {
  const query = { limit: 2, ...(cursor ? { cursor } : {}) };
  const { status, data } = await membersList(query, { headers });
  if (status !== 200) throw new Error(data.code);
  return data;
};
const page = await list();
const rest = await list(page.next_cursor ?? '');
const members = [...page.data, ...rest.data].map((member) => member.id);
const create = async () => {
  const options = { headers: { ...headers, ...key } };
  const { status, data } = await assignmentsCreate(${ASSIGNMENT}, options);
  if (status !== 201) throw new Error(data.code);
  return data;
};
const [first, again] = [await create(), await create()];
const missing = await assignmentsGet('asg_none', { headers });
const code = missing.status === 404 ? missing.data.code : null;
${FOOTER}`,
  },
  kubb: {
    packages: [
      '@kubb/cli@4.39.3',
      '@kubb/core@4.39.3',
      '@kubb/plugin-oas@4.39.3',
      '@kubb/plugin-ts@4.39.3',
      '@kubb/plugin-client@4.39.3',
      'typescript@5.9.3',
    ],
    config: [
      'kubb.config.mjs',
      `import { defineConfig } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';
export default defineConfig({
  input: { path: './openapi.v1.json' },
  output: { path: './kubb', barrelType: false },
  plugins: [
    pluginOas(),
    pluginTs(),
    pluginClient({ client: 'fetch', output: { path: 'clients' } }),
  ],
});`,
    ],
    command: ['kubb', 'generate', '--config', 'kubb.config.mjs'],
    program: `${HEADER}
import { setConfig } from '@kubb/plugin-client/clients/fetch';
import { assignmentsCreate } from './clients/assignmentsCreate.ts';
import { assignmentsGet } from './clients/assignmentsGet.ts';
import { meGet } from './clients/meGet.ts';
import { membersList } from './clients/membersList.ts';

setConfig({ baseURL: baseUrl, headers: { authorization } });
const me = await meGet();
const team = me.tenant_id;
// @ts-expect-error -- there is no such field
void me.team_name;
const page = await membersList({ limit: 2 });
const rest = await membersList({ limit: 2, cursor: page.next_cursor ?? '' });
const members = [...page.data, ...rest.data].map((member) => member.id);
// Its client sets no content type.
const json = { authorization, 'Content-Type': 'application/json', ...key };
const create = () => assignmentsCreate(${ASSIGNMENT}, key, { headers: json });
const [first, again] = [await create(), await create()];
// Its client returns problems like successes.
const missing: unknown = await assignmentsGet('asg_none');
const code = (missing as { code: string }).code;
${FOOTER}`,
  },
};

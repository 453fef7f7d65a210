// Tools can use the published document.
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { committedDocument } from '../../src/http/openapi/document.ts';
import { makeFolder } from '../support/folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await makeFolder('openapi-test');
});

describe('tools', () => {
  it('gives a TypeScript client that compiles, and that refuses a wrong field', async () => {
    const types = astToString(await openapiTS(committedDocument()));
    await writeFile(join(folder, 'api.ts'), types);
    await writeFile(join(folder, 'program.ts'), PROGRAM);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: CLIENT_OPTIONS, files: ['program.ts'] }),
    );
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
    const complaint = await run(process.execPath, [tsc, '-p', folder]).then(
      () => null,
      (error: unknown) => error as { stdout: string; stderr: string },
    );
    expect(complaint && complaint.stdout + complaint.stderr).toBeNull();
  });
});

const CLIENT_OPTIONS = {
  target: 'esnext',
  lib: ['es2024', 'dom'],
  module: 'nodenext',
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

/** A program of a customer. `@ts-expect-error` fails if there is no error. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

const client = createClient<paths>({
  baseUrl: 'https://team.example/api/public/v1',
  headers: { Authorization: 'Bearer svck_live_x' },
});

const me = await client.GET('/me');
if (me.error) {
  const code: string = me.error.code;
  const seconds: number | undefined = me.error.retry_after;
  console.log(code, seconds);
} else {
  const scopes: string[] = me.data.scopes;
  const limit: number | null = me.data.rate_limit_per_min;
  // @ts-expect-error -- there is no such field
  console.log(scopes, limit, me.data.team_name);
}

const page = await client.GET('/users', {
  params: { query: { limit: 10 }, header: { 'Accept-Language': 'en' } },
});
const next: string | null | undefined = page.data?.next_cursor;
const member: components['schemas']['Member'] | undefined = page.data?.data[0];
const email: string | null | undefined = member?.email;
// @ts-expect-error -- a number is wanted
await client.GET('/users', { params: { query: { limit: 'ten' } } });

const invited = await client.POST('/users', {
  params: { header: { 'Idempotency-Key': '5f0c9a1e' } },
  body: { email: 'kim@example.com', role: 'member', lang: null },
});
// @ts-expect-error -- a misspelt field that is required
await client.POST('/users', { body: { emial: 'kim@example.com', role: 'member' } });
// openapi-fetch infers the type of a body, and so accepts unknown fields. The schema's type does
// not.
type MemberCreate = components['schemas']['MemberCreate'];
// @ts-expect-error -- a misspelt field that is optional
const body: MemberCreate = { email: 'kim@example.com', role: 'member', lag: null };

const changed = await client.PATCH('/assignments/{assignment_id}', {
  params: { path: { assignment_id: 'asg_01' } },
  body: { status: 'done', note: null },
});
const due: string | null | undefined = changed.data?.due_date;

const removed = await client.DELETE('/users/{member_id}', {
  params: { path: { member_id: 'mem_01' } },
});
const ok: boolean | undefined = removed.data?.ok;
// @ts-expect-error -- the path needs its parameter
await client.DELETE('/users/{member_id}');

type Schemas = components['schemas'];
type Event = Schemas['EvaluationCompletedEvent'] | Schemas['MemberJoinedEvent'];
function receive(event: Event): number | string | null | undefined {
  return event.type === 'evaluation.completed' ? event.data.score : event.data.role;
}
console.log(body, next, email, invited.data?.id, due, ok, receive);
`;

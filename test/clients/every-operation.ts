// A customer's program that uses every operation of the client package on the demo team. It prints
// the requests that it made. Node, Deno and Bun run it as it is.
import { env } from 'node:process';
import { ApiError, createClient } from '@team-customer-api/client';

const requests: string[] = [];
const clientOf = (apiKey: string | undefined) =>
  createClient({
    apiKey: apiKey ?? '',
    baseUrl: env['API_URL'] ?? '',
    fetch: (request) => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return fetch(request);
    },
  });
const client = clientOf(env['API_KEY']);

function require(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not as expected: ${what}`);
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof ApiError) return error.code;
      throw error;
    },
  );
}

async function readEverything(): Promise<void> {
  const me = await client.me.get();
  require(me.scopes.includes('webhooks:manage'), 'the scopes');
  require((await codeOf(client.requests.get({ request_id: 'none' }))) === 'not_found', 'no log');

  const first = await client.members.list({ limit: 3 });
  const ids: string[] = [];
  for await (const member of client.members.list({ limit: 3 })) ids.push(member.id);
  require(first.data.length === 3 && first.next_cursor !== null, 'a page');
  require(ids.length > 6 && new Set(ids).size === ids.length, 'all members');
  require(ids.slice(0, 3).join() === first.data.map(({ id }) => id).join(), 'the same order');
  require((await client.members.get({ member_id: 'mem_01jc4f3x' })).role === 'member', 'a role');

  const scored = await client.trainings.list({ status: 'scored', limit: 1 });
  const { id: training_id = '' } = scored.data[0] ?? {};
  require((await client.trainings.get({ training_id })).status === 'scored', 'a training');
  require((await client.evaluations.list()).data.length > 0, 'evaluations');
  require((await client.evaluations.get({ training_id })).tips.length >= 0, 'tips');
  require((await client.catalog.get()).situation.length > 0, 'the catalog');
  require((await client.analytics.team()).trend.length === 12, 'the trend');
  for await (const deal of client.crm.listDeals()) require(deal.external_id !== '', 'a deal');
  for await (const one of client.crm.listObjections()) require(one.text !== '', 'an objection');
  require((await client.events.list({ type: 'ping' })).data.length >= 0, 'events');
}

async function changeAssignments(): Promise<void> {
  const created = await client.assignments.create({
    member_id: 'mem_01jc4f3x',
    title: 'Practise objections',
    situation_id: 'sit_cold',
    personality_id: 'per_calm',
    industry_id: 'ind_saas',
    due_date: '2026-12-01',
  });
  const { id: assignment_id } = created;
  require((await client.assignments.list({ limit: 1 })).data[0]?.id === assignment_id, 'listed');
  require((await client.assignments.get({ assignment_id })).due_date === '2026-12-01', 'a date');
  const changed = await client.assignments.update({ assignment_id, status: 'done', note: null });
  require(changed.status === 'done', 'done');
  require((await client.assignments.update({ assignment_id })).status === 'done', 'unchanged');
  require((await client.assignments.remove({ assignment_id })).ok, 'removed');
  await createMany();
  require((await codeOf(client.assignments.get({ assignment_id }))) === 'not_found', 'gone');
}

async function createMany(): Promise<void> {
  const right = {
    member_id: 'mem_01jc4f3x',
    title: 'Practise objections',
    situation_id: 'sit_cold',
    personality_id: 'per_calm',
    industry_id: 'ind_saas',
  };
  const assignments = [right, { ...right, member_id: 'nobody' }];
  const { created, results } = await client.assignments.createBatch({ assignments });
  require(created === 1 && results[0]?.assignment?.status === 'open', 'one of two');
  require(results[1]?.problem?.code === 'not_found', 'the reason of the other');
  const all = client.assignments.createBatch({ assignments, all_or_none: true });
  const [wrong] = await all.then(
    () => [],
    (error: unknown) => (error instanceof ApiError ? (error.problem.entries ?? []) : []),
  );
  require(wrong?.index === 1 && wrong.problem.field === 'member_id', 'all or none');
}

async function changeCases(): Promise<void> {
  const input = { user_id: 'usr_01jc4f40', fields: { budget: 12_000 } };
  const options = { idempotencyKey: 'one-case' };
  const { id: case_id } = await client.cases.create(input, options);
  require((await client.cases.create(input, options)).id === case_id, 'created once');
  require((await client.cases.list({ user_id: 'usr_01jc4f40' })).data[0]?.id === case_id, 'listed');
  require((await client.cases.get({ case_id })).title === null, 'no title');
  require((await client.cases.update({ case_id, title: 'Renewal' })).title === 'Renewal', 'titled');
  require((await client.cases.remove({ case_id })).ok, 'removed');
}

async function changeWebhooks(): Promise<void> {
  const { webhooks } = client;
  const endpoint = await webhooks.createEndpoint({
    url: 'http://127.0.0.1:9/hooks',
    events: ['assignment.created'],
  });
  const { id: endpoint_id } = endpoint;
  require(endpoint.secret?.startsWith('whsec_') === true, 'a secret');
  const ids: string[] = [];
  for await (const { id } of webhooks.listEndpoints()) ids.push(id);
  require(ids.includes(endpoint_id), 'listed');
  require((await webhooks.getEndpoint({ endpoint_id })).status === 'active', 'read');
  const since = '2026-01-01T00:00:00Z';
  const { id: resend_id } = await webhooks.resendDeliveries({ endpoint_id, since });
  require((await webhooks.getResend({ resend_id })).endpoint_id === endpoint_id, 'a resend');
  require((await webhooks.cancelResend({ resend_id })).id === resend_id, 'no resend any more');
  const paused = await webhooks.updateEndpoint({ endpoint_id, status: 'disabled' });
  require(paused.status === 'disabled', 'paused');
  const rotated = await webhooks.rotateSecret({ endpoint_id, grace_s: 60 });
  require(rotated.secret !== endpoint.secret, 'another secret');
  const { delivery_id } = await webhooks.testEndpoint({ endpoint_id });
  const deliveries = await webhooks.listDeliveries({ endpoint_id, limit: 1 });
  require(deliveries.data[0]?.id === delivery_id, 'queued');
  // One that waits for its first attempt cannot be retried.
  require((await codeOf(webhooks.retryDelivery({ delivery_id }))) === 'validation_error', 'waits');
  require((await webhooks.removeEndpoint({ endpoint_id })).ok, 'removed');
}

async function changeMembers(): Promise<void> {
  const email = 'kim@example.com';
  const { id: member_id } = await client.members.create({ email, role: 'member', lang: 'en' });
  require((await codeOf(client.members.create({ email }))) === 'conflict', 'invited twice');
  require((await client.members.update({ member_id, role: 'admin' })).role === 'admin', 'admin');
  require((await client.members.remove({ member_id })).ok, 'removed');
}

async function rehearse(): Promise<void> {
  require(client.mode === 'live', 'a live key');
  require((await codeOf(client.sandbox.get())) === 'not_found', 'no sandbox for a live key');
  const test = clientOf(env['TEST_KEY']);
  require(test.mode === 'test', 'a test key');
  require((await test.sandbox.reset({ scenario: 'typical' })).scenario === 'typical', 'reset');
  require((await test.sandbox.update({ speed: 60 })).speed === 60, 'the speed');
  require((await test.sandbox.get()).speed === 60, 'the sandbox');
  const { training_id } = await test.sandbox.simulate({ play: 'training_completed', delay_s: 0 });
  require((await test.evaluations.get({ training_id: training_id ?? '' })).score.total ===
    71, 'it');
  await test.members.create({ email: 'kim@example.com' });
  for await (const mail of test.sandbox.mails()) require(mail.subject !== '', 'a mail');
}

await readEverything();
await changeAssignments();
await changeCases();
await changeWebhooks();
await changeMembers();
await rehearse();
console.log(JSON.stringify(requests));

// Only compiled: what the types refuse.
export async function refused(): Promise<void> {
  // @ts-expect-error -- there is no such field
  await client.members.create({ emial: 'kim@example.com' });
  // @ts-expect-error -- the path needs its parameter
  await client.members.get();
  // @ts-expect-error -- it is no list
  void client.me.get()[Symbol.asyncIterator];
  // @ts-expect-error -- the output has no such field
  void (await client.me.get()).team_name;
}

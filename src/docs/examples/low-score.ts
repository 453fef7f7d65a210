import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { ApiError, createClient, verifyWebhook } from '@team-customer-api/client';

const { API_KEY = '', WEBHOOK_SECRET = '' } = process.env;
const LOW = 60;
const PRACTICE = {
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};
const client = createClient({
  apiKey: API_KEY,
  baseUrl: process.env['API_URL'] ?? 'https://api.example.com/api/public/v1',
});
// A delivery has 10 seconds in all.
const TIMEOUT_MS = 8_000;

async function assign(eventId: string, trainingId: string): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  // A delivery can come again after two days, and an Idempotency-Key lasts for one.
  const { data } = await client.assignments.list({ external_ref_id: eventId }, { signal });
  if (data.length > 0) return;
  const training = await client.trainings.get({ training_id: trainingId }, { signal });
  // A practice does not lead to another practice.
  if (training.assignment_id !== null) return;
  for await (const member of client.members.list({ status: 'active', limit: 200 }, { signal }))
    if (member.user_id === training.user_id) {
      const assignment = { ...PRACTICE, member_id: member.id, external_ref: { id: eventId } };
      // A refusal is kept with its key. In another hour the practice may be allowed.
      const idempotencyKey = `${eventId}-${Math.floor(Date.now() / 3_600_000)}`;
      await client.assignments.create(assignment, { idempotencyKey, signal });
      return;
    }
}

async function respond(request: IncomingMessage): Promise<number> {
  const event = await verifyWebhook(await buffer(request), request.headers, WEBHOOK_SECRET).catch(
    () => null,
  );
  if (event === null) return 400;
  if (event.type !== 'evaluation.completed' || event.test) return 204;
  const { score = null, training_id } = event.data;
  try {
    if (score !== null && score < LOW) await assign(event.id, training_id);
    return 204;
  } catch (error) {
    console.error(event.id, error);
    // The training of somebody who has left. All other errors are tried again.
    return error instanceof ApiError && error.code === 'not_found' ? 204 : 500;
  }
}

createServer((request, response) => {
  void respond(request)
    .catch(() => 500)
    .then((status) => response.writeHead(status).end());
}).listen(4000);

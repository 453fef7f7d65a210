// A receiver of webhooks as a customer would run one. It verifies each delivery with the package
// that we publish, and it sometimes fails.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../src/seed/random.ts';
import { verifyWebhook } from '../../../src/client/webhook-verification.ts';

export interface Receiver {
  /** Returns the URL for an endpoint. Its secret must be set before the first delivery. */
  addressOf(endpointId: string): string;
  readonly secrets: Map<string, string>;
  /** What was received, by `<endpoint id> <event id>`, and how often it was acknowledged or not. */
  readonly received: ReadonlyMap<string, Received>;
  /** What a receiver must never see. */
  readonly faults: readonly string[];
  /** How often it responded in each way. */
  readonly answers: Readonly<Record<Answer, number>>;
  /** Makes it acknowledge everything from now on. */
  recover(): void;
  stop(): Promise<void>;
}

export interface Received {
  readonly body: string;
  times: number;
  acknowledged: number;
}

type Answer = 'ok' | 'slow' | 'error' | 'reset';

const SLOW_MS = 300;

/**
 * Starts a receiver that mostly responds with 200, sometimes late, sometimes with 500, and
 * sometimes closes the connection without a response.
 */
export async function startReceiver(random: Random): Promise<Receiver> {
  const received = new Map<string, Received>();
  const secrets = new Map<string, string>();
  const faults: string[] = [];
  const answers = { ok: 0, slow: 0, error: 0, reset: 0 };
  let well = false;

  const note = (request: IncomingMessage, rawBody: Buffer): Received => {
    const endpointId = request.url?.slice(1) ?? '';
    const event = verifyWebhook(rawBody, request.rawHeaders, secrets.get(endpointId) ?? 'unknown');
    if (request.headers['svc-event-id'] !== event.id) throw new Error('Svc-Event-Id is another id');
    const key = `${endpointId} ${event.id}`;
    const body = rawBody.toString();
    const known = received.get(key) ?? { body, times: 0, acknowledged: 0 };
    received.set(key, known);
    known.times += 1;
    if (known.body !== body) faults.push(`${key} came with two bodies:\n${known.body}\n${body}`);
    return known;
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const delivery = note(request, Buffer.concat(chunks));
    const answer = well ? 'ok' : chooseAnswer(random());
    answers[answer] += 1;
    if (answer === 'slow') await delay(SLOW_MS);
    if (answer === 'reset') {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer === 'error' ? 500 : 200).end(answer);
    if (answer !== 'error') delivery.acknowledged += 1;
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      // A sender may be killed while it sends. A body that fails verification is an error.
      if (request.complete) faults.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  const { port } = server.address() as AddressInfo;
  return {
    addressOf: (endpointId) => `http://127.0.0.1:${port}/${endpointId}`,
    secrets,
    received,
    faults,
    answers,
    recover: () => {
      well = true;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function chooseAnswer(chance: number): Answer {
  if (chance < 0.9) return 'ok';
  if (chance < 0.97) return 'error';
  return chance < 0.985 ? 'slow' : 'reset';
}

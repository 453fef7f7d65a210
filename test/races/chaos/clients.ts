// Clients that write, each one operation after the other, and record the responses. A call has
// three outcomes: done, refused, and unknown if the connection broke or the response was a 503.
import { setTimeout as delay } from 'node:timers/promises';
import { nextInt, type Random } from '../../../src/seed/random.ts';
import type { ApiResponse, Call, CallOptions } from '../../support/api.ts';
import type { Fleet } from './fleet.ts';

/** A team as its clients know it. */
export interface Customer {
  readonly teamId: string;
  readonly key: string;
  /** The member who gets assignments. */
  readonly memberId: string;
}

/** A creation, and what happened to the created resource since. */
export interface Write {
  readonly kind: 'member' | 'assignment';
  readonly teamId: string;
  /** The email or title, which is unique. */
  readonly unique: string;
  /** The Idempotency-Key; null if the call was sent once without one. */
  readonly key: string | null;
  outcome: 'done' | 'refused' | 'unknown';
  /** The id of the created resource, as soon as it is known. */
  id: string | null;
  /** The acknowledged changes. */
  completed: boolean;
  promoted: boolean;
  removed: boolean;
}

export interface Ledger {
  readonly writes: Write[];
  /** What a client must never see. */
  readonly faults: string[];
  calls: number;
  unknown: number;
  replayed: number;
}

interface Client {
  readonly fleet: Fleet;
  readonly ledger: Ledger;
  readonly random: Random;
}

const THINK_MAX_MS = 20;
const RETRY_MAX_MS = 200;

/** Writes for the customers until `isOver`, and finishes the operation in progress. */
export async function runClient(
  client: Client,
  customers: readonly Customer[],
  name: string,
  isOver: () => boolean,
): Promise<void> {
  const { ledger, random } = client;
  for (let n = 0; !isOver(); n += 1) {
    const customer = customers[nextInt(random, 0, customers.length - 1)];
    if (!customer) return;
    try {
      await writeOnce(client, customer, `${name}-${n}`);
    } catch (error) {
      ledger.faults.push(error instanceof Error ? error.message : String(error));
    }
    await delay(nextInt(random, 0, THINK_MAX_MS));
  }
}

async function writeOnce(client: Client, customer: Customer, name: string): Promise<void> {
  const { ledger, random } = client;
  const kind = random() < 0.25 ? 'member' : 'assignment';
  const unique = kind === 'member' ? `${name}@chaos.test` : name;
  const key = random() < 0.6 ? `key-${name}` : null;
  const write: Write = {
    kind,
    teamId: customer.teamId,
    unique,
    key,
    outcome: 'unknown',
    id: null,
    completed: false,
    promoted: false,
    removed: false,
  };
  ledger.writes.push(write);
  await create(client, customer, write);
  if (write.outcome !== 'done') return;
  const path = `/${kind === 'member' ? 'users' : 'assignments'}/${write.id}`;
  if (random() < 0.5) {
    const changed = await change(
      client,
      customer,
      path,
      kind === 'member' ? { role: 'admin' } : { status: 'done' },
    );
    if (kind === 'member') write.promoted = changed;
    else write.completed = changed;
  }
  if (random() < 0.2) write.removed = await remove(client, customer, path);
}

/**
 * Creates the resource. Without a key the call is made once, and its outcome may stay unknown. With
 * one it is repeated, at either process, until a response comes.
 */
async function create(client: Client, customer: Customer, write: Write): Promise<void> {
  const { ledger, random } = client;
  const body =
    write.kind === 'member'
      ? { email: write.unique }
      : {
          member_id: customer.memberId,
          title: write.unique,
          situation_id: 'sit_cold',
          personality_id: 'per_calm',
          industry_id: 'ind_saas',
        };
  const path = write.kind === 'member' ? '/users' : '/assignments';
  const options =
    write.key === null ? { body } : { body, headers: { 'idempotency-key': write.key } };
  const post = (call: Call): Promise<ApiResponse | null> =>
    send(ledger, () => call(customer.key, 'POST', path, options));
  if (write.key === null) {
    settle(ledger, write, await post(await client.fleet.call(random)));
    return;
  }
  // Impatient clients send the call to both processes at once.
  const impatient = random() < 0.15;
  do {
    const calls = impatient ? client.fleet.calls() : [await client.fleet.call(random)];
    for (const response of await Promise.all(calls.map(post))) settle(ledger, write, response);
    if (write.outcome === 'unknown') await delay(nextInt(random, 0, RETRY_MAX_MS));
  } while (write.outcome === 'unknown');
  if (write.outcome === 'done' && random() < 0.1)
    settle(ledger, write, await post(await client.fleet.call(random)));
}

function settle(ledger: Ledger, write: Write, response: ApiResponse | null): void {
  if (response === null || isStillRunning(write, response)) return;
  if (response.headers['idempotency-replayed'] !== undefined) ledger.replayed += 1;
  if (response.status === 201) {
    if (write.outcome === 'refused')
      ledger.faults.push(`${write.unique} was refused and then done`);
    if (write.id !== null && write.id !== response.body.id)
      ledger.faults.push(`${write.unique} was done twice`);
    write.outcome = 'done';
    write.id = response.body.id;
    return;
  }
  // The hourly limit of invitations is the only valid reason.
  const isLimit = response.status === 429 && write.kind === 'member';
  if (!isLimit || write.outcome === 'done')
    ledger.faults.push(`${write.unique}: ${response.status} ${response.text}`);
  if (write.outcome === 'unknown') write.outcome = 'refused';
}

function isStillRunning({ key }: Write, { status, body }: ApiResponse): boolean {
  return (
    key !== null &&
    status === 409 &&
    body.code === 'conflict' &&
    String(body.detail).includes('still running')
  );
}

/** Repeats the change until it is acknowledged, because repeating it changes nothing. */
async function change(
  client: Client,
  { key }: Customer,
  path: string,
  body: object,
): Promise<boolean> {
  const { response } = await insist(client, key, 'PATCH', path, { body });
  if (response.status !== 200)
    client.ledger.faults.push(`PATCH ${path} → ${response.status} ${response.text}`);
  return response.status === 200;
}

/** Repeats the removal until it is acknowledged. Only a repeated call may get a 404. */
async function remove(client: Client, { key }: Customer, path: string): Promise<boolean> {
  const { response, isRepeated } = await insist(client, key, 'DELETE', path, {});
  const isGone = response.status === 200 || (isRepeated && response.status === 404);
  if (!isGone) client.ledger.faults.push(`DELETE ${path} → ${response.status} ${response.text}`);
  return isGone;
}

async function insist(
  { fleet, ledger, random }: Client,
  key: string,
  method: string,
  path: string,
  options: CallOptions,
): Promise<{ response: ApiResponse; isRepeated: boolean }> {
  for (let isRepeated = false; ; isRepeated = true) {
    const call = await fleet.call(random);
    const response = await send(ledger, () => call(key, method, path, options));
    if (response) return { response, isRepeated };
    await delay(nextInt(random, 0, RETRY_MAX_MS));
  }
}

/**
 * Returns the response, or null if the outcome is unknown. Throws for a 500 or anything
 * undocumented.
 */
async function send(ledger: Ledger, ask: () => Promise<ApiResponse>): Promise<ApiResponse | null> {
  ledger.calls += 1;
  const response = await ask().catch((error: unknown) => {
    if (isBrokenConnection(error)) return null;
    throw error;
  });
  if (response && response.status !== 503) return response;
  ledger.unknown += 1;
  return null;
}

function isBrokenConnection(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(UND_ERR_SOCKET|ECONN|EPIPE)/.test(code);
}

// Writes with Idempotency-Keys through both API processes, repeated until they are acknowledged,
// and what must be true of them afterwards.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { ApiResponse, Call, CallOptions } from '../support/api.ts';
import { until } from '../support/until.ts';
import type { Receiver } from '../races/chaos/receiver.ts';

/** A team that writes, and the API processes that it writes through. */
export interface Customer {
  readonly key: string;
  readonly memberId: string;
  readonly calls: readonly Call[];
}

/** What one fault did to the writes. */
export interface Ledger {
  /** Title → id of what was acknowledged, and whether its change was, too. */
  readonly acknowledged: Map<string, { readonly id: string; isDone: boolean }>;
  /** What a client must never see. */
  readonly faults: string[];
  /** The number of 503. */
  refused: number;
  /** The longest time without an acknowledgement from one API process. */
  silenceMs: number;
  /** The longest time that a caller waited for one response. */
  slowestMs: number;
}

/** Writes that go on until they are stopped. */
export interface Load {
  readonly ledger: Ledger;
  /** Resolves when each API process has acknowledged so many writes from now on. */
  acknowledges(count: number): Promise<void>;
  /** Resolves when so many requests have been refused from now on. */
  isRefused(count: number): Promise<void>;
  /** Resolves when every write in progress is acknowledged. */
  stop(): Promise<Ledger>;
}

const WRITERS_PER_API = 4;
/** Between two writes of a writer. */
const THINK_MS = 20;
/** Before a refused write is sent again. */
const RETRY_MS = 50;

/** Starts to write. Titles begin with `name`, which is the fault's own. */
export function startLoad(name: string, customer: Customer): Load {
  const ledger: Ledger = {
    acknowledged: new Map(),
    faults: [],
    refused: 0,
    silenceMs: 0,
    slowestMs: 0,
  };
  const apis = customer.calls.map((call) => ({ call, acknowledged: 0, at: performance.now() }));
  let isStopping = false;
  const write = async (api: (typeof apis)[number], writer: string): Promise<void> => {
    const send = async (...request: Request): Promise<ApiResponse> => {
      const response = await insist(ledger, api.call, customer.key, request);
      ledger.silenceMs = Math.max(ledger.silenceMs, performance.now() - api.at);
      api.at = performance.now();
      api.acknowledged += 1;
      return response;
    };
    for (let n = 0; !isStopping; n += 1) {
      await writeOnce(ledger, send, `${name} ${writer} ${n}`, customer.memberId);
      await delay(THINK_MS);
    }
  };
  const writing = apis.flatMap((api, a) =>
    Array.from({ length: WRITERS_PER_API }, (_, w) => write(api, `${a}.${w}`)),
  );
  const failed = Promise.all(writing);
  failed.catch(() => undefined);
  return {
    ledger,
    acknowledges: async (count) => {
      const goals = apis.map(({ acknowledged }) => acknowledged + count);
      const reached = until(() => apis.every((api, n) => api.acknowledged >= (goals[n] ?? 0)));
      await Promise.race([reached, failed]);
    },
    isRefused: async (count) => {
      const goal = ledger.refused + count;
      await until(() => ledger.refused >= goal);
    },
    stop: async () => {
      isStopping = true;
      await failed;
      return ledger;
    },
  };
}

type Request = [method: string, path: string, options: CallOptions];
type Send = (...request: Request) => Promise<ApiResponse>;

/** Creates an assignment, and marks it as done. */
async function writeOnce(
  { acknowledged, faults }: Ledger,
  send: Send,
  title: string,
  memberId: string,
): Promise<void> {
  const created = await send('POST', '/assignments', {
    body: {
      member_id: memberId,
      title,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    },
    headers: { 'idempotency-key': title },
  });
  if (created.status !== 201) {
    faults.push(`POST ${title} → ${created.status} ${created.text}`);
    return;
  }
  const entry = { id: created.body.id as string, isDone: false };
  acknowledged.set(title, entry);
  const changed = await send('PATCH', `/assignments/${entry.id}`, { body: { status: 'done' } });
  entry.isDone = changed.status === 200;
  if (!entry.isDone) faults.push(`PATCH ${title} → ${changed.status} ${changed.text}`);
}

/** Sends the request until it is answered with something else than "not now". */
async function insist(
  ledger: Ledger,
  call: Call,
  key: string,
  [method, path, options]: Request,
): Promise<ApiResponse> {
  for (;;) {
    const startedAt = performance.now();
    const response = await call(key, method, path, options).catch((error: unknown) => {
      // A 500, a broken connection, a response that is not documented.
      ledger.faults.push(`${method} ${path}: ${String(error)}`);
    });
    ledger.slowestMs = Math.max(ledger.slowestMs, performance.now() - startedAt);
    if (!response) {
      await delay(RETRY_MS);
      continue;
    }
    if (response.status === 503 && response.body.code === 'unavailable') ledger.refused += 1;
    else if (!isStillRunning(response)) return response;
    await delay(RETRY_MS);
  }
}

/** The first call with this key waits for a standby, or its server has just been lost. */
function isStillRunning({ status, body }: ApiResponse): boolean {
  return status === 409 && String(body.detail).includes('still running');
}

/** What the database and the receiver have of the writes whose titles begin with `name`. */
export interface Outcome {
  /** Acknowledged, but not there, or not as acknowledged. */
  readonly lost: readonly string[];
  /** There more than once, and events that do not belong to exactly one change. */
  readonly twice: readonly string[];
  /** Events that did not come, or that came and never happened. */
  readonly wrongDeliveries: readonly string[];
  /** How many deliveries came again. Receivers must expect that. */
  readonly again: number;
}

/** Waits until everything is delivered, and compares. */
export async function compare(
  name: string,
  url: string,
  { acknowledged }: Ledger,
  { received }: Receiver,
): Promise<Outcome> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await until(async () => {
      const { rowCount } = await client.query(
        'select 1 from webhook_delivery where next_try_at is not null or claimed_by is not null ' +
          'or urgent union all select 1 from event where fanned_out_at is null limit 1',
      );
      return rowCount === 0;
    });
    const { rows } = await client.query<Row>(
      'select id, title, status from assignment where starts_with(title, $1)',
      [`${name} `],
    );
    const { rows: events } = await client.query<Event>(
      `select id, type, data->>'title' as title from event where starts_with(data->>'title', $1)`,
      [`${name} `],
    );
    return {
      lost: findLost(acknowledged, rows),
      twice: [
        ...repeated(rows.map(({ title }) => title)),
        ...repeated(events.map(({ type, title }) => `${type} ${title}`)),
        ...missing(rows, events),
      ],
      ...findDeliveries(name, events, received),
    };
  } finally {
    await client.end();
  }
}

interface Row {
  readonly id: string;
  readonly title: string;
  readonly status: string;
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly title: string;
}

function findLost(acknowledged: Ledger['acknowledged'], rows: readonly Row[]): string[] {
  const found = new Map(rows.map((row) => [row.title, row]));
  return [...acknowledged].flatMap(([title, { id, isDone }]) => {
    const row = found.get(title);
    const isThere = row?.id === id && (!isDone || row.status === 'done');
    return isThere ? [] : [`${title}: ${id} ${isDone}, found ${JSON.stringify(row)}`];
  });
}

function repeated(values: readonly string[]): string[] {
  const seen = new Set<string>();
  return values.filter((value) => seen.size === seen.add(value).size);
}

/** The events that a row should have and has not, and those that belong to no row. */
function missing(rows: readonly Row[], events: readonly Event[]): string[] {
  const raised = new Set(events.map(({ type, title }) => `${type} ${title}`));
  const due = new Set(
    rows.flatMap(({ title, status }) => [
      `assignment.created ${title}`,
      ...(status === 'done' ? [`assignment.completed ${title}`] : []),
    ]),
  );
  return differences(due, raised);
}

function findDeliveries(
  name: string,
  events: readonly Event[],
  received: Receiver['received'],
): Pick<Outcome, 'wrongDeliveries' | 'again'> {
  const times = new Map<string, number>();
  for (const { body, times: count } of received.values()) {
    const event = JSON.parse(body) as { id: string; data: { title: string } };
    if (event.data.title.startsWith(`${name} `)) times.set(event.id, count);
  }
  const known = new Set(events.map(({ id }) => id));
  const sum = [...times.values()].reduce((total, count) => total + count, 0);
  return {
    wrongDeliveries: differences(known, new Set(times.keys())),
    again: sum - times.size,
  };
}

function differences(expected: ReadonlySet<string>, found: ReadonlySet<string>): string[] {
  return [
    ...[...expected].filter((one) => !found.has(one)).map((one) => `${one} is missing`),
    ...[...found].filter((one) => !expected.has(one)).map((one) => `${one} is unknown`),
  ];
}

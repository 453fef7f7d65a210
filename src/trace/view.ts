/** Rows as they are shown. */
import { attemptsOf } from '../db/kept-attempts.ts';
import type { AuditRow, DeliveryRow, EventRow, RequestRow } from './find-store.ts';
import { pausedReason, type Scene } from './reasons.ts';
import type { Reason } from './reason-codes.ts';
import type { ChangeRow } from './change-store.ts';
import type { ConnectionRow, JobRow } from './connection-store.ts';
import type { KeyRow, UsageRow } from './key-store.ts';
import { isCut, type EndpointRow } from './state-store.ts';

/** A row whose time is named as all times of a trace are. */
export function dated<Row extends { created_at: string }>({ created_at: at, ...row }: Row) {
  return { ...row, at };
}

export function toDelivery(row: DeliveryRow, why: Reason[]) {
  return {
    id: row.id,
    team_id: row.team_id,
    event_id: row.event_id,
    event_type: row.event_type,
    endpoint_id: row.endpoint_id,
    status: row.status,
    at: row.created_at,
    attempts_made: row.attempt,
    next_attempt_at: row.next_try_at,
    worker: row.claimed_by,
    attempts: attemptsOf(row).map(({ ended_at: at, ...attempt }) => ({ ...attempt, at })),
    why,
  };
}

export function toEndpoint(scene: Scene, row: EndpointRow) {
  const { id, team_id, status, events, failing_since, last_success_at, oldest_due_at } = row;
  const counts = [row.requested, row.pending, row.retrying];
  const [requested = 0, first = 0, retries = 0] = counts.map((count) =>
    isCut(count) ? count - 1 : count,
  );
  const lock = scene.locks.get(id);
  return {
    id,
    team_id,
    host: URL.parse(row.url)?.host ?? '',
    status,
    events: [...events],
    failing_since,
    last_success_at,
    waiting: { requested, first, retries, is_cut: counts.some(isCut) },
    oldest_due_at,
    in_hand: scene.inHand
      .filter((held) => held.endpoint_id === id)
      .map(({ worker, count }) => ({ worker, count })),
    why: [
      ...(status === 'active' ? [] : [pausedReason(scene, row)]),
      ...(lock
        ? [
            {
              code: 'row_locked' as const,
              text: `The session ${lock.pid} has locked the endpoint.`,
            },
          ]
        : []),
    ],
  };
}

export function toKey(
  row: KeyRow,
  {
    changes,
    usage,
    why,
  }: {
    readonly changes: readonly ChangeRow[];
    readonly usage: UsageRow;
    readonly why: Reason[];
  },
) {
  return { ...row, calls: usage, changes: changes.map(dated), why };
}

export function toConnection(
  row: ConnectionRow,
  {
    changes,
    jobs,
    why,
  }: {
    readonly changes: readonly ChangeRow[];
    readonly jobs: readonly JobRow[];
    readonly why: Reason[];
  },
) {
  const { sync_requested_at: requested_at, sync_lease_until: held_until, ...shown } = row;
  return {
    ...shown,
    requested_at,
    held_until,
    jobs: jobs.map(({ key: _key, ...job }) => job),
    changes: changes.map(dated),
    why,
  };
}

/** What `trace --json` prints. */
export interface TraceResult {
  readonly id: string;
  readonly asked_at: string;
  readonly found: boolean;
  readonly notes: readonly Reason[];
  readonly requests: ReturnType<typeof dated<RequestRow>>[];
  readonly audit: ReturnType<typeof dated<AuditRow>>[];
  readonly events: (ReturnType<typeof dated<EventRow>> & { readonly why: Reason[] })[];
  readonly deliveries: ReturnType<typeof toDelivery>[];
  readonly endpoints: ReturnType<typeof toEndpoint>[];
  readonly keys: ReturnType<typeof toKey>[];
  readonly connections: ReturnType<typeof toConnection>[];
  readonly teams: {
    readonly id: string;
    readonly status: string;
    readonly is_sandbox: boolean;
    readonly why: readonly Reason[];
  }[];
  /** The numbers of the workers that are alive. */
  readonly workers: readonly number[];
}

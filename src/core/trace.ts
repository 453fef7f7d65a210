/**
 * What the parts of a process tell about a call that is traced. `runtime/open-telemetry.ts` makes
 * traces; without an address for them there are none. Times are those of performance.now().
 *
 * A trace holds names, ids, codes and times, never a value that somebody sent. So what is told here
 * takes names of statements, not their values, and types of events, not their data.
 */

/** The trace of one call. Everything that works for the call gets it. */
export interface Trace {
  /** Adds a step that has ended: a statement, by its name. `code` is that of its error. */
  step(name: string, sentAt: number, code: string | null): void;
  /** Adds an event that the call raises. Returns the `traceparent` that is stored with it. */
  event(type: string, id: string): string | null;
}

/** The trace of a request. */
export interface RequestTrace extends Trace {
  /**
   * The caller has a valid key or token, so that the caller's `traceparent` counts. It counts for
   * nothing if this is not called before the first event and the end.
   */
  known(): void;
  /** Returns the id of the trace. null: the request was not traced. */
  end(outcome: RequestOutcome): string | null;
}

export interface RequestOutcome {
  /** The template of a route, or the name of a procedure. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly requestId: string;
  /** The code of the problem in the response. */
  readonly code: string | null;
  readonly teamId: string | null;
}

/** The trace of one attempt to deliver an event. */
export interface AttemptTrace {
  /** The header for the receiver. */
  readonly traceparent: string;
  end(result: {
    readonly ok: boolean;
    readonly responseCode: number | null;
    readonly error: string | null;
  }): void;
}

/** What an attempt delivers. */
export interface TracedDelivery {
  readonly teamId: string;
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** How many attempts came before. */
  readonly attempt: number;
}

/** Makes the traces of a process. */
export interface Tracing {
  /**
   * Begins the trace of a request that came at `startedAt`. Returns null if there is nothing to
   * trace and nothing to pass on. A malformed `traceparent` counts as none.
   */
  request(traceparent: string | string[] | undefined, startedAt: number): RequestTrace | null;
  /** Goes on with the trace of an event. Returns null if that trace is not sampled. */
  attempt(traceparent: string, delivery: TracedDelivery): AttemptTrace | null;
  /** Sends what is not sent yet, for a few seconds at most. Never rejects. */
  stop(): Promise<void>;
}

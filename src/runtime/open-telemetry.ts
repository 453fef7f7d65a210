/**
 * Makes traces with OpenTelemetry's SDK and sends them by OTLP (HTTP, protobuf). `tracing.ts` loads
 * this file only if there is an address for them.
 *
 * Who decides whether a request is traced:
 *  * Without a `traceparent`, chance does (OTEL_TRACES_SAMPLER_ARG). The number is ours: a caller
 *    could choose a trace id that a ratio of ids always takes.
 *  * With one, and a sampler `parentbased_…`, its flag does, if we know the caller by an API key or
 *    a token. Their rate limits bound what they can ask for.
 *  * A stranger's `traceparent` counts as none: it neither asks for a trace nor hides from one, and
 *    a stranger's request is in a trace of its own. So the decision waits until the caller is
 *    known, and what is told before is kept until the end.
 *  * A request that is not traced passes the `traceparent` of a known caller on, marked as not
 *    sampled.
 * `tracestate` is not passed on: it may hold anything.
 *
 * An event takes the span of its creation with it. Each attempt is a child of that span, not a root
 * with a link to it. The conventions for messages ask for links because a consumer may process many
 * messages at once, and allow a parent for one message. An attempt sends one, and the receiver
 * shall see the trace id of the call that raised it.
 */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as api,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import {
  parseKeyPairsIntoRecord,
  parseTraceParent,
  setGlobalErrorHandler,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { atMostEvery } from '../core/at-most-every.ts';
import { systemClock, type Clock } from '../core/clock.ts';
import type {
  AttemptTrace,
  RequestOutcome,
  RequestTrace,
  TracedDelivery,
  Tracing,
} from '../core/trace.ts';
import type { Sampling, TracingSettings } from './tracing-settings.ts';

/** Less than what a process has left after its requests have ended. */
export const STOP_LIMIT_MS = 2_000;
const WARN_EVERY_MS = 60_000;

/** Starts an exporter. Does not connect yet. */
export function createTracing(
  { endpoint, headers, serviceName, sampling }: TracingSettings & { readonly serviceName: string },
  logger: Logger,
  clock: Pick<Clock, 'monotonicMs' | 'after'> = systemClock,
): Tracing {
  const warn = createWarning(logger, clock);
  setGlobalErrorHandler(warn);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    // The exporter reads the variable itself, but no file.
    ...(headers !== null && { headers: parseKeyPairsIntoRecord(headers) }),
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName })),
    // We decide before we make a span.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('team-customer-api');
  return {
    request: (header, startedAt) => beginRequest({ tracer, sampling }, header, startedAt),
    attempt: (traceparent, delivery) => beginAttempt(tracer, traceparent, delivery),
    stop: async () => {
      const late = Promise.withResolvers<never>();
      const giveUp = (): void => late.reject(new Error('no answer until the stop'));
      const endLimit = clock.after(STOP_LIMIT_MS, giveUp);
      await Promise.race([provider.shutdown(), late.promise]).catch(warn);
      endLimit();
    },
  };
}

/** Warns that traces are lost, once in a while: an address can be dead for days. */
function createWarning(
  logger: Logger,
  clock: Pick<Clock, 'monotonicMs'>,
): (error: unknown) => void {
  return atMostEvery(WARN_EVERY_MS, clock, (error) =>
    logger.warn({ err: error }, 'traces could not be sent'),
  );
}

/** Someone else's span, from a `traceparent`. */
interface Parent {
  /** The header, for those who come after a call that is not traced. */
  readonly unsampled: string;
  readonly isSampled: boolean;
  readonly context: Context;
}

/** Returns null for a malformed `traceparent`. */
function parse(header: string | string[] | undefined): Parent | null {
  const parsed = typeof header === 'string' ? parseTraceParent(header) : null;
  if (parsed === null) return null;
  return {
    unsampled: formatTraceparent({ ...parsed, traceFlags: TraceFlags.NONE }),
    isSampled: (parsed.traceFlags & TraceFlags.SAMPLED) !== 0,
    context: api.setSpanContext(ROOT_CONTEXT, { ...parsed, isRemote: true }),
  };
}

/** A header of a later version may have parts that we do not know. They are not passed on. */
function formatTraceparent(of: {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}): string {
  return `00-${of.traceId}-${of.spanId}-0${of.traceFlags & TraceFlags.SAMPLED}`;
}

function beginRequest(
  { tracer, sampling }: { readonly tracer: Tracer; readonly sampling: Sampling },
  header: string | string[] | undefined,
  startedAt: number,
): RequestTrace | null {
  const byChance = Math.random() < sampling.ratio;
  const parent = header === undefined ? null : parse(header);
  if (parent === null && !byChance) return null;
  const clock = createClock();
  const begin = (by: Parent | null): Course => {
    const isTraced = by && sampling.followsCallers ? by.isSampled : byChance;
    if (!isTraced) return { span: null, unsampled: by?.unsampled ?? null };
    const options = { kind: SpanKind.SERVER, startTime: clock(startedAt) };
    const span = tracer.startSpan('request', options, by?.context ?? ROOT_CONTEXT);
    return { span, inside: api.setSpan(ROOT_CONTEXT, span) };
  };
  let course: Course | null = null;
  const ofStranger = (): Course => (course ??= begin(null));
  const steps: ((inside: Context) => void)[] = [];
  return {
    known: () => {
      course ??= begin(parent);
    },
    step: (name, sentAt, code) => {
      if (course?.span === null) return;
      const of = { name, code, sentAt: clock(sentAt), endTime: clock(performance.now()) };
      steps.push((inside) => addStatement(tracer, inside, of));
    },
    event: (type, id) => {
      const { span, inside, unsampled } = ofStranger();
      if (span === null) return unsampled;
      const startTime = clock(performance.now());
      const attributes = eventAttributes('create', type, id);
      const options = { kind: SpanKind.PRODUCER, startTime, attributes };
      const created = tracer.startSpan(`create ${type}`, options, inside);
      created.end(startTime);
      return formatTraceparent(created.spanContext());
    },
    end: (outcome) => {
      const { span, inside } = ofStranger();
      if (span === null) return null;
      for (const add of steps) add(inside);
      describeRequest(span, outcome);
      span.end(clock(performance.now()));
      return span.spanContext().traceId;
    },
  };
}

/** What was decided about a request: it is in a trace, or passes one on that does not record it. */
type Course =
  | { readonly span: Span; readonly inside: Context; readonly unsampled?: never }
  | { readonly span: null; readonly inside?: never; readonly unsampled: string | null };

/**
 * Returns what turns times of performance.now() into those of the wall clock. A process that runs
 * for weeks must not drift away from others, and the spans of a trace not from each other.
 */
function createClock(): (time: number) => number {
  const offset = Date.now() - performance.now();
  return (time) => time + offset;
}

function addStatement(
  tracer: Tracer,
  context: Context,
  of: {
    readonly name: string;
    readonly code: string | null;
    readonly sentAt: number;
    readonly endTime: number;
  },
): void {
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': of.name };
  const options = { kind: SpanKind.CLIENT, startTime: of.sentAt, attributes };
  const span = tracer.startSpan(of.name, options, context);
  if (of.code !== null) {
    span.setAttributes({ 'db.response.status_code': of.code, 'error.type': of.code });
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(of.endTime);
}

function describeRequest(span: Span, outcome: RequestOutcome): void {
  const { route, method, status, requestId, code, teamId } = outcome;
  span.updateName(`${method} ${route}`);
  span.setAttributes({
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'svc.request_id': requestId,
    ...(teamId !== null && { 'svc.team_id': teamId }),
    ...(code !== null && { 'error.type': code }),
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

function eventAttributes(operation: 'create' | 'send', type: string, id: string): Attributes {
  return {
    'messaging.system': 'team-customer-api',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': type,
    'messaging.message.id': id,
  };
}

function beginAttempt(
  tracer: Tracer,
  traceparent: string,
  delivery: TracedDelivery,
): AttemptTrace | null {
  const parent = parse(traceparent);
  if (!parent?.isSampled) return null;
  const clock = createClock();
  const attributes = {
    ...eventAttributes('send', delivery.eventType, delivery.eventId),
    'http.request.method': 'POST',
    'http.request.resend_count': delivery.attempt,
    'svc.team_id': delivery.teamId,
    'svc.delivery_id': delivery.deliveryId,
    'svc.endpoint_id': delivery.endpointId,
  };
  const startTime = clock(performance.now());
  const options = { kind: SpanKind.CLIENT, startTime, attributes };
  const span = tracer.startSpan(`deliver ${delivery.eventType}`, options, parent.context);
  return {
    traceparent: formatTraceparent(span.spanContext()),
    end: ({ ok, responseCode, error }) => {
      if (responseCode !== null) span.setAttribute('http.response.status_code', responseCode);
      if (!ok) {
        span.setAttribute('error.type', error ?? String(responseCode));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(clock(performance.now()));
    },
  };
}

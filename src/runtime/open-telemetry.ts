/**
 * Makes traces with OpenTelemetry's SDK and sends them by OTLP (HTTP, protobuf). `tracing.ts` loads
 * this file only if there is an address for them.
 *
 * Who decides whether a request is traced:
 *  * Without a `traceparent`, chance does (OTEL_TRACES_SAMPLER_ARG). The number is ours: a caller
 *    could choose a trace id that a ratio of ids always takes.
 *  * With one, and a sampler `parentbased_…`, its flag does, if we know the caller by an API key or
 *    a token. Their rate limits bound what they can ask for. The wish of a stranger to be traced
 *    counts for nothing beyond the chance of everybody, and is dropped at the end of the request.
 *  * A request that is not traced passes the caller's `traceparent` on, marked as not sampled.
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
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type {
  AttemptTrace,
  RequestOutcome,
  RequestTrace,
  TracedDelivery,
  Tracing,
} from '../core/trace.ts';
import type { Sampling, TracingSettings } from './tracing-settings.ts';

/** Less than what a process has left after its requests have ended. */
const STOP_LIMIT_MS = 2_000;
const WARN_EVERY_MS = 60_000;

/** Starts an exporter. Does not connect yet. */
export function createTracing(
  { endpoint, serviceName, sampling }: TracingSettings & { readonly serviceName: string },
  logger: Logger,
  stopLimitMs = STOP_LIMIT_MS,
): Tracing {
  const warn = createWarning(logger);
  setGlobalErrorHandler(warn);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` });
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
      const timer = setTimeout(giveUp, stopLimitMs);
      await Promise.race([provider.shutdown(), late.promise]).catch(warn);
      clearTimeout(timer);
    },
  };
}

/** Warns that traces are lost, once in a while: an address can be dead for days. */
function createWarning(logger: Logger): (error: unknown) => void {
  let nextAt = -Infinity;
  return (error) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + WARN_EVERY_MS;
    logger.warn({ err: error }, 'traces could not be sent');
  };
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
  const isAsked = sampling.followsCallers && parent ? parent.isSampled : byChance;
  if (isAsked) return recordRequest({ tracer, parent, byChance, startedAt });
  return parent && passOn(parent.unsampled);
}

function passOn(traceparent: string): RequestTrace {
  return {
    traceId: null,
    step: () => undefined,
    event: () => traceparent,
    end: () => undefined,
  };
}

interface Recording {
  readonly tracer: Tracer;
  readonly parent: Parent | null;
  /** Whether the request is traced even if a stranger made it. */
  readonly byChance: boolean;
  readonly startedAt: number;
}

function recordRequest({ tracer, parent, byChance, startedAt }: Recording): RequestTrace {
  const clock = createClock();
  const options = { kind: SpanKind.SERVER, startTime: clock(startedAt) };
  const span = tracer.startSpan('request', options, parent?.context ?? ROOT_CONTEXT);
  const inside = api.setSpan(ROOT_CONTEXT, span);
  // A span that has ended is sent, and whether to send any is known only at the end.
  const ends: (() => void)[] = [];
  return {
    traceId: span.spanContext().traceId,
    step: (name, sentAt, code) => {
      const endTime = clock(performance.now());
      ends.push(() => addStatement(tracer, inside, { name, code, sentAt: clock(sentAt), endTime }));
    },
    event: (type, id) => {
      const startTime = clock(performance.now());
      const attributes = eventAttributes('create', type, id);
      const options = { kind: SpanKind.PRODUCER, startTime, attributes };
      const created = tracer.startSpan(`create ${type}`, options, inside);
      ends.push(() => created.end(startTime));
      return formatTraceparent(created.spanContext());
    },
    end: (outcome) => {
      if (!byChance && !outcome.isKnown) return;
      for (const end of ends) end();
      describeRequest(span, outcome);
      span.end(clock(performance.now()));
    },
  };
}

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

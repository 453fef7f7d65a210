// A receiver of traces for tests: a real server that takes OTLP over HTTP and reads its protobuf
// messages (opentelemetry/proto/trace/v1/trace.proto), as far as the tests need them.
import { startReceiver, type Receiver } from './receiver.ts';
import { until } from './until.ts';

/** A span as it was exported. */
export interface ExportedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** null: it has no parent. */
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface TraceReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  /** All spans that came so far. */
  spans(): ExportedSpan[];
  /** Every byte that came so far, as text. */
  text(): string;
  /** The headers of each request so far. */
  headers(): readonly Readonly<Record<string, unknown>>[];
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const receiver: Receiver = await startReceiver();
  const bodies = (): Buffer[] =>
    receiver.requestsTo('/v1/traces').map(({ headers, body }) => {
      if (headers['content-type'] !== 'application/x-protobuf')
        throw new Error(`not protobuf: ${headers['content-type']}`);
      return body;
    });
  return {
    url: receiver.url,
    spans: () => bodies().flatMap(readRequest),
    text: () => Buffer.concat(bodies()).toString('latin1'),
    headers: () => receiver.requestsTo('/v1/traces').map(({ headers }) => headers),
  };
}

/** Resolves when a span of each of these names has come. */
export async function untilSent(traces: TraceReceiver, ...names: string[]): Promise<void> {
  await until(() => names.every((wanted) => traces.spans().some(({ name }) => name === wanted)));
}

/** The fields of a message: by number, in their order. Varints and fixed64 are bigints. */
type Fields = Map<number, (Buffer | bigint)[]>;

function readFields(message: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  const valueOf = (wireType: number): Buffer | bigint => {
    if (wireType === 0) return varint();
    if (wireType === 1) return take(8).readBigUInt64LE();
    if (wireType === 5) return BigInt(take(4).readUInt32LE());
    if (wireType === 2) return take(Number(varint()));
    throw new Error(`an unknown wire type: ${wireType}`);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const values = fields.get(tag >> 3) ?? [];
    fields.set(tag >> 3, values);
    values.push(valueOf(tag & 7));
  }
  return fields;
}

function messagesOf(fields: Fields, number: number): Fields[] {
  return bytesOf(fields, number).map(readFields);
}

function bytesOf(fields: Fields, number: number): Buffer[] {
  return (fields.get(number) ?? []).filter((value) => typeof value !== 'bigint');
}

function textOf(fields: Fields, number: number, encoding: 'utf8' | 'hex' = 'utf8'): string {
  return bytesOf(fields, number)[0]?.toString(encoding) ?? '';
}

function numberOf(fields: Fields, number: number): bigint {
  const [value = 0n] = fields.get(number) ?? [];
  if (typeof value !== 'bigint') throw new Error(`field ${number} is no number`);
  return value;
}

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const STATUS_ERROR = 2n;

function readRequest(body: Buffer): ExportedSpan[] {
  return messagesOf(readFields(body), 1).flatMap((ofResource) => {
    const [resource] = messagesOf(ofResource, 1);
    const service = String(resource && attributesOf(resource, 1)['service.name']);
    const scopes = messagesOf(ofResource, 2);
    return scopes.flatMap((scope) => messagesOf(scope, 2).map((span) => readSpan(service, span)));
  });
}

function readSpan(service: string, span: Fields): ExportedSpan {
  const parentId = textOf(span, 4, 'hex');
  const [status] = messagesOf(span, 15);
  return {
    service,
    traceId: textOf(span, 1, 'hex'),
    spanId: textOf(span, 2, 'hex'),
    parentId: parentId === '' ? null : parentId,
    name: textOf(span, 5),
    kind: KINDS[Number(numberOf(span, 6))] ?? 'unknown',
    startNs: numberOf(span, 7),
    endNs: numberOf(span, 8),
    attributes: attributesOf(span, 9),
    isError: status !== undefined && numberOf(status, 3) === STATUS_ERROR,
  };
}

function attributesOf(fields: Fields, number: number): Record<string, unknown> {
  const pairs = messagesOf(fields, number).map((pair): [string, unknown] => {
    const [value] = messagesOf(pair, 2);
    return [textOf(pair, 1), value && readValue(value)];
  });
  return Object.fromEntries(pairs);
}

function readValue(value: Fields): unknown {
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return numberOf(value, 2) === 1n;
  if (value.has(3)) return Number(numberOf(value, 3));
  throw new Error(`a value of another type: ${[...value.keys()].join()}`);
}

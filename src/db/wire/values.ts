/** A value as it is sent: a text, bytes, or null. */
export type Sendable = string | Buffer | null;

/** Returns the value as it is sent. Throws if it has no such form, before anything is sent. */
export function toSendable(value: unknown): Sendable {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return `${value as number | bigint | boolean}`;
  if (ArrayBuffer.isView(value)) return bytesOf(value);
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? arrayOf(value) : JSON.stringify(value);
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function arrayOf(values: readonly unknown[]): string {
  const elements = values.map((value) => {
    if (Array.isArray(value)) return arrayOf(value);
    const sendable = toSendable(value);
    if (sendable === null) return 'NULL';
    const text = typeof sendable === 'string' ? sendable : `\\x${sendable.toString('hex')}`;
    return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  });
  return `{${elements.join(',')}}`;
}

/**
 * Conditional requests (RFC 9110, section 13). What is decided here:
 *  * A tag is a hash of the representation that is sent, so it tells nothing that the caller may
 *    not see. It is a strong one: `If-Match` compares no others. The compressed form of a
 *    representation has the same tag with the name of its encoding, for its bytes differ.
 *  * `If-None-Match` compares weakly, as it must: a proxy that compresses makes a tag weak.
 *  * `If-Match` is compared with what is read under the lock of the transaction that writes. So of
 *    two writers with the same tag exactly one succeeds. What does not exist is 404 as without the
 *    header, and `*` matches all that exists: it adds nothing.
 *  * A header that is no list of tags is an error: a condition must not be lost.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../../core/problem.ts';

/** 132 bits: nobody finds two representations with one tag. */
const TAG_CHARACTERS = 22;

/** Makes the tag of a representation, without its quotes. */
export function tagOf(representation: string | Buffer): string {
  return hash('sha256', representation, 'base64url').slice(0, TAG_CHARACTERS);
}

/** The header `ETag`. `encoding` null: the representation is sent as it is. */
export function etagHeader(tag: string, encoding: string | null): string {
  return encoding === null ? `"${tag}"` : `"${tag}.${encoding}"`;
}

/** Whether `If-None-Match` names the tag, in whatever encoding. */
export function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return (readTags(header) ?? []).some((one) => one.tag === tag);
}

/** What `If-Match` asks for; null: nothing. */
export type Condition = { readonly tags: ReadonlySet<string> } | null;

/** Throws `validation_error` for what is no list of tags. */
export function conditionOf({ headers }: IncomingMessage): Condition {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  const tags = readTags(header);
  if (tags) return { tags: new Set(tags.flatMap(({ tag, isWeak }) => (isWeak ? [] : [tag]))) };
  const detail = 'If-Match takes tags with their quotes, as ETag had them, or a single *.';
  const error = { path: 'header.If-Match', message: detail, code: 'invalid_format' };
  throw new ProblemError('validation_error', { errors: [error], field: 'If-Match', detail });
}

/** Throws `precondition_failed` if the condition names none of the object's tags. */
export function requireMatch({ tags }: NonNullable<Condition>, current: readonly string[]): void {
  if (!current.some((tag) => tags.has(tag))) throw new ProblemError('precondition_failed');
}

interface GivenTag {
  readonly tag: string;
  readonly isWeak: boolean;
}

const TAG = /[ \t]*(W\/)?"([!\x23-\x7e\x80-\xff]*)"[ \t]*(?:,|$)/y;
const ENCODING = /\.(?:br|gzip)$/;

/** Reads a list of tags, without their encodings. Returns null for what is none. */
function readTags(header: string): readonly GivenTag[] | null {
  const tags: GivenTag[] = [];
  TAG.lastIndex = 0;
  while (TAG.lastIndex < header.length) {
    const [found, weak, tag = ''] = TAG.exec(header) ?? [];
    if (found === undefined) return null;
    tags.push({ tag: tag.replace(ENCODING, ''), isWeak: weak !== undefined });
  }
  return tags.length === 0 ? null : tags;
}

/**
 * The calls of a request to the tRPC API. What is counted and what tRPC runs must be the same. So
 * the address is parsed only here, and tRPC gets one that is written from what was found: nothing
 * else of the caller's address comes before its parser.
 */
import { ProblemError } from '../../core/problem.ts';

/** How many calls one request may hold. Each counts as a request of its own. */
const BATCH_MAX_CALLS = 10;

export interface Calls {
  /** The procedures that they name, whether or not there are such. One without a batch. */
  readonly names: readonly string[];
  /** For tRPC: the path of its procedures, encoded. */
  readonly path: string;
  /** For tRPC: an address that has the query `batch` and `input`, and nothing else. */
  readonly url: string;
}

/**
 * Reads the calls from the request target. Takes time that does not depend on their number. Throws
 * `bad_request` if there are too many, or if the path cannot be decoded.
 */
export function readCalls(target: string): Calls {
  const mark = target.indexOf('?');
  const path = decode(mark < 0 ? target : target.slice(0, mark));
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
  const isBatch = query.get('batch') === '1';
  const names = isBatch ? path.split(',', BATCH_MAX_CALLS + 1) : [path];
  if (names.length > BATCH_MAX_CALLS) {
    const detail = `A request may hold at most ${BATCH_MAX_CALLS} calls.`;
    throw new ProblemError('bad_request', { detail });
  }
  const input = query.get('input');
  const kept = new URLSearchParams({
    ...(isBatch && { batch: '1' }),
    ...(input !== null && { input }),
  });
  return { names, path: encodeURIComponent(path), url: `/?${kept.toString()}` };
}

/** The last step of a path, decoded. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
  } catch {
    // decodeURIComponent throws nothing else.
    throw new ProblemError('bad_request', { detail: 'The path is not encoded as a URL.' });
  }
}

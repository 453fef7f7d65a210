/** The filters of the request log: see `requests.tsx`. */
import { requestIdIn } from '../lib/ids.ts';
import { REQUEST_STATUSES, type RequestSearch, type Times } from '../lib/search.ts';

/** The filters as the service takes them. */
export function filtersOf({ status, key, path, code, id }: RequestSearch, times: Times) {
  return {
    key_id: key,
    route: path,
    error_code: code,
    request_id: id,
    ...times,
    ...(isExact(status)
      ? { status: Number(status) }
      : { status_class: REQUEST_STATUSES.find((one) => one === status) }),
  };
}

/** The statuses that can be chosen. One that a link names exactly is a choice, too. */
export function statusesFor(status: string | undefined): readonly string[] {
  return isExact(status) ? [...REQUEST_STATUSES, status] : REQUEST_STATUSES;
}

function isExact(status: string | undefined): status is string {
  return status !== undefined && /^\d+$/.test(status);
}

/** The id in what was typed, such as a whole message; all of it, if there is none. */
export function idTyped(text: string | undefined): string | undefined {
  return text && (requestIdIn(text) ?? text);
}

/** The routes of the calls that are shown, each once. */
export function routesOf(calls: readonly { readonly route: string }[]): string[] {
  return [...new Set(calls.map(({ route }) => route))].toSorted();
}

/** The keys that the page names: those of the calls, and the one that is chosen. */
export function keyIdsFor(
  { key }: Pick<RequestSearch, 'key'>,
  calls: readonly { readonly key_id: string }[],
): string[] {
  const ids = calls.map(({ key_id: id }) => id);
  return key === undefined ? ids : [key, ...ids];
}

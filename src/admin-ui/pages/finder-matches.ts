/** What the search finds: see `finder.tsx`. */
import type { Texts } from '../i18n/en.ts';
import { holdsSecret, idIn, requestIdIn } from '../lib/ids.ts';
import { DEEDS, type Deed } from '../lib/deeds.ts';
import { NAVIGATION, type Page } from '../lib/navigation.ts';
import type { Endpoint } from './endpoint-name.ts';
import type { ApiKey } from './key-state.ts';

/** How many of each kind are shown. */
export const SHOWN = 5;
/** Fewer letters find nearly everybody. */
const LETTERS_MIN = 2;

/** Whether members are searched for. A secret goes nowhere, and an id of a request is no name. */
export function searchesMembers(wanted: string): boolean {
  return wanted.length >= LETTERS_MIN && !holdsSecret(wanted) && requestIdIn(wanted) === null;
}

const isIn =
  (wanted: string) =>
  (text: string | null): boolean =>
    text?.toLowerCase().includes(wanted.toLowerCase()) === true;

/** The pages whose names fit. Without a text: all. */
export function pagesFor(wanted: string, t: Pick<Texts, 'nav'>): readonly Page[] {
  return NAVIGATION.flatMap((group): readonly Page[] => group.pages).filter(({ name }) =>
    isIn(wanted)(t.nav[name]),
  );
}

/** The deeds whose names, or whose other words, fit. A text of one letter fits nearly all. */
export function deedsFor(wanted: string, t: Pick<Texts, 'deeds'>): readonly Deed[] {
  if (wanted.length < LETTERS_MIN || holdsSecret(wanted)) return [];
  const words = wanted.toLowerCase().split(/\s+/);
  return (Object.keys(DEEDS) as Deed[])
    .filter((deed) => {
      const text = `${t.deeds[deed].name} ${t.deeds[deed].words}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .slice(0, SHOWN);
}

/** The keys that fit. Of a secret only its prefix is looked at, which is none. */
export function keysFor<Key extends Pick<ApiKey, 'id' | 'name' | 'prefix'>>(
  wanted: string,
  keys: readonly Key[],
): readonly Key[] {
  const isSecret = holdsSecret(wanted);
  return keys
    .filter(
      ({ id, name, prefix }) =>
        wanted.includes(prefix) || (!isSecret && [name, id].some(isIn(wanted))),
    )
    .slice(0, SHOWN);
}

/** The webhook endpoints that fit. */
export function endpointsFor<Found extends Pick<Endpoint, 'id' | 'url' | 'description'>>(
  wanted: string,
  endpoints: readonly Found[],
): readonly Found[] {
  return endpoints
    .filter(({ id, url, description }) => [id, url, description].some(isIn(wanted)))
    .slice(0, SHOWN);
}

/** What a pasted id stands for. Keys, endpoints and members are found by theirs anyway. */
export function targetsIn(wanted: string): readonly {
  readonly kind: 'request' | 'delivery' | 'person' | 'history';
  readonly id: string;
}[] {
  if (holdsSecret(wanted)) return [];
  const requestId = requestIdIn(wanted);
  if (requestId !== null) return [{ kind: 'request', id: requestId }];
  const found = idIn(wanted);
  if (found === null) return [];
  const { kind, id } = found;
  const history = { kind: 'history', id } as const;
  if (kind === 'mem') return [{ kind: 'person', id }, history];
  return kind === 'whd' ? [{ kind: 'delivery', id }, history] : [history];
}

/** The place that a key leads to from `current`, round and round; null: it is no such key. */
export function placeAfterKey(key: string, current: number, count: number): number | null {
  const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
  const step = steps[key];
  return step === undefined || count === 0 ? null : (current + step + count) % count;
}

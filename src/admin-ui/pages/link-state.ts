/** What has become of a link that hands a secret over: see `links.tsx` and `hand-over.tsx`. */
import type { Handover } from '../lib/links.ts';

const TONES = { open: 'warn', opened: 'good', ended: 'plain' } as const;
const LOOK_AT_ONE_MS = 5_000;
const LOOK_AT_ALL_MS = 15_000;

type State = Pick<Handover, 'state'>;

export function isOpen({ state }: State): boolean {
  return state === 'open';
}

export function toneOfLink({ state }: State): 'warn' | 'good' | 'plain' {
  return TONES[state];
}

/** When it was opened, or has ended, or will end. */
export function endOfLink({
  state,
  expires_at,
  opened_at,
}: Pick<Handover, 'state' | 'expires_at' | 'opened_at'>): string {
  return state === 'open' ? expires_at : (opened_at ?? expires_at);
}

/** When the page asks again whether it was opened. */
export function looksAtOneMs(link: State | undefined): number | false {
  return link && isOpen(link) ? LOOK_AT_ONE_MS : false;
}

/** The same for a list of them. */
export function looksAtAllMs(
  pages: readonly { readonly data: readonly State[] }[] | undefined,
): number | false {
  return pages?.some(({ data }) => data.some(isOpen)) ? LOOK_AT_ALL_MS : false;
}

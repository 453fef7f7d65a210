/**
 * Live team or sandbox. Each has a document of its own, whose address says which it is: no cache
 * and no late answer of one can be seen in the other, and each call says which team it means. To
 * switch is to leave the document.
 */
import type { Mode } from '../../core/sandbox.ts';
import { basePathOf, headersOf, modeOfPath, placeOf } from './addresses.ts';
import { ADMIN_PATH, MODE } from './shell.ts';

export const IS_SANDBOX = MODE === 'test';

/** What all addresses of this document begin with. */
export const BASE_PATH = basePathOf(ADMIN_PATH, MODE);

/** The headers by which a call says which team it means. */
export const MODE_HEADERS = headersOf(MODE);

/** Where a mode shows the same as `path` of this one, but for ids: they are unknown there. */
export function placeIn(mode: Mode, path: string): string {
  return placeOf(ADMIN_PATH, mode, path);
}

/** Whether `path`, which follows `/admin`, is shown by this document. */
export function isHere(path: string): boolean {
  return modeOfPath(path) === MODE;
}

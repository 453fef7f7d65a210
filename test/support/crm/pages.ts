import type { FakeCrm } from './fake.ts';

/** Returns how many entries a page has if the request asks for `asked`. */
export function pageSizeOf({ pageMax, ignoresLimit }: FakeCrm, asked: number): number {
  return ignoresLimit ? pageMax : Math.min(asked, pageMax);
}

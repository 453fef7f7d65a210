import { expect } from 'vitest';
import { fastWire } from '../../src/db/wire/fast-wire.ts';
import { plainWire } from '../../src/db/wire/plain-wire.ts';
import type { Wire, WireMode } from '../../src/db/wire/wire.ts';

/**
 * How the databases that tests open send their statements. `npm run test:plain` chooses the plain
 * wire; processes that tests start have the fast one in any case.
 */
export const TEST_WIRE: WireMode = process.env['PLAIN_WIRE'] === '1' ? 'plain' : 'fast';

/** The same, for tests of what is sent on one connection. */
export const testWire: Wire = TEST_WIRE === 'plain' ? plainWire : fastWire;

/** Runs a test of what only the fast wire does: `test.runIf(IS_FAST)`. Say why beside it. */
export const IS_FAST = TEST_WIRE === 'fast';

/** What the fast wire is expected to count; of the plain one any number is right. */
export function onFast(count: number): unknown {
  return IS_FAST ? count : expect.any(Number);
}

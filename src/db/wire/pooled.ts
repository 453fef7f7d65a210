import type pg from 'pg';
import { partsOf } from './undocumented.ts';

/**
 * Whether a connection leads to a pooler, which tells a number of its own with the login.
 * `serverPid` is what the server says about itself. False where pg does not tell that number.
 */
export function isPooled(client: pg.ClientBase, serverPid: number): boolean {
  return (partsOf(client).processID ?? serverPid) !== serverPid;
}

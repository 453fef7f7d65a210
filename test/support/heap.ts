import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How much of the heap of this process is in use, after its garbage was collected. */
export function heapBytes(): number {
  setFlagsFromString('--expose_gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
